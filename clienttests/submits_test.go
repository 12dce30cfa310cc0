package clienttests

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	topologyJar  = "-stormjar.jar"
	topologyCode = "-stormcode.ser"
	topologyConf = "-stormconf.ser"
)

// TestSubmits28 submits in all the ways that StormSubmitter has.
func TestSubmits28(t *testing.T) {
	d := newClient(t, "2.8", startCluster(t)).driver(t)
	finished := func(name string) string { return " - Finished submitting topology: " + name + "\n" }

	t.Run("inactive", func(t *testing.T) {
		d.run(t, program+"Submit", "inactive", "inactive").ok(t, finished("inactive"))
		if got := list(t, d, listTopologies)["inactive"].status; got != "INACTIVE" {
			t.Errorf("its status is %q", got)
		}
	})
	t.Run("credentials", func(t *testing.T) {
		d.run(t, program+"Submit", "credentials", "credentials", "key", "value").ok(t, finished("credentials"))
		d.run(t, storm+"UploadCredentials", "credentials", "other", "value").ok(t)
	})
	t.Run("conf", func(t *testing.T) {
		d.run(t, program+"Submit", "conf", "conf", "some.unknown.key", "of ours").ok(t, finished("conf"))
		id := list(t, d, listTopologies)["conf"].id
		d.run(t, program+"Ask", "getTopologyConf", id).ok(t,
			`"some.unknown.key":"of ours"`, `"topology.name":"conf"`, `"storm.id":"`+id+`"`, `"topology.acker.executors":1`)
		d.run(t, program+"Ask", "getUserTopology", id).ok(t,
			"shell:ShellComponent(execution_command:python3, script:words.py)", "storm_version:2.8.3")
	})
	t.Run("dependency", func(t *testing.T) { testDependency(t, d) })
	t.Run("wide", func(t *testing.T) {
		d.run(t, program+"Submit", "wide", "wide", "2000").ok(t, finished("wide"))
	})
	t.Run("large", func(t *testing.T) {
		if isReference() {
			t.Skip("Storm reads at most 16384000 bytes, whatever its limit is set to")
		}
		// 17 MB: above every default, below our limit.
		d.run(t, program+"Submit", "large", "large", "17000000").ok(t, finished("large"))
		id := list(t, d, listTopologies)["large"].id
		if answer := d.run(t, program+"Ask", "getUserTopology", id).ok(t).out; len(answer) < 17_000_000 {
			t.Errorf("it comes back with %d bytes", len(answer))
		}
	})
	all := slices.Collect(maps.Keys(list(t, d, listTopologies)))
	d.run(t, storm+"KillTopology", append([]string{"-w", "0"}, all...)...).ok(t)
	awaitNothing(t, d)
}

// testDependency submits as `storm jar --jars` does: the jar becomes a blob,
// which goes with the topology.
func testDependency(t *testing.T, d *driver) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "extra.jar")
	if err := os.WriteFile(file, []byte("not really a jar"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.run(t, program+"Submit", "dependency", "dependency", file).ok(t, " - Finished submitting topology: dependency\n")
	keys := blobs(t, d)
	if !slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, "dep-extra-") }) {
		t.Errorf("there is no blob for the dependency: %q", keys)
	}
}

// TestRace28 submits one name from 20 threads at once.
func TestRace28(t *testing.T) {
	d := newClient(t, "2.8", startCluster(t)).driver(t)
	won, refused := 0, 0
	for line := range strings.Lines(d.run(t, program+"Submit", "race", "race", "20").ok(t).printed()) {
		switch got, ok := strings.CutPrefix(line, "result: "); {
		case !ok:
		case got == "submitted\n":
			won++
		case strings.HasPrefix(got, "java.lang.RuntimeException: "+alreadyAlive+"(msg:race is already alive"),
			got == "java.lang.RuntimeException: Topology name race is either not allowed or it already exists on the cluster\n":
			refused++
		default:
			t.Errorf("one of them got: %s", got)
		}
	}
	if won != 1 || refused != 19 {
		t.Errorf("%d submitted, %d were refused", won, refused)
	}
	all := list(t, d, listTopologies)
	id := all["race"].id
	if len(all) != 1 {
		t.Errorf("the list shows %v", all)
	}
	want := []string{id + topologyCode, id + topologyConf, id + topologyJar}
	if got := blobs(t, d); !slices.Equal(got, want) {
		t.Errorf("the blobs are %q, not %q", got, want)
	}
	d.run(t, storm+"KillTopology", "-w", "0", "race").ok(t)
	awaitNothing(t, d)
}

// awaitNothing waits until neither a topology nor a blob is left.
func awaitNothing(t *testing.T, d *driver) {
	t.Helper()
	await(t, "no topology is left", func() bool { return len(list(t, d, listTopologies)) == 0 })
	if !isReference() { // it removes them after minutes
		await(t, "no blob is left", func() bool { return len(blobs(t, d)) == 0 })
	}
}

// TestRefused28 submits what must not run.
func TestRefused28(t *testing.T) {
	d := newClient(t, "2.8", startCluster(t)).driver(t)
	d.run(t, program+"Submit", "reading", "bad", "nope", "default").refused(t, invalidTopology, "reader", "nope")
	d.run(t, program+"Submit", "reading", "bad", "words", "nope").refused(t, invalidTopology, "reader", "nope", "words")
	d.run(t, program+"Submit", "named", "bad", "__x").refused(t, invalidTopology, "__x")
	if !isReference() {
		d.run(t, program+"SubmitJava", "bad").
			refused(t, invalidTopology, "serialized_java", "print", "sentences").
			says(t, " - Topology submission exception: ")
	}
	if all, keys := list(t, d, listTopologies), blobs(t, d); len(all) != 0 || (len(keys) != 0 && !isReference()) {
		t.Errorf("refused topologies leave %v and the blobs %q", all, keys)
	}
}

// TestFrameLimit28 submits more than nimbus reads.
func TestFrameLimit28(t *testing.T) {
	if isReference() {
		t.Skip("Storm closes the connection and says nothing")
	}
	d := newClient(t, "2.8", startCluster(t, "-c", "nimbus.thrift.max_buffer_size=1048576")).driver(t)
	d.run(t, program+"Submit", "large", "large", "2000000").
		failsLike(t, `1048576.*nimbus\.thrift\.max_buffer_size|nimbus\.thrift\.max_buffer_size.*1048576`)
	if got := list(t, d, listTopologies); got != nil {
		t.Errorf("there is %v", got)
	}
}

// TestRestart28 finds everything again after a restart on the same data.
func TestRestart28(t *testing.T) {
	if isReference() {
		t.Skip("the reference keeps nothing")
	}
	data := t.TempDir()
	first := startCluster(t, "--data", data)
	d := newClient(t, "2.8", first).driver(t)
	d.run(t, program+"Submit", "words", "words").ok(t)
	d.run(t, storm+"Deactivate", "words").ok(t)
	before, blobsBefore := list(t, d, listTopologies)["words"], blobs(t, d)
	first.stop()

	d = newClient(t, "2.8", startCluster(t, "--data", data)).driver(t)
	after, blobsAfter := list(t, d, listTopologies)["words"], blobs(t, d)
	if after.id != before.id || after.status != "INACTIVE" || after.owner != before.owner || !slices.Equal(blobsBefore, blobsAfter) {
		t.Errorf("before the restart: %v, %q\n     after it: %v, %q", before, blobsBefore, after, blobsAfter)
	}
	d.run(t, storm+"KillTopology", "-w", "0", "words").ok(t)
	awaitNothing(t, d)
}
