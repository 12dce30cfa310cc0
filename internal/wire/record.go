package wire

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// BaseToThrift is b as Storm's StormBase. It fails if b has both options of a
// kill and of a rebalance, or a status that is none.
func BaseToThrift(b cluster.Base) (*gen.StormBase, error) {
	x := &gen.StormBase{
		Name:               b.Name,
		NumWorkers:         clamp(b.Workers),
		ComponentExecutors: dict(b.Executors, clamp),
		LaunchTimeSecs:     optional(clamp(b.LaunchedSecs)),
		Owner:              optional(b.Owner),
		ComponentDebug:     set(dict(b.Debug, DebugOptionsToThrift)), // workers of Storm cannot do without
		Principal:          optional(b.Principal),
		TopologyVersion:    optional(b.Version),
	}
	var err error
	if x.Status, err = statusToThrift(b.Status); err != nil {
		return nil, fmt.Errorf("wire: status: %w", err)
	}
	if b.Previous != 0 {
		previous, err := statusToThrift(b.Previous)
		if err != nil {
			return nil, fmt.Errorf("wire: prev_status: %w", err)
		}
		x.PrevStatus = &previous
	}
	switch {
	case b.Kill != nil && b.Rebalance != nil:
		return nil, errors.New("wire: topology_action_options: a kill and a rebalance, has to be one")
	case b.Kill != nil:
		x.TopologyActionOptions = &gen.TopologyActionOptions{KillOptions: KillOptionsToThrift(*b.Kill)}
	case b.Rebalance != nil:
		x.TopologyActionOptions = &gen.TopologyActionOptions{RebalanceOptions: RebalanceOptionsToThrift(*b.Rebalance)}
	}
	return x, nil
}

// BaseFromThrift is the record of a topology. It refuses statuses and options
// that are not known here.
func BaseFromThrift(x *gen.StormBase) (cluster.Base, error) {
	if x == nil {
		return cluster.Base{}, fmt.Errorf("wire: StormBase: %w", errAbsent)
	}
	b := cluster.Base{
		Name:         x.Name,
		Workers:      int(x.NumWorkers),
		Executors:    dict(x.ComponentExecutors, wide),
		LaunchedSecs: int64(value(x.LaunchTimeSecs)),
		Owner:        value(x.Owner),
		Principal:    value(x.Principal),
		Version:      value(x.TopologyVersion),
		Debug:        unset(dict(x.ComponentDebug, DebugOptionsFromThrift)),
	}
	var err error
	if b.Status, err = statusFromThrift(x.Status); err != nil {
		return b, fmt.Errorf("wire: status: %w", err)
	}
	if x.PrevStatus != nil {
		if b.Previous, err = statusFromThrift(*x.PrevStatus); err != nil {
			return b, fmt.Errorf("wire: prev_status: %w", err)
		}
	}
	if a := x.TopologyActionOptions; a != nil {
		if err := oneArm("TopologyActionOptions", a.KillOptions != nil, a.RebalanceOptions != nil); err != nil {
			return b, fmt.Errorf("wire: topology_action_options: %w", err)
		}
		if a.KillOptions != nil {
			b.Kill = new(KillOptionsFromThrift(a.KillOptions))
		} else {
			b.Rebalance = new(RebalanceOptionsFromThrift(a.RebalanceOptions))
		}
	}
	return b, nil
}

func statusToThrift(s cluster.TopologyStatus) (gen.TopologyStatus, error) {
	if s < cluster.StatusActive || s > cluster.StatusKilled {
		return 0, unknown("status of a topology", int64(s))
	}
	return gen.TopologyStatus(s), nil
}

func statusFromThrift(x gen.TopologyStatus) (cluster.TopologyStatus, error) {
	if x < gen.TopologyStatus_ACTIVE || x > gen.TopologyStatus_KILLED {
		return 0, unknown("status of a topology", int64(x))
	}
	return cluster.TopologyStatus(x), nil
}

// SupervisorRecordToThrift is r as Storm's SupervisorInfo, with sorted ports.
func SupervisorRecordToThrift(r cluster.SupervisorRecord) *gen.SupervisorInfo {
	return &gen.SupervisorInfo{
		TimeSecs:      r.TimeSecs,
		Hostname:      r.Host,
		AssignmentID:  optional(r.AssignmentID),
		UsedPorts:     portsToThrift(r.UsedPorts),
		Meta:          portsToThrift(r.Ports),
		SchedulerMeta: unset(r.SchedulerMeta),
		UptimeSecs:    &r.UptimeSecs,
		Version:       optional(r.Version),
		ResourcesMap:  set(r.Resources),
		ServerPort:    optional(clamp(r.ThriftPort)),
	}
}

// SupervisorRecordFromThrift is a supervisor's sign of life.
func SupervisorRecordFromThrift(x *gen.SupervisorInfo) cluster.SupervisorRecord {
	if x == nil {
		return cluster.SupervisorRecord{}
	}
	return cluster.SupervisorRecord{
		TimeSecs:      x.TimeSecs,
		Host:          x.Hostname,
		AssignmentID:  value(x.AssignmentID),
		UsedPorts:     portsFromThrift(x.UsedPorts),
		Ports:         portsFromThrift(x.Meta),
		SchedulerMeta: unset(x.SchedulerMeta),
		UptimeSecs:    value(x.UptimeSecs),
		Version:       value(x.Version),
		Resources:     set(x.ResourcesMap),
		ThriftPort:    int(value(x.ServerPort)),
	}
}

func portsToThrift(ports []cluster.Port) []int64 {
	out := required(ports, func(p cluster.Port) int64 { return int64(p) })
	slices.Sort(out)
	return out
}

func portsFromThrift(ports []int64) []cluster.Port {
	return list(ports, func(p int64) cluster.Port { return cluster.Port(p) })
}

// NimbusRecordToThrift is r as the NimbusSummary that Storm keeps in the
// coordination store, where the uptime is the time of the start.
func NimbusRecordToThrift(r cluster.NimbusRecord) *gen.NimbusSummary {
	return &gen.NimbusSummary{
		Host:       r.Host,
		Port:       clamp(r.Port),
		UptimeSecs: clamp(r.StartedSecs),
		IsLeader:   r.Leader,
		Version:    r.Version,
		TlsPort:    optional(clamp(r.TLSPort)),
	}
}

// NimbusRecordFromThrift is a nimbus as the coordination store knows it.
func NimbusRecordFromThrift(x *gen.NimbusSummary) cluster.NimbusRecord {
	if x == nil {
		return cluster.NimbusRecord{}
	}
	return cluster.NimbusRecord{
		Host:        x.Host,
		Port:        int(x.Port),
		StartedSecs: int64(x.UptimeSecs),
		Leader:      x.IsLeader,
		Version:     x.Version,
		TLSPort:     int(value(x.TlsPort)),
	}
}

// CredentialsToThrift is c as Storm's Credentials.
func CredentialsToThrift(c cluster.Credentials) *gen.Credentials {
	return &gen.Credentials{Creds: set(c.Values), TopoOwner: optional(c.Owner)}
}

// CredentialsFromThrift are the secrets of x; nil has none.
func CredentialsFromThrift(x *gen.Credentials) cluster.Credentials {
	if x == nil {
		return cluster.Credentials{Values: map[string]string{}}
	}
	return cluster.Credentials{Values: set(x.Creds), Owner: value(x.TopoOwner)}
}

// LogConfigToThrift is c as Storm's LogConfig. It fails for an action that is
// none.
func LogConfigToThrift(c cluster.LogConfig) (*gen.LogConfig, error) {
	levels, err := triedDict("named_logger_level", c, logLevelToThrift)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return &gen.LogConfig{NamedLoggerLevel: levels}, nil
}

// LogConfigFromThrift are the levels by logger, never nil. It refuses actions
// that are not known here.
func LogConfigFromThrift(x *gen.LogConfig) (cluster.LogConfig, error) {
	if x == nil {
		return cluster.LogConfig{}, nil
	}
	levels, err := triedDict("named_logger_level", x.NamedLoggerLevel, logLevelFromThrift)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return levels, nil
}

func logLevelToThrift(l cluster.LogLevel) (*gen.LogLevel, error) {
	if l.Action < cluster.LogLevelUnchanged || l.Action > cluster.LogLevelRemove {
		return nil, unknown("action on a log level", int64(l.Action))
	}
	return &gen.LogLevel{
		Action:         gen.LogLevelAction(l.Action),
		TargetLogLevel: optional(l.Target),
		// 0 is for ever, and Storm writes it.
		ResetLogLevelTimeoutSecs:  new(clamp(l.TimeoutSecs)),
		ResetLogLevelTimeoutEpoch: optional(l.TimeoutEpochMS),
		ResetLogLevel:             optional(l.Reset),
	}, nil
}

func logLevelFromThrift(x *gen.LogLevel) (cluster.LogLevel, error) {
	if x.Action < gen.LogLevelAction_UNCHANGED || x.Action > gen.LogLevelAction_REMOVE {
		return cluster.LogLevel{}, unknown("action on a log level", int64(x.Action))
	}
	return cluster.LogLevel{
		Action:         cluster.LogLevelAction(x.Action),
		Target:         value(x.TargetLogLevel),
		TimeoutSecs:    int(value(x.ResetLogLevelTimeoutSecs)),
		TimeoutEpochMS: value(x.ResetLogLevelTimeoutEpoch),
		Reset:          value(x.ResetLogLevel),
	}, nil
}

// ErrorRecordToThrift is r as Storm's ErrorInfo.
func ErrorRecordToThrift(r cluster.ErrorRecord) *gen.ErrorInfo {
	return &gen.ErrorInfo{
		Error:         r.Text,
		ErrorTimeSecs: clamp(r.TimeSecs),
		Host:          optional(r.Host),
		Port:          optional(clamp(r.Port)),
	}
}

// ErrorRecordFromThrift is an error that a component reported.
func ErrorRecordFromThrift(x *gen.ErrorInfo) cluster.ErrorRecord {
	if x == nil {
		return cluster.ErrorRecord{}
	}
	return cluster.ErrorRecord{
		Text:     x.Error,
		TimeSecs: int64(x.ErrorTimeSecs),
		Host:     value(x.Host),
		Port:     cluster.Port(value(x.Port)),
	}
}
