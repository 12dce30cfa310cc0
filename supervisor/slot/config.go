package slot

import (
	"fmt"
	"time"
)

// Config are a slot's delays.
type Config struct {
	// StartTimeout is how long a worker may take from its launch to its first
	// heartbeat: supervisor.worker.start.timeout.secs.
	StartTimeout time.Duration
	// HeartbeatTimeout is how long a worker may be silent:
	// supervisor.worker.timeout.secs.
	HeartbeatTimeout time.Duration
	// MaxHeartbeatTimeout caps what topologies ask for instead:
	// worker.max.timeout.secs.
	MaxHeartbeatTimeout time.Duration
	// AssignmentWait is how long a slot that was taken over from an earlier
	// supervisor launches nothing, unless it is heard before what is assigned
	// now. If the coordination store is away, what was known has to do then. The
	// default is longer than a store takes that answers at all, and far shorter
	// than nimbus waits before it places a lost worker anew.
	AssignmentWait time.Duration
	// SoftKill is the time that a worker has to end by itself:
	// supervisor.worker.shutdown.sleep.secs.
	SoftKill time.Duration
	// HardKillAgain is after how long killing by force is tried again. The
	// default has no derivation: a process that outlives it waits for a disk.
	HardKillAgain time.Duration
	// Stable is the life after which a worker's death is not an early one.
	// The default has no derivation.
	Stable time.Duration
	// BackoffFirst is the pause after the second early death in a row; it
	// doubles with each further one. The first one costs no pause.
	BackoffFirst time.Duration
	// BackoffMax is the longest pause.
	BackoffMax time.Duration
}

// DefaultConfig has Storm's defaults.
func DefaultConfig() Config {
	return Config{
		StartTimeout:        120 * time.Second,
		HeartbeatTimeout:    30 * time.Second,
		MaxHeartbeatTimeout: 600 * time.Second,
		AssignmentWait:      5 * time.Second,
		SoftKill:            3 * time.Second,
		HardKillAgain:       10 * time.Second,
		Stable:              60 * time.Second,
		BackoffFirst:        time.Second,
		BackoffMax:          60 * time.Second,
	}
}

// Validate says what is wrong with c.
func (c Config) Validate() error {
	for _, d := range []struct {
		name string
		v    time.Duration
	}{
		{"StartTimeout", c.StartTimeout},
		{"HeartbeatTimeout", c.HeartbeatTimeout},
		{"MaxHeartbeatTimeout", c.MaxHeartbeatTimeout},
		{"HardKillAgain", c.HardKillAgain},
		{"BackoffFirst", c.BackoffFirst},
	} {
		if d.v <= 0 {
			return fmt.Errorf("slot: %s is %v; give more than 0", d.name, d.v)
		}
	}
	switch {
	case c.AssignmentWait < 0:
		return fmt.Errorf("slot: AssignmentWait is %v; give 0 or more", c.AssignmentWait)
	case c.SoftKill < 0:
		return fmt.Errorf("slot: SoftKill is %v; give 0 or more", c.SoftKill)
	case c.Stable < 0:
		return fmt.Errorf("slot: Stable is %v; give 0 or more", c.Stable)
	case c.BackoffMax < c.BackoffFirst:
		return fmt.Errorf("slot: BackoffMax is %v; give at least BackoffFirst, %v", c.BackoffMax, c.BackoffFirst)
	}
	return nil
}

// backoff is the pause after so many failures in a row.
func (c Config) backoff(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	pause := c.BackoffFirst
	for range failures - 2 {
		if pause >= c.BackoffMax/2 {
			return c.BackoffMax
		}
		pause *= 2
	}
	return pause
}
