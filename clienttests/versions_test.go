package clienttests

import (
	"strings"
	"testing"
)

// TestCommands22 does what users of Storm 2.2 do most.
func TestCommands22(t *testing.T) {
	c := newClient(t, "2.2", startCluster(t))
	if got := c.run(t, listTopologies).ok(t).printed(); got != "No topologies running.\n" {
		t.Fatalf("list on an empty cluster prints %q", got)
	}
	c.run(t, program+"Submit", "words", "words").ok(t, " - Finished submitting topology: words\n")
	d := c.driver(t)
	awaitRow(t, d, listTopologies, row{name: "words", status: "ACTIVE", tasks: "4", workers: "1"})
	d.run(t, program+"Submit", "words", "words").fails(t,
		"java.lang.RuntimeException: Topology name words is either not allowed or it already exists on the cluster")
	d.run(t, storm+"Deactivate", "words").ok(t, " - Deactivated topology: words\n")
	awaitRow(t, d, listTopologies, row{name: "words", status: "INACTIVE"})
	d.run(t, storm+"Activate", "words").ok(t, " - Activated topology: words\n")
	d.run(t, storm+"Rebalance", "words", "-w", "0", "-n", "2").ok(t, " - Topology words is rebalancing\n")
	awaitRow(t, d, listTopologies, row{name: "words", status: "ACTIVE", tasks: "4", workers: "2"})
	d.run(t, storm+"SetLogLevel", "-l", "ROOT=DEBUG", "words").ok(t, "is sent for topology words\n")
	d.run(t, storm+"UploadCredentials", "words", "key", "value").ok(t, " - Uploaded new creds to topology: words\n")
	d.run(t, storm+"GetErrors", "words").ok(t, `"Topology Name":"words"`)
	d.run(t, storm+"GetErrors", "nope").ok(t, `"Failure":"No topologies running with name nope"`)
	d.run(t, storm+"Monitor", "words").ok(t, "\n__acker\n")
	d.run(t, storm+"Blobstore", "list").ok(t, topologyJar)
	d.run(t, storm+"KillTopology", "nope").fails(t, "NotAliveException(msg:nope is not alive)")
	c.run(t, storm+"KillTopology", "words", "-w", "0").ok(t, " - Killed topology: words\n")
	awaitGone(t, d, listTopologies, "words")
}

// TestCommands12 does what users of Storm 1.2 do most. Its commands are in
// Clojure.
func TestCommands12(t *testing.T) {
	c := newClient(t, "1.2", startCluster(t))
	const listClass = storm + "list"
	if got := c.run(t, listClass).ok(t).printed(); got != "No topologies running.\n" {
		t.Fatalf("list on an empty cluster prints %q", got)
	}
	c.run(t, program+"Submit", "words", "words").ok(t, " - Finished submitting topology: words\n")
	d := c.driver(t)
	awaitRow(t, d, listClass, row{name: "words", status: "ACTIVE", tasks: "4", workers: "1"})
	d.run(t, program+"Submit", "words", "words").fails(t,
		"java.lang.RuntimeException: Topology with name `words` already exists on cluster")
	// This client asks nimbus whether a name is free, and takes every no for
	// a name that is taken.
	d.run(t, program+"Submit", "words", "a.b").fails(t,
		"java.lang.RuntimeException: Topology with name `a.b` already exists on cluster")
	d.run(t, storm+"deactivate", "words").ok(t)
	awaitRow(t, d, listClass, row{name: "words", status: "INACTIVE"})
	d.run(t, storm+"activate", "words").ok(t)
	d.run(t, storm+"rebalance", "words", "-w", "0", "-n", "2").ok(t)
	awaitRow(t, d, listClass, row{name: "words", status: "ACTIVE", tasks: "4", workers: "2"})
	d.run(t, storm+"kill_topology", "nope").failsLike(t, `NotAliveException\(msg:nope is not alive\)`)
	c.run(t, storm+"kill_topology", "words", "-w", "0").ok(t)
	awaitGone(t, d, listClass, "words")
}

// TestNoNimbus shows what the clients do where nothing listens, and that what
// starts a client here works without any cluster.
func TestNoNimbus(t *testing.T) {
	for version, class := range map[string]string{"2.8": listTopologies, "2.2": listTopologies, "1.2": storm + "list"} {
		t.Run(version, func(t *testing.T) {
			c := newClient(t, version, nil)
			c.options = []string{"storm.nimbus.retry.times=0", "storm.nimbus.retry.interval.millis=1", "nimbus.thrift.port=" + freePort(t)}
			r := c.run(t, class)
			r.failsLike(t, `^Exception in thread "main" org\.apache\.storm\.utils\.NimbusLeaderNotFoundException: Could not find leader nimbus from seed hosts`)
			if strings.Contains(r.out, "No topologies running") {
				t.Errorf("it prints a list:\n%s", r.out)
			}
		})
	}
}
