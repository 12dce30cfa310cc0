// Package lifecycle decides what becomes of a topology when it is activated,
// deactivated, killed or rebalanced. It is a function: [Rules.Step] takes the
// topology's [State], an [Action] and the time, and returns the new state and
// the [Effect] values that make it true. Start there.
//
// The caller performs effects in their order and stops at the first that
// fails. All of them may be performed twice. After a failure, a crash or a
// change of leader it reads the state as it was last persisted and steps
// [Startup], which takes up whatever was cut off: since due times are part of
// the state, no delay is lost.
package lifecycle

import (
	"errors"
	"fmt"
	"time"

	"github.com/stormring/stormring/internal/assert"
	"github.com/stormring/stormring/internal/cluster"
)

// ErrRefused: the topology's status does not allow the action. The error that
// wraps it names topology, status and action.
var ErrRefused = errors.New("its status does not allow that")

// ErrInvalid: the action asks for something that no topology can have.
var ErrInvalid = errors.New("invalid option")

// Rules are the delays that apply to a topology.
type Rules struct {
	// MessageTimeout is the wait before a kill or a rebalance unless the user
	// names one: topology.message.timeout.secs, so that tuples under way can
	// be acked.
	MessageTimeout time.Duration
	// BlobDelay is how long blobs outlive their topology:
	// nimbus.topology.blobstore.deletion.delay.ms.
	BlobDelay time.Duration
}

// State is what is known of one topology's life. The zero State is one that is
// over: nothing is left of it.
//
//	       deactivate
//	ACTIVE <--------> INACTIVE
//	   |    activate    |
//	   |                |
//	   |   rebalance    |     ^
//	   +-------+--------+     | due: back to
//	           v              | what it was
//	       REBALANCING -------+
//	           |
//	           | kill, from here and from ACTIVE and INACTIVE
//	           v
//	         KILLED --+
//	           |  ^   | kill: the delay starts anew
//	           |  +---+
//	           | due
//	           v
//	         removed (a tombstone keeps its blobs in mind)
//	           | due
//	           v
//	         over
type State struct {
	Topology cluster.TopologyID
	Status   cluster.TopologyStatus
	// Previous is what a rebalance returns to, ACTIVE or INACTIVE; else 0.
	Previous cluster.TopologyStatus
	// Wait is the delay that was asked for, as Storm's record shows it. It is
	// 0 unless the status is KILLED or REBALANCING.
	Wait time.Duration
	// Due is when the kill or the rebalance is carried out, or when the blobs
	// of a removed topology are deleted. It is zero if nothing is pending, or
	// if a record was written by a Nimbus that does not keep it; [Startup]
	// then counts Wait from its own time.
	Due time.Time
	// Changes is what a pending rebalance will change; nil if none is pending.
	Changes *Changes
	// Removed: the topology is gone but for its blobs. Such a state is
	// persisted apart from the records that Storm knows: for users and clients
	// there is no such topology any more, and its name is free.
	Removed bool
}

// New is the state of a topology that was just submitted: INACTIVE if asked
// for, else ACTIVE.
func New(id cluster.TopologyID, inactive bool) State {
	s := State{Topology: id, Status: cluster.StatusActive}
	if inactive {
		s.Status = cluster.StatusInactive
	}
	return s
}

// Over reports whether nothing is left of the topology.
func (s State) Over() bool { return s.Status == 0 }

// pending reports whether a delayed event belongs to s.
func (s State) pending() bool {
	return s.Status == cluster.StatusKilled || s.Status == cluster.StatusRebalancing
}

// Step is what a does to s. The time now never decides whether an action is
// allowed, only when delays end. On an error, which wraps [ErrRefused] or
// [ErrInvalid], the state is s and there are no effects.
func (r Rules) Step(s State, a Action, now time.Time) (State, []Effect, error) {
	assert.That(!s.Over(), "a step of a topology that is over: %T", a)
	switch a := a.(type) {
	case Activate:
		return r.toggle(s, cluster.StatusActive, "activated")
	case Deactivate:
		return r.toggle(s, cluster.StatusInactive, "deactivated")
	case Kill:
		return r.kill(s, a, now)
	case Rebalance:
		return r.rebalance(s, a, now)
	case Startup:
		return r.startup(s, now)
	case DelayDue:
		return r.due(s, now)
	default:
		panic(fmt.Sprintf("lifecycle: unknown action %T", a))
	}
}

// toggle switches between ACTIVE and INACTIVE.
func (r Rules) toggle(s State, to cluster.TopologyStatus, participle string) (State, []Effect, error) {
	if s.pending() {
		return s, nil, refuse(s, participle)
	}
	if s.Status == to {
		return s, nil, nil
	}
	s.Status = to
	return s, []Effect{Persist{s}, s.spouts()}, nil
}

func (r Rules) kill(s State, a Kill, now time.Time) (State, []Effect, error) {
	if s.Removed {
		return s, nil, refuse(s, "killed")
	}
	wait, err := r.wait(s, a.Wait)
	if err != nil {
		return s, nil, err
	}
	s = State{Topology: s.Topology, Status: cluster.StatusKilled, Wait: wait, Due: now.Add(wait)}
	return s, []Effect{Persist{s}, s.spouts(), Delay{At: s.Due}}, nil
}

func (r Rules) rebalance(s State, a Rebalance, now time.Time) (State, []Effect, error) {
	if s.pending() {
		return s, nil, refuse(s, "rebalanced")
	}
	wait, err := r.wait(s, a.Wait)
	if err != nil {
		return s, nil, err
	}
	if err := a.Changes.check(); err != nil {
		return s, nil, fmt.Errorf("topology %s cannot be rebalanced: %w", s.Topology, err)
	}
	changes := a.Changes.clone()
	s.Previous, s.Status = s.Status, cluster.StatusRebalancing
	s.Wait, s.Due, s.Changes = wait, now.Add(wait), &changes
	return s, []Effect{Persist{s}, s.spouts(), Delay{At: s.Due}}, nil
}

// wait is the delay that the user asked for, or the default.
func (r Rules) wait(s State, asked *time.Duration) (time.Duration, error) {
	if asked == nil {
		return r.MessageTimeout, nil
	}
	if *asked < 0 {
		return 0, fmt.Errorf("topology %s: a wait of %v; give 0 or more: %w", s.Topology, *asked, ErrInvalid)
	}
	return *asked, nil
}

// startup repeats whatever a crash may have cut off.
func (r Rules) startup(s State, now time.Time) (State, []Effect, error) {
	if !s.pending() {
		return s, []Effect{s.spouts()}, nil
	}
	var effects []Effect
	if s.Due.IsZero() {
		s.Due = now.Add(s.Wait)
		effects = append(effects, Persist{s})
	}
	if s.Removed {
		effects = append(effects, removal()...)
	} else {
		effects = append(effects, s.spouts())
	}
	return s, append(effects, Delay{At: s.Due}), nil
}

func (r Rules) due(s State, now time.Time) (State, []Effect, error) {
	switch {
	case !s.pending():
		return s, nil, nil // the timer of a delay that is no more
	case s.Due.IsZero():
		return r.startup(s, now)
	case now.Before(s.Due):
		// The timer of a delay that a second kill has put off.
		return s, []Effect{Delay{At: s.Due}}, nil
	case s.Removed:
		return State{}, []Effect{DeleteBlobs{}, Forget{}}, nil
	case s.Status == cluster.StatusKilled:
		return r.remove(s, now)
	default:
		return r.replace(s)
	}
}

// remove ends a killed topology. The tombstone comes first: whatever fails
// after it is done again from there.
func (r Rules) remove(s State, now time.Time) (State, []Effect, error) {
	s = State{Topology: s.Topology, Status: s.Status, Due: now.Add(r.BlobDelay), Removed: true}
	effects := append([]Effect{Persist{s}}, removal()...)
	return s, append(effects, Delay{At: s.Due}), nil
}

func removal() []Effect {
	return []Effect{RemoveAssignment{}, RemoveRecords{}, Reschedule{}}
}

// replace carries a rebalance out. It is REBALANCING until that is done, so
// that a crash before the last step does all of it again.
func (r Rules) replace(s State) (State, []Effect, error) {
	var changes Changes
	if s.Changes != nil {
		changes = *s.Changes
	}
	status := s.Previous
	if status == 0 {
		status = cluster.StatusActive // a record that does not say; what Storm does too
	}
	s = State{Topology: s.Topology, Status: status}
	return s, []Effect{Apply{changes}, Reschedule{Fresh: true}, Persist{s}, s.spouts()}, nil
}

// spouts tells the workers what their spouts should do in s.
func (s State) spouts() Effect { return Spouts{Active: s.Status == cluster.StatusActive} }

func refuse(s State, participle string) error {
	is := s.Status.String()
	if s.Removed {
		is = "removed"
	}
	return fmt.Errorf("topology %s is %s and cannot be %s: %w", s.Topology, is, participle, ErrRefused)
}
