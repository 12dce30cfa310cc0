package overview

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

const now = 100_000

func TestTopology(t *testing.T) {
	r := MakeRing(three())
	heard := reports()
	all := MakeTopology(id, &r, heard, now)
	golden(t, "topology.txt", all.Text())
	got, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "topology.json", string(got)+"\n")
	slices.Reverse(heard)
	again := MakeTopology(id, &r, heard, now)
	equal(t, "heard the other way round", again.Text(), all.Text())
}

func TestTopologyWithoutReports(t *testing.T) {
	r := MakeRing(three())
	all := MakeTopology(id, &r, nil, now)
	golden(t, "unreported.txt", all.Text())
	none := MakeTopology("other", &r, nil, now)
	none.Silent = nil
	equal(t, "no state", none.Text(), "other: 0 tasks with state, 0 components, nothing is committed yet\n")
	if b, err := json.Marshal(none); err != nil || string(b) != `{"id":"other","atMillis":100000,"committed":0,"components":[]}` {
		t.Errorf("got %s, %v", b, err)
	}
}

func TestOnly(t *testing.T) {
	r := MakeRing(three())
	task := func(n int32) *int32 { return &n }
	for _, c := range []struct {
		component string
		task      *int32
		want      []int32
		keys      int64
	}{
		{"", nil, []int32{3, 4}, 1001},
		{"count", task(4), []int32{4}, 1},
		{"", task(3), []int32{3}, 1000},
		{"split", nil, nil, 0},
		{"count", task(9), nil, 0},
	} {
		all := MakeTopology(id, &r, reports(), now)
		all.Only(c.component, c.task)
		var got []int32
		keys := int64(0)
		for _, one := range all.Components {
			keys += one.Keys
			for _, k := range one.Tasks {
				got = append(got, k.Task)
			}
		}
		if !slices.Equal(got, c.want) || keys != c.keys {
			t.Errorf("%q, %v: got %v with %d keys", c.component, c.task, got, keys)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var old, fresh protocol.TaskReport
	for i := range int64(6) {
		old.Recoveries = append(old.Recoveries, protocol.Recovery{AtMillis: i})
		fresh.Recoveries = append(fresh.Recoveries, protocol.Recovery{AtMillis: 10 + i})
	}
	old.Owner, fresh.Owner, fresh.AtMillis = owner(1), owner(1), 50
	all := MakeTopology(id, &Ring{}, []Heard{{Node: "b", Reports: []protocol.TaskReport{fresh}}, {Node: "a", Reports: []protocol.TaskReport{old}}}, now)
	k := all.find(owner(1))
	var got []int64
	for _, v := range k.Recoveries {
		got = append(got, v.AtMillis)
	}
	if !slices.Equal(got, []int64{4, 5, 10, 11, 12, 13, 14, 15}) || k.Node != "b" || k.Host != "" {
		t.Errorf("got %v at %q", got, k.Node)
	}
}

func TestRecoveryState(t *testing.T) {
	some := func(r recovery.Report, running bool) Recovery {
		return Recovery{Recovery: protocol.Recovery{Running: running, Report: r}, Progress: 0.5}
	}
	abandoned := some(recovery.Report{}, false)
	abandoned.Abandoned = true
	for want, v := range map[string]Recovery{
		"done":                         some(recovery.Report{}, false),
		"50 %":                         some(recovery.Report{}, true),
		"50 %, waits for 1 shard":      some(recovery.Report{Waiting: []int{1}}, true),
		"done, 2 shards started empty": some(recovery.Report{Emptied: []int{1, 2}}, false),
		"abandoned at 50 %":            abandoned,
	} {
		if got := v.state(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{recovery.Size(0), "0 B"}, {recovery.Size(1023), "1023 B"}, {recovery.Size(1 << 10), "1.0 KiB"}, {recovery.Size(1536 << 20), "1.5 GiB"},
		{recovery.Millis(0.004), "0s"}, {recovery.Millis(0.123), "120µs"}, {recovery.Millis(1234.5), "1.235s"}, {recovery.Millis(12345), "12.3s"}, {took(0), "-"},
		{ago(-5), "0s"}, {ago(1249), "1.2s"}, {ago(3_725_400), "1h2m5s"},
		{ranges([]int{0, 1, 2, 5, 7, 8}), "0-2,5,7-8"}, {ranges(nil), ""},
		{count(1, "shard", "shards"), "1 shard"}, {count(0, "shard", "shards"), "0 shards"},
		{Digits(0xab), "00000000000000ab"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	_ = shard.NodeID("")
}
