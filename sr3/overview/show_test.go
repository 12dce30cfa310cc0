package overview

import ("testing";"fmt";"encoding/json"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard")

func TestShow(t *testing.T) {
	r := MakeRing(three())
	fmt.Println(r.Text())
	b,_ := json.MarshalIndent(r, "", "  "); fmt.Println(string(b)[:1500])
	tp := MakeTopology(id, &r, reports(), 100_000)
	fmt.Println(tp.Text())
	m3 := &shard.Manifest{Owner: owner(3), Version: 12, Epoch: 1, Replicas: 2, Shards: [][]shard.Ref{
		chain(owner(3),0,4,[]shard.NodeID{"a","b"},[]shard.NodeID{"a","b"}), chain(owner(3),1,4,[]shard.NodeID{"b","c"}), chain(owner(3),2,4,[]shard.NodeID{"b","d"}), chain(owner(3),3,4,[]shard.NodeID{"a","c"}),
	}}
	found := []Found{{Owner: owner(3), Version: 12, Manifest: m3, Have: map[shard.NodeID]protocol.HaveAnswer{
		"a": {Spans: []protocol.Span{{0,0,2},{3,0,1}}}, "b": {Spans: []protocol.Span{{0,0,2},{1,0,1},{2,0,1}}}}},
		{Owner: owner(4)}}
	for _, q := range []PlanRequest{{Topology: id}, {Topology: id, Fail: []string{"host-b"}}, {Topology: id, Fail: []string{"host-a"}, Mode: recovery.Line}, {Topology:id, Fail: []string{"host-a","host-b"}}, {Topology:id, Fail: []string{"zz"}}} {
		p, err := MakePlans(q, &r, &tp, found)
		fmt.Println(p.Text(), err)
	}
}
