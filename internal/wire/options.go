package wire

import (
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// KillOptionsToThrift is o as Storm's KillOptions.
func KillOptionsToThrift(o cluster.KillOptions) *gen.KillOptions {
	return &gen.KillOptions{WaitSecs: clampOptional(o.WaitSecs)}
}

// KillOptionsFromThrift is what x says; nil says nothing.
func KillOptionsFromThrift(x *gen.KillOptions) cluster.KillOptions {
	if x == nil {
		return cluster.KillOptions{}
	}
	return cluster.KillOptions{WaitSecs: intOptional(x.WaitSecs)}
}

// RebalanceOptionsToThrift is o as Storm's RebalanceOptions.
func RebalanceOptionsToThrift(o cluster.RebalanceOptions) *gen.RebalanceOptions {
	return &gen.RebalanceOptions{
		WaitSecs:                   clampOptional(o.WaitSecs),
		NumWorkers:                 clampOptional(o.Workers),
		NumExecutors:               unset(dict(o.Executors, clamp)),
		TopologyResourcesOverrides: unset(o.Resources),
		TopologyConfOverrides:      optional(o.Conf),
		Principal:                  optional(o.Principal),
	}
}

// RebalanceOptionsFromThrift is what x says; nil says nothing.
func RebalanceOptionsFromThrift(x *gen.RebalanceOptions) cluster.RebalanceOptions {
	if x == nil {
		return cluster.RebalanceOptions{}
	}
	return cluster.RebalanceOptions{
		WaitSecs:  intOptional(x.WaitSecs),
		Workers:   intOptional(x.NumWorkers),
		Executors: unset(dict(x.NumExecutors, wide)),
		Resources: unset(x.TopologyResourcesOverrides),
		Conf:      value(x.TopologyConfOverrides),
		Principal: value(x.Principal),
	}
}

func wide(n int32) int { return int(n) }

// SubmitOptionsToThrift is Storm's SubmitOptions. The status is StatusActive or
// StatusInactive, creds is nil if there are none.
func SubmitOptionsToThrift(status cluster.TopologyStatus, creds *cluster.Credentials) (*gen.SubmitOptions, error) {
	if status != cluster.StatusActive && status != cluster.StatusInactive {
		return nil, fmt.Errorf("wire: initial_status: %w", unknown("status to start with", int64(status)))
	}
	x := &gen.SubmitOptions{InitialStatus: gen.TopologyInitialStatus(status)}
	if creds != nil {
		x.Creds = CredentialsToThrift(*creds)
	}
	return x, nil
}

// SubmitOptionsFromThrift is the status to start with and the credentials, nil
// if x has none. Without options a topology starts active.
func SubmitOptionsFromThrift(x *gen.SubmitOptions) (cluster.TopologyStatus, *cluster.Credentials, error) {
	if x == nil {
		return cluster.StatusActive, nil, nil
	}
	status := cluster.StatusActive
	switch x.InitialStatus {
	case gen.TopologyInitialStatus_ACTIVE:
	case gen.TopologyInitialStatus_INACTIVE:
		status = cluster.StatusInactive
	default:
		return 0, nil, fmt.Errorf("wire: initial_status: %w", unknown("status to start with", int64(x.InitialStatus)))
	}
	if x.Creds == nil {
		return status, nil, nil
	}
	return status, new(CredentialsFromThrift(x.Creds)), nil
}

// ErrorsChoiceToThrift is c as Storm's GetInfoOptions.
func ErrorsChoiceToThrift(c cluster.ErrorsChoice) *gen.GetInfoOptions {
	return &gen.GetInfoOptions{NumErrChoice: new(gen.NumErrorsChoice(c))}
}

// ErrorsChoiceFromThrift is the choice of x: AllErrors if it makes none.
func ErrorsChoiceFromThrift(x *gen.GetInfoOptions) (cluster.ErrorsChoice, error) {
	if x == nil || x.NumErrChoice == nil {
		return cluster.AllErrors, nil
	}
	switch *x.NumErrChoice {
	case gen.NumErrorsChoice_ALL:
		return cluster.AllErrors, nil
	case gen.NumErrorsChoice_NONE:
		return cluster.NoErrors, nil
	case gen.NumErrorsChoice_ONE:
		return cluster.OneError, nil
	default:
		return 0, fmt.Errorf("wire: num_err_choice: %w", unknown("choice of errors", int64(*x.NumErrChoice)))
	}
}

// StandingToThrift is s as Stormring's SupervisorStanding.
func StandingToThrift(s cluster.Standing) gen.SupervisorStanding { return gen.SupervisorStanding(s) }

// StandingFromThrift is what x stands for.
func StandingFromThrift(x gen.SupervisorStanding) (cluster.Standing, error) {
	switch x {
	case gen.SupervisorStanding_OPEN:
		return cluster.Open, nil
	case gen.SupervisorStanding_CORDONED:
		return cluster.Cordoned, nil
	case gen.SupervisorStanding_DRAINED:
		return cluster.Drained, nil
	default:
		return 0, fmt.Errorf("wire: %w", unknown("standing of a supervisor", int64(x)))
	}
}

// DebugOptionsToThrift is o as Storm's DebugOptions.
func DebugOptionsToThrift(o cluster.DebugOptions) *gen.DebugOptions {
	return &gen.DebugOptions{Enable: &o.Enable, Samplingpct: &o.Sampling}
}

// DebugOptionsFromThrift is what x says; nil says nothing.
func DebugOptionsFromThrift(x *gen.DebugOptions) cluster.DebugOptions {
	if x == nil {
		return cluster.DebugOptions{}
	}
	return cluster.DebugOptions{Enable: value(x.Enable), Sampling: value(x.Samplingpct)}
}
