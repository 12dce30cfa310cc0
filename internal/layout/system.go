package layout

import (
	"maps"
	"slices"

	"github.com/stormring/stormring/storm"
)

// withSystem copies t and adds what Storm's nimbus adds: the acker and system
// components, and the streams between them and everyone else.
func withSystem(t *storm.Topology, ackers int) *storm.Topology {
	stateful := keepsState(t)
	out := &storm.Topology{Components: map[string]*storm.Component{}, WorkerHooks: t.WorkerHooks, Warnings: t.Warnings}
	acker := &storm.Component{
		ID: storm.AckerComponent, Hint: ackers, Conf: storm.Config{},
		Streams: map[string]storm.StreamSpec{
			storm.AckAckStream:   {Fields: storm.Fields{"id", "time-delta-ms"}, Direct: true},
			storm.AckFailStream:  {Fields: storm.Fields{"id", "time-delta-ms"}, Direct: true},
			storm.AckResetStream: {Fields: storm.Fields{"id", "time-delta-ms"}, Direct: true},
		},
	}
	for _, id := range t.ComponentIDs() {
		from := t.Components[id]
		c := *from
		c.Conf = maps.Clone(from.Conf)
		if c.Conf == nil {
			c.Conf = storm.Config{}
		}
		c.Streams = maps.Clone(from.Streams)
		if c.Streams == nil {
			c.Streams = map[string]storm.StreamSpec{}
		}
		c.Inputs = slices.Clone(from.Inputs)
		addStreams(&c, acker)
		if stateful {
			c.Streams[storm.CheckpointStream] = storm.StreamSpec{Fields: MarkerFields()}
		}
		out.Components[id] = &c
	}
	if stateful {
		out.Components[storm.CheckpointComponent] = &storm.Component{
			ID: storm.CheckpointComponent, Hint: 1, Conf: storm.Config{},
			Streams: map[string]storm.StreamSpec{storm.CheckpointStream: {Fields: MarkerFields()}},
		}
		addCommon(out.Components[storm.CheckpointComponent])
	}
	addCommon(acker)
	out.Components[storm.AckerComponent] = acker
	out.Components[storm.SystemComponent] = &storm.Component{
		ID: storm.SystemComponent, Conf: storm.Config{},
		Streams: map[string]storm.StreamSpec{
			storm.TickStream:        {Fields: storm.Fields{"rate_secs"}},
			storm.MetricsTickStream: {Fields: storm.Fields{"interval"}},
			storm.CredentialsStream: {Fields: storm.Fields{"creds"}},
			storm.FlushStream:       {Fields: storm.Fields{}},
		},
	}
	addCommon(out.Components[storm.SystemComponent])
	return out
}

// keepsState tells whether a component of t keeps state on the ring.
func keepsState(t *storm.Topology) bool {
	for _, c := range t.Components {
		if stateful, err := storm.ConfTopologySr3Stateful.Parse(c.Conf[string(storm.ConfTopologySr3Stateful)]); err == nil && stateful {
			return true
		}
	}
	return false
}

// MarkerFields are the fields of the checkpoint stream. The first two are
// Storm's.
func MarkerFields() storm.Fields {
	return storm.Fields{"txid", "action", "era", "committed-txid", "committed-era", "pause", "sent"}
}

// addStreams connects c with the acker in both directions.
func addStreams(c, acker *storm.Component) {
	toAcker := map[string]storm.Fields{
		storm.AckAckStream:   {"id", "ack-val"},
		storm.AckFailStream:  {"id"},
		storm.AckResetStream: {"id"},
	}
	if c.IsSpout() {
		toAcker = map[string]storm.Fields{storm.AckInitStream: {"id", "init-val", "spout-task"}}
		for _, back := range []string{storm.AckAckStream, storm.AckFailStream, storm.AckResetStream} {
			c.Inputs = append(c.Inputs, storm.Input{Component: storm.AckerComponent, Stream: back, Grouping: storm.Grouping{Kind: storm.GroupDirect}})
		}
	}
	for _, stream := range slices.Sorted(maps.Keys(toAcker)) {
		c.Streams[stream] = storm.StreamSpec{Fields: toAcker[stream]}
		acker.Inputs = append(acker.Inputs, storm.Input{
			Component: c.ID, Stream: stream, Grouping: storm.Grouping{Kind: storm.GroupFields, Fields: storm.Fields{"id"}},
		})
	}
	addCommon(c)
}

// addCommon adds the streams that every component has.
func addCommon(c *storm.Component) {
	c.Streams[storm.MetricsStream] = storm.StreamSpec{Fields: storm.Fields{"task-info", "data-points"}}
	c.Streams[storm.SystemStream] = storm.StreamSpec{Fields: storm.Fields{"event"}}
}
