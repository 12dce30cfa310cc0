package ring

import (
	"fmt"
	"time"
)

// Config are the numbers of a machine; Default has good ones. All machines of a
// ring should have the same.
type Config struct {
	// Successors is the length of a successor list, in different nodes: so many
	// neighbours in a row may die at once.
	Successors int
	// FullView is up to how many nodes everybody knows everybody; 0 is never.
	FullView int
	// Helpers is how many other nodes try to reach one that does not answer.
	Helpers int

	// PingEvery is how often neighbours are pinged.
	PingEvery time.Duration
	// MinTimeout and MaxTimeout bound the adaptive time-out of a ping; a node
	// that was never measured gets FirstTimeout.
	MinTimeout, MaxTimeout, FirstTimeout time.Duration
	// SuspectFor is how long a suspected node has to refute.
	SuspectFor time.Duration
	// StabilizeEvery is the length of a stabilisation round.
	StabilizeEvery time.Duration
	// FixEvery is how often one finger is looked up, in rings above FullView.
	FixEvery time.Duration
	// GossipEvery is how often news, if there are any, go to two random nodes.
	GossipEvery time.Duration
	// SyncEvery is how often tables are compared with a random node, in rings up
	// to FullView.
	SyncEvery time.Duration
	// RejoinEvery is how often a seed that is not on the ring, or a dead node, is
	// called upon.
	RejoinEvery time.Duration
	// TombstoneFor is how long dead nodes are remembered.
	TombstoneFor time.Duration
	// LookupFor is when a lookup is given up.
	LookupFor time.Duration
	// Pause is the time without Tick after which this node has not been running,
	// so that nobody else is to blame for silence.
	Pause time.Duration
}

// Default is a Config for a data centre: a crash is seen in about five seconds.
func Default() Config {
	return Config{
		Successors:     8,
		FullView:       512,
		Helpers:        3,
		PingEvery:      time.Second,
		MinTimeout:     100 * time.Millisecond,
		MaxTimeout:     2 * time.Second,
		FirstTimeout:   500 * time.Millisecond,
		SuspectFor:     3 * time.Second,
		StabilizeEvery: time.Second,
		FixEvery:       time.Second,
		GossipEvery:    200 * time.Millisecond,
		SyncEvery:      10 * time.Second,
		RejoinEvery:    10 * time.Second,
		TombstoneFor:   10 * time.Minute,
		LookupFor:      10 * time.Second,
		Pause:          3 * time.Second,
	}
}

// maxFullView keeps the list of all members in one message.
const maxFullView = MaxMembers / 2

// Check tells what is wrong with a Config, nil if nothing.
func (c *Config) Check() error {
	if c.Successors < 1 || c.Successors > maxSuccessors {
		return fmt.Errorf("ring: %d successors: 1 to %d are possible", c.Successors, maxSuccessors)
	}
	if c.FullView < 0 || c.FullView > maxFullView {
		return fmt.Errorf("ring: a full view of %d nodes: 0 to %d are possible", c.FullView, maxFullView)
	}
	if c.Helpers < 0 {
		return fmt.Errorf("ring: %d helpers: must not be negative", c.Helpers)
	}
	for _, d := range []struct {
		name string
		is   time.Duration
	}{
		{"PingEvery", c.PingEvery}, {"MinTimeout", c.MinTimeout}, {"MaxTimeout", c.MaxTimeout},
		{"FirstTimeout", c.FirstTimeout}, {"SuspectFor", c.SuspectFor}, {"StabilizeEvery", c.StabilizeEvery},
		{"FixEvery", c.FixEvery}, {"GossipEvery", c.GossipEvery}, {"SyncEvery", c.SyncEvery},
		{"RejoinEvery", c.RejoinEvery}, {"TombstoneFor", c.TombstoneFor}, {"LookupFor", c.LookupFor}, {"Pause", c.Pause},
	} {
		if d.is <= 0 {
			return fmt.Errorf("ring: %s is %s: must be positive", d.name, d.is)
		}
	}
	if c.MinTimeout > c.MaxTimeout {
		return fmt.Errorf("ring: MinTimeout %s is above MaxTimeout %s", c.MinTimeout, c.MaxTimeout)
	}
	if longest := max(c.PingEvery, c.StabilizeEvery); c.Pause <= 5*longest/4 {
		return fmt.Errorf("ring: Pause %s must be well above PingEvery and StabilizeEvery, which are up to %s", c.Pause, longest)
	}
	return nil
}
