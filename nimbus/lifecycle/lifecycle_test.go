package lifecycle

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

const id = cluster.TopologyID("words-1-1700000000")

func rules() Rules { return Rules{MessageTimeout: 30 * time.Second, BlobDelay: 5 * time.Minute} }

// at is a moment, in seconds after some start.
func at(secs int) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(secs) * time.Second)
}

func secs(n int) *time.Duration { return new(time.Duration(n) * time.Second) }

// The states that the table starts from. All pending ones are due at 20.
func active() State   { return New(id, false) }
func inactive() State { return New(id, true) }
func killed() State {
	return State{Topology: id, Status: cluster.StatusKilled, Wait: 20 * time.Second, Due: at(20)}
}
func removed() State {
	return State{Topology: id, Status: cluster.StatusKilled, Due: at(20), Removed: true}
}
func rebalancing(previous cluster.TopologyStatus) State {
	return State{Topology: id, Status: cluster.StatusRebalancing, Previous: previous, Wait: 20 * time.Second, Due: at(20), Changes: &Changes{Workers: 3}}
}

func killedUntil(due, wait int) State {
	return State{Topology: id, Status: cluster.StatusKilled, Wait: *secs(wait), Due: at(due)}
}

func tombstone(due int) State {
	return State{Topology: id, Status: cluster.StatusKilled, Due: at(due), Removed: true}
}

func rebalancingUntil(due, wait int, previous cluster.TopologyStatus, c Changes) State {
	return State{Topology: id, Status: cluster.StatusRebalancing, Previous: previous, Wait: *secs(wait), Due: at(due), Changes: &c}
}

// noDue is the state as a Nimbus that keeps no due time leaves it.
func noDue(s State) State {
	s.Due = time.Time{}
	return s
}

// TestEveryStatusAndAction has a row for each pair.
func TestEveryStatusAndAction(t *testing.T) {
	const act, inact = cluster.StatusActive, cluster.StatusInactive
	gone := []Effect{RemoveAssignment{}, RemoveRecords{}, Reschedule{}, Delay{At: at(20)}}
	changed := func(s State, more ...Effect) []Effect { return append([]Effect{Persist{s}}, more...) }
	ending := func(s State) []Effect { return changed(s, Spouts{}, Delay{At: s.Due}) }
	back := func(to State) []Effect {
		return []Effect{Apply{Changes{Workers: 3}}, Reschedule{Fresh: true}, Persist{to}, Spouts{to.Status == act}}
	}
	for _, c := range []struct {
		name    string
		from    State
		action  Action
		now     int
		to      State
		effects []Effect
		err     string // "" for none
	}{
		{"active activate", active(), Activate{}, 10, active(), nil, ""},
		{"active deactivate", active(), Deactivate{}, 10, inactive(), changed(inactive(), Spouts{}), ""},
		{"active kill", active(), Kill{}, 10, killedUntil(40, 30), ending(killedUntil(40, 30)), ""},
		{"active kill now", active(), Kill{Wait: secs(0)}, 10, killedUntil(10, 0), ending(killedUntil(10, 0)), ""},
		{"active rebalance", active(), Rebalance{}, 10, rebalancingUntil(40, 30, act, Changes{}), ending(rebalancingUntil(40, 30, act, Changes{})), ""},
		{"active rebalance with changes", active(), Rebalance{Wait: secs(5), Changes: Changes{Executors: map[string]int{"b": 2}}}, 10, rebalancingUntil(15, 5, act, Changes{Executors: map[string]int{"b": 2}}), ending(rebalancingUntil(15, 5, act, Changes{Executors: map[string]int{"b": 2}})), ""},
		{"active startup", active(), Startup{}, 10, active(), []Effect{Spouts{true}}, ""},
		{"active due", active(), DelayDue{}, 10, active(), nil, ""},

		{"inactive activate", inactive(), Activate{}, 10, active(), changed(active(), Spouts{true}), ""},
		{"inactive deactivate", inactive(), Deactivate{}, 10, inactive(), nil, ""},
		{"inactive kill", inactive(), Kill{Wait: secs(1)}, 10, killedUntil(11, 1), ending(killedUntil(11, 1)), ""},
		{"inactive rebalance", inactive(), Rebalance{}, 10, rebalancingUntil(40, 30, inact, Changes{}), ending(rebalancingUntil(40, 30, inact, Changes{})), ""},
		{"inactive startup", inactive(), Startup{}, 10, inactive(), []Effect{Spouts{}}, ""},
		{"inactive due", inactive(), DelayDue{}, 10, inactive(), nil, ""},

		{"killed activate", killed(), Activate{}, 10, killed(), nil, "topology words-1-1700000000 is KILLED and cannot be activated: its status does not allow that"},
		{"killed deactivate", killed(), Deactivate{}, 10, killed(), nil, "topology words-1-1700000000 is KILLED and cannot be deactivated: its status does not allow that"},
		{"killed kill later", killed(), Kill{}, 10, killedUntil(40, 30), ending(killedUntil(40, 30)), ""},
		{"killed kill sooner", killed(), Kill{Wait: secs(1)}, 10, killedUntil(11, 1), ending(killedUntil(11, 1)), ""},
		{"killed rebalance", killed(), Rebalance{}, 10, killed(), nil, "topology words-1-1700000000 is KILLED and cannot be rebalanced: its status does not allow that"},
		{"killed startup", killed(), Startup{}, 10, killed(), []Effect{Spouts{}, Delay{At: at(20)}}, ""},
		{"killed startup overdue", killed(), Startup{}, 99, killed(), []Effect{Spouts{}, Delay{At: at(20)}}, ""},
		{"killed startup of a foreign record", noDue(killed()), Startup{}, 10, killedUntil(30, 20), ending(killedUntil(30, 20)), ""},
		{"killed due early", killed(), DelayDue{}, 19, killed(), []Effect{Delay{At: at(20)}}, ""},
		{"killed due", killed(), DelayDue{}, 20, tombstone(320), changed(tombstone(320), RemoveAssignment{}, RemoveRecords{}, Reschedule{}, Delay{At: at(320)}), ""},
		{"killed due of a foreign record", noDue(killed()), DelayDue{}, 10, killedUntil(30, 20), ending(killedUntil(30, 20)), ""},

		{"rebalancing activate", rebalancing(inact), Activate{}, 10, rebalancing(inact), nil, "topology words-1-1700000000 is REBALANCING and cannot be activated: its status does not allow that"},
		{"rebalancing deactivate", rebalancing(act), Deactivate{}, 10, rebalancing(act), nil, "topology words-1-1700000000 is REBALANCING and cannot be deactivated: its status does not allow that"},
		{"rebalancing kill", rebalancing(act), Kill{}, 10, killedUntil(40, 30), ending(killedUntil(40, 30)), ""},
		{"rebalancing rebalance", rebalancing(act), Rebalance{}, 10, rebalancing(act), nil, "topology words-1-1700000000 is REBALANCING and cannot be rebalanced: its status does not allow that"},
		{"rebalancing startup", rebalancing(act), Startup{}, 10, rebalancing(act), []Effect{Spouts{}, Delay{At: at(20)}}, ""},
		{"rebalancing due early", rebalancing(act), DelayDue{}, 10, rebalancing(act), []Effect{Delay{At: at(20)}}, ""},
		{"rebalancing due, was active", rebalancing(act), DelayDue{}, 20, active(), back(active()), ""},
		{"rebalancing due, was inactive", rebalancing(inact), DelayDue{}, 21, inactive(), back(inactive()), ""},
		{"rebalancing due, was unknown", rebalancing(0), DelayDue{}, 21, active(), back(active()), ""},

		{"removed activate", removed(), Activate{}, 10, removed(), nil, "topology words-1-1700000000 is removed and cannot be activated: its status does not allow that"},
		{"removed deactivate", removed(), Deactivate{}, 10, removed(), nil, "topology words-1-1700000000 is removed and cannot be deactivated: its status does not allow that"},
		{"removed kill", removed(), Kill{}, 10, removed(), nil, "topology words-1-1700000000 is removed and cannot be killed: its status does not allow that"},
		{"removed rebalance", removed(), Rebalance{}, 10, removed(), nil, "topology words-1-1700000000 is removed and cannot be rebalanced: its status does not allow that"},
		{"removed startup", removed(), Startup{}, 10, removed(), gone, ""},
		{"removed due early", removed(), DelayDue{}, 19, removed(), []Effect{Delay{At: at(20)}}, ""},
		{"removed due", removed(), DelayDue{}, 20, State{}, []Effect{DeleteBlobs{}, Forget{}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			to, effects, err := rules().Step(c.from, c.action, at(c.now))
			if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err || !errors.Is(err, ErrRefused)) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if !reflect.DeepEqual(to, c.to) {
				t.Errorf("state\n%+v, want\n%+v", to, c.to)
			}
			if !reflect.DeepEqual(effects, c.effects) {
				t.Errorf("effects\n%+v, want\n%+v", effects, c.effects)
			}
		})
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, c := range []struct {
		action Action
		want   string
	}{
		{Kill{Wait: secs(-1)}, "topology words-1-1700000000: a wait of -1s; give 0 or more: invalid option"},
		{Rebalance{Wait: secs(-2)}, "topology words-1-1700000000: a wait of -2s; give 0 or more: invalid option"},
		{Rebalance{Changes: Changes{Workers: -1}}, "topology words-1-1700000000 cannot be rebalanced: -1 workers; give 1 or more, or 0 to leave their number: invalid option"},
		{Rebalance{Changes: Changes{Executors: map[string]int{"b": 0, "c": -1}}}, "topology words-1-1700000000 cannot be rebalanced: 0 executors for component b; give 1 or more: invalid option"},
		{Rebalance{Changes: Changes{Resources: map[string]map[string]float64{"b": {cluster.CPUName: math.NaN()}}}}, "topology words-1-1700000000 cannot be rebalanced: NaN of cpu.pcore.percent for component b; give 0 or more: invalid option"},
	} {
		s, effects, err := rules().Step(active(), c.action, at(0))
		if err == nil || err.Error() != c.want || !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: error %v, want %q", c.action, err, c.want)
		}
		if !reflect.DeepEqual(s, active()) || effects != nil {
			t.Errorf("%+v: state %+v, effects %+v", c.action, s, effects)
		}
	}
}

func TestChangesAreCopied(t *testing.T) {
	c := Changes{Executors: map[string]int{"b": 2}, Resources: map[string]map[string]float64{"b": {"gpu": 1}}, Conf: map[string]any{"k": 1}}
	s, _, err := rules().Step(active(), Rebalance{Changes: c}, at(0))
	if err != nil {
		t.Fatal(err)
	}
	c.Executors["b"], c.Resources["b"]["gpu"], c.Conf["k"] = 9, 9, 9
	want := Changes{Executors: map[string]int{"b": 2}, Resources: map[string]map[string]float64{"b": {"gpu": 1}}, Conf: map[string]any{"k": 1}}
	if !reflect.DeepEqual(*s.Changes, want) || s.Changes.IsZero() || !(Changes{}).IsZero() {
		t.Errorf("changes %+v, want %+v", *s.Changes, want)
	}
}

func TestOverIsOver(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a step of what is over did not panic")
		}
	}()
	_, _, _ = rules().Step(State{}, Startup{}, at(0))
}
