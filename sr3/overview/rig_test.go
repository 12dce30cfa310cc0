package overview

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

const (
	mib = 1 << 20
	id  = "words-1-1700000000"
)

func owner(task int32) shard.Owner { return shard.Owner{Topology: id, Component: "count", Task: task} }

// at is a node on a host of its own, of which there are three racks.
func at(name string) ring.Node {
	rack := map[string]string{"a": "r1", "b": "r1", "c": "r2"}[name]
	return ring.Node{ID: name, Addr: "10.0.0." + name + ":6629", Host: "host-" + name, Rack: rack, Positions: 32}
}

// status is what a node says that believes of others what is written: "a alive".
func status(name string, believes map[string]string) *protocol.NodeStatus {
	s := &protocol.NodeStatus{Node: at(name), Joined: true, Complete: true}
	for other, is := range believes {
		s.Members = append(s.Members, protocol.MemberStatus{Node: at(other), Status: is, RoundTripMS: 1})
	}
	return s
}

func answer(s *protocol.NodeStatus) Answer { return Answer{Addr: s.Node.Addr, Status: s} }

// three is a ring of a, b and c with state of two tasks; d is dead.
func three() []Answer {
	a := status("a", map[string]string{"b": "alive", "c": "alive", "d": "dead"})
	a.Objects, a.Bytes, a.DiskBytes, a.Repaired = 7, 30*mib, 40*mib, 2
	a.Owners = []protocol.OwnerStatus{
		{Owner: owner(3), Version: 12, Committed: 11, Shards: 4, Objects: 5, Bytes: 20 * mib},
		{Owner: owner(4), Version: 12, Committed: 12, Shards: 2, Objects: 2, Bytes: 10 * mib},
	}
	a.Peers = []protocol.PeerStatus{{Addr: at("b").Addr, RTTMS: 0.5}, {Addr: at("c").Addr, RTTMS: 0.4}}
	b := status("b", map[string]string{"a": "alive", "c": "suspect", "d": "dead"})
	b.Objects, b.Bytes, b.DiskBytes, b.UnderReplicated, b.Damaged, b.Recoveries = 4, 20*mib, 21*mib, 3, 1, 2
	b.Owners = []protocol.OwnerStatus{{Owner: owner(3), Version: 13, Committed: 12, Shards: 4, Objects: 4, Bytes: 20 * mib, Missing: 3}}
	c := status("c", map[string]string{"a": "alive", "b": "alive", "d": "alive"})
	c.Trouble = "no space left on device"
	a.Link, b.Link, c.Link = protocol.Link{Down: 100e6}, protocol.Link{Up: 100e6}, protocol.Link{Up: 50e6}
	return []Answer{answer(c), answer(a), answer(b), {Addr: at("d").Addr, Cause: "connection refused"}, {Addr: "x:1", Cause: "no answer within 3s"}}
}

// reports are those of the workers of tasks 3 and 4.
func reports() []Heard {
	return []Heard{
		{Node: "a", Reports: []protocol.TaskReport{{
			Owner: owner(3), AtMillis: 99_000, Mode: recovery.Tree, Resume: "full", Replicas: 3, Keys: 1000, Bytes: 64 * mib,
			Checkpoint: protocol.Checkpoint{
				Version: 12, AtMillis: 98_500, DurationMS: 42.25, FreezeMS: 1.5, Objects: 2, Bytes: 3 * mib, Shards: 4, Stored: 20 * mib,
				Nodes: map[shard.NodeID]int64{"a": 20 * mib, "b": 20 * mib, "d": 20 * mib}, Short: 1,
			},
			Failed: "version 13: holder c: no space left on device",
			Recoveries: []protocol.Recovery{{
				AtMillis: 60_000, FirstMS: 80,
				Report: recovery.Report{
					Mode: recovery.Star, Receiver: "a", PredictedMS: 300, DetectMS: 5, PlaceMS: 40, FetchMS: 310, RebuildMS: 20, ResumeMS: 2,
					Shards: 4, Installed: 4, Bytes: 20 * mib,
				},
			}},
		}}},
		{Node: "b", Reports: []protocol.TaskReport{
			{Owner: owner(3), AtMillis: 50_000, Recoveries: []protocol.Recovery{{
				AtMillis: 40_000, Running: true, Report: recovery.Report{Mode: recovery.Line, Receiver: "b", Shards: 4, Installed: 1, Bytes: 5 * mib},
			}}},
			{
				Owner: owner(4), AtMillis: 99_900, Mode: recovery.Auto, Resume: "ondemand", Replicas: 3, Keys: 1, Bytes: 10,
				Recoveries: []protocol.Recovery{{
					AtMillis: 99_000, Running: true, FirstMS: 12,
					Report: recovery.Report{
						Mode: recovery.Star, Receiver: "b", PredictedMS: 500, PlaceMS: 3, FetchMS: 700, Shards: 8, Installed: 6, Bytes: 7 * mib,
						Waiting: []int{2, 3}, Notes: []string{"c broke; its shards come from a."},
					},
				}},
			},
			{Owner: shard.Owner{Topology: "other", Component: "x", Task: 1}, AtMillis: 1},
		}},
	}
}

// chain is a shard of objects of 8 MiB, each with these holders.
func chain(o shard.Owner, i, n int, holders ...[]shard.NodeID) []shard.Ref {
	var out []shard.Ref
	for j, h := range holders {
		kind := shard.Delta
		if j == 0 {
			kind = shard.Base
		}
		out = append(out, shard.Ref{
			ObjectID: shard.ObjectID{Owner: o, Range: shard.RangeOf(i, n), Version: shard.Version(10 + j), Epoch: 1, Kind: kind},
			Size:     10 * mib, Stored: 8 * mib, Holders: h,
		})
	}
	return out
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

// golden compares with a file of testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, file, got, string(want))
}
