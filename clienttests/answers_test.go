package clienttests

import (
	"regexp"
	"testing"
)

// TestAnswers28 asks for what the user interface shows. Storm's generated
// client refuses an answer that lacks a required field, at any depth.
func TestAnswers28(t *testing.T) {
	cl := startCluster(t)
	d := newClient(t, "2.8", cl).driver(t)
	ask := func(args ...string) result { return d.run(t, program+"Ask", args...) }

	ask("getLeader").ok(t, "answer: NimbusSummary(host:127.0.0.1, port:"+cl.port+", ", "isLeader:true, version:2.8.")
	ask("getClusterInfo").ok(t, "topologies:[]")
	d.run(t, program+"Submit", "words", "words").ok(t)
	id := awaitRow(t, d, listTopologies, row{name: "words", status: "ACTIVE", tasks: "4", workers: "1"}).id

	ask("getClusterInfo").ok(t, "ClusterSummary(supervisors:[SupervisorSummary(", "TopologySummary(id:"+id+", name:words, num_tasks:4, num_executors:4, num_workers:1, ")
	ask("getNimbusConf").ok(t, `"nimbus.thrift.port":`)
	ask("getTopologySummaryByName", "words").ok(t, "TopologySummary(id:"+id)
	ask("getTopologySummary", id).ok(t, "TopologySummary(id:"+id)
	ask("getTopologyInfo", id).ok(t, "TopologyInfo(id:"+id+", name:words, ")
	ask("getTopologyInfoByName", "words").ok(t, "component_id:__acker, ", "component_id:words, ")
	for _, window := range []string{":all-time", "600", "null"} {
		for _, system := range []string{"true", "false"} {
			ask("getTopologyPageInfo", id, window, system).ok(t, "TopologyPageInfo(id:"+id+", name:words, ")
			ask("getComponentPageInfo", id, "words", window, system).ok(t, "ComponentPageInfo(component_id:words, component_type:SPOUT, ")
			ask("getComponentPageInfo", id, "count", window, system).ok(t, "ComponentPageInfo(component_id:count, component_type:BOLT, ")
		}
	}
	supervisor := regexp.MustCompile(`SupervisorSummary\(host:([^,]+), .*?supervisor_id:([^,)]+)`).
		FindStringSubmatch(ask("getClusterInfo").ok(t).out)
	if supervisor == nil {
		t.Fatal("getClusterInfo names no supervisor")
	}
	ask("getSupervisorPageInfo", supervisor[2], "null", "true").ok(t, "SupervisorPageInfo(", "supervisor_id:"+supervisor[2])
	ask("getSupervisorPageInfo", "null", supervisor[1], "true").ok(t, "SupervisorPageInfo(", "host:"+supervisor[1])
	ask("getTopology", id).ok(t, "StormTopology(spouts:{words=SpoutSpec(", "__acker=Bolt(")
	ask("getUserTopology", id).ok(t, "StormTopology(spouts:{words=SpoutSpec(")
	ask("getTopologyHistory", "null").ok(t, "TopologyHistoryInfo(topo_ids:[")
	ask("getOwnerResourceSummaries", "null").ok(t, "OwnerResourceSummary(owner:")
	ask("getComponentPendingProfileActions", id, "words", "JSTACK_DUMP").ok(t, "answer: [")

	ask("getTopologyInfo", "nope-1-1").refused(t, notAlive, "nope-1-1")
	ask("getTopologyConf", "nope-1-1").refused(t, notAlive, "nope-1-1")
	ask("getTopologyInfoByName", "nope").refused(t, notAlive, "nope")
	ask("getTopologySummaryByName", "nope").refused(t, notAlive, "nope")

	d.run(t, storm+"KillTopology", "-w", "0", "words").ok(t)
	awaitGone(t, d, listTopologies, "words")
}
