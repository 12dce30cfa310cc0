package clienttests

import (
	"regexp"
	"strings"
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

	if !isReference() {
		testOptionalFields(t, ask, id)
	}

	ask("getTopologyInfo", "nope-1-1").refused(t, notAlive, "nope-1-1")
	ask("getTopologyConf", "nope-1-1").refused(t, notAlive, "nope-1-1")
	ask("getTopologyInfoByName", "nope").refused(t, notAlive, "nope")
	ask("getTopologySummaryByName", "nope").refused(t, notAlive, "nope")

	d.run(t, storm+"KillTopology", "-w", "0", "words").ok(t)
	awaitGone(t, d, listTopologies, "words")
}

// testOptionalFields looks for fields which the interface calls optional, and
// which Storm's programs read without a look whether they are there: the user
// interface, and the samples that print their own statistics. No worker of the
// topology has reported anything.
func testOptionalFields(t *testing.T, ask func(args ...string) result, id string) {
	t.Helper()
	info := ask("getTopologyInfo", id).ok(t, "errors:{", "__acker=[", "count=[", "words=[").out
	executors := strings.Count(info, "ExecutorSummary(")
	if stats := strings.Count(info, "stats:ExecutorStats("); executors != 4 || stats != executors {
		t.Errorf("%d of %d executors have statistics:\n%s", stats, executors, info)
	}
	// Emitted and transferred of all; acked, failed and latencies of 1 spout,
	// five maps of 3 bolts.
	const maps = 4*2 + 1*3 + 3*5
	for _, window := range []string{":all-time", "600", "10800", "86400"} {
		if n := strings.Count(info, window+"={"); n != maps {
			t.Errorf("window %s is in %d maps, not in %d:\n%s", window, n, maps, info)
		}
	}
	ask("getClusterInfo").ok(t, "total_resources:{", "memory.mb=", "cpu.pcore.percent=", "owner:")
	ask("getTopologyPageInfo", id, "600", "true").ok(t,
		`"topology.message.timeout.secs":30`, "window_to_emitted:{", "window_to_transferred:{",
		"window_to_complete_latencies_ms:{", "window_to_acked:{", "window_to_failed:{",
		"id_to_spout_agg_stats:{words=ComponentAggregateStats(", "id_to_bolt_agg_stats:{", "count=ComponentAggregateStats(",
		"specific_stats:<SpecificAggregateStats spout:", "specific_stats:<SpecificAggregateStats bolt:")
	ask("getComponentPageInfo", id, "words", "600", "true").ok(t,
		"window_to_stats:{", "sid_to_output_stats:{", "exec_stats:[", "errors:[", "resources_map:{")
	ask("getComponentPageInfo", id, "count", "600", "true").ok(t,
		"window_to_stats:{", "gsid_to_input_stats:{", "sid_to_output_stats:{", "exec_stats:[", "errors:[", "resources_map:{")
}
