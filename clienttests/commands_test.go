package clienttests

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listTopologies is the list command of 2.x.
const listTopologies = storm + "ListTopologies"

// TestCommands28 takes a topology of shell components through its life with
// the commands of Storm 2.8, each in a process of its own as Storm's script
// starts it.
func TestCommands28(t *testing.T) {
	cl := startCluster(t)
	c := newClient(t, "2.8", cl)
	d := c.driver(t) // to ask often while something is under way

	if got := c.run(t, listTopologies).ok(t).printed(); got != "No topologies running.\n" {
		t.Fatalf("list on an empty cluster prints %q", got)
	}
	c.run(t, program+"Submit", "words", "words").ok(t,
		" - Found leader nimbus : "+cl.addr+":0\n",
		" - Successfully uploaded topology jar to assigned location: ",
		" - Finished submitting topology: words\n")
	got := awaitRow(t, d, listTopologies, row{name: "words", status: "ACTIVE", tasks: "4", workers: "1"})
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^words-\d+-\d{10}$`).MatchString(got.id) || got.owner != me.Username {
		t.Errorf("list shows id %q and owner %q", got.id, got.owner)
	}
	c.run(t, program+"Submit", "words", "words").fails(t,
		"java.lang.RuntimeException: Topology name words is either not allowed or it already exists on the cluster")

	c.run(t, storm+"Deactivate", "words").ok(t, " - Deactivated topology: words\n")
	awaitRow(t, d, listTopologies, row{name: "words", status: "INACTIVE"})
	c.run(t, storm+"Activate", "words").ok(t, " - Activated topology: words\n")
	awaitRow(t, d, listTopologies, row{name: "words", status: "ACTIVE"})

	testRebalance(t, c, d)
	testLogLevels(t, c, d, got.id)
	testCredentials(t, c, d)
	testReadings(t, c)
	executed := regexp.MustCompile(`executed:\{[^>]*GlobalStreamId\(componentId:words, streamId:default\)=[1-9]`)
	await(t, "Python's bolt counts what Python's spout emits", func() bool {
		return executed.MatchString(d.run(t, program+"Ask", "getTopologyInfoByName", "words").ok(t).out)
	})
	if errors := d.run(t, storm+"GetErrors", "words").ok(t).printed(); strings.Contains(errors, "Traceback") {
		t.Errorf("errors: %s", errors)
	}

	c.run(t, storm+"KillTopology", "words", "-w", "1").ok(t, " - Killed topology: words\n")
	if s := list(t, d, listTopologies)["words"].status; s != "KILLED" && s != "" {
		t.Errorf("after kill the status is %s", s)
	}
	awaitGone(t, d, listTopologies, "words")
	c.run(t, storm+"Activate", "words").fails(t, notAlive+"(msg:words is not alive)")
}

// testRebalance takes the topology to two workers, and one of its components to one
// executor; its tasks stay.
func testRebalance(t *testing.T, c *client, d *driver) {
	t.Helper()
	c.run(t, storm+"Rebalance", "words", "-w", "0", "-n", "2", "-e", "count=1").ok(t, " - Topology words is rebalancing\n")
	awaitRow(t, d, listTopologies, row{name: "words", status: "ACTIVE", tasks: "4", workers: "2"})
	await(t, "count is one executor of two tasks", func() bool {
		info := d.run(t, program+"Ask", "getTopologyInfoByName", "words").ok(t).out
		return strings.Count(info, "component_id:count,") == 1 &&
			strings.Contains(info, "ExecutorInfo(task_start:2, task_end:3), component_id:count,")
	})
}

func testLogLevels(t *testing.T, c *client, d *driver, id string) {
	t.Helper()
	c.run(t, storm+"SetLogLevel", "-l", "ROOT=DEBUG:30", "-l", "com.example=WARN", "words").ok(t,
		"ROOT=LogLevel(action:UPDATE, target_log_level:DEBUG, reset_log_level_timeout_secs:30",
		"is sent for topology words\n")
	levels := d.run(t, program+"Ask", "getLogConfig", id).ok(t).out
	for _, pattern := range []string{
		`ROOT=LogLevel\(action:UPDATE, target_log_level:DEBUG, reset_log_level_timeout_secs:30, reset_log_level_timeout_epoch:\d{13}`,
		`com.example=LogLevel\(action:UPDATE, target_log_level:WARN, reset_log_level_timeout_secs:0`,
	} {
		if !regexp.MustCompile(pattern).MatchString(levels) {
			t.Errorf("the log levels do not match %s:\n%s", pattern, levels)
		}
	}
	d.run(t, storm+"SetLogLevel", "-r", "com.example", "words").ok(t, "is sent for topology words\n")
	if levels := d.run(t, program+"Ask", "getLogConfig", id).ok(t).out; strings.Contains(levels, "com.example") {
		t.Errorf("a removed log level is still there:\n%s", levels)
	}
}

func testCredentials(t *testing.T, c *client, d *driver) {
	t.Helper()
	const done = " - Uploaded new creds to topology: words\n"
	c.run(t, storm+"UploadCredentials", "words", "key", "value").ok(t, done)
	file := filepath.Join(t.TempDir(), "creds.properties")
	if err := os.WriteFile(file, []byte("user=bob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.run(t, storm+"UploadCredentials", "-f", file, "words").ok(t, done)
	d.run(t, storm+"UploadCredentials", "-e", "words").fails(t, "java.lang.RuntimeException: No credentials were uploaded for words")
	d.run(t, storm+"UploadCredentials", "-u", "nobody-of-that-name", "words", "key", "value").
		refused(t, notAuthorized)
}

// testReadings runs the commands that only read.
func testReadings(t *testing.T, c *client) {
	t.Helper()
	errs := c.run(t, storm+"GetErrors", "words").ok(t).printed()
	if !regexp.MustCompile(`^\{"Comp-Errors":\{.*\},"Topology Name":"words"\}\n$`).MatchString(errs) {
		t.Errorf("get-errors prints %q", errs)
	}
	lines := strings.Split(c.run(t, storm+"Monitor", "words").ok(t).printed(), "\n")
	slices.Sort(lines)
	want := []string{
		"", "------------------", "------------------", "Available components for words :",
		"Please use -m to specify one component", "__acker", "count", "words",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("monitor prints\n%q\nnot\n%q", lines, want)
	}
	shell := c.run(t, storm+"ShellSubmission", c.jar, "echo", "arguments:").ok(t).out
	if want := regexp.MustCompile(`(?m)arguments: 127\.0\.0\.1 \d+ \S+$`); !want.MatchString(shell) {
		t.Errorf("shell does not print what matches %s:\n%s", want, shell)
	}
}

// TestNames28 asks for what is not there, and for what cannot be.
func TestNames28(t *testing.T) {
	d := newClient(t, "2.8", startCluster(t)).driver(t)
	const nope = notAlive + "(msg:nope is not alive)"
	for _, command := range []string{"Activate", "Deactivate", "KillTopology", "Rebalance", "Monitor"} {
		d.run(t, storm+command, "nope").fails(t, nope)
	}
	d.run(t, storm+"UploadCredentials", "nope", "key", "value").fails(t, nope)
	d.run(t, storm+"SetLogLevel", "-l", "ROOT=DEBUG", "nope").fails(t,
		"java.lang.IllegalArgumentException: nope is not a running topology")
	if got := d.run(t, storm+"GetErrors", "nope").ok(t).printed(); got != `{"Failure":"No topologies running with name nope"}`+"\n" {
		t.Errorf("get-errors prints %q", got)
	}
	const badName = `java.lang.IllegalArgumentException: Topology name 'a/b' is not valid. It can't be null and it must match ^[^/.:\\]+$`
	d.run(t, storm+"KillTopology", "a/b").fails(t, badName)
	d.run(t, storm+"Rebalance", "a/b").fails(t, badName)
	d.run(t, program+"Submit", "words", "a/b").fails(t, badName)

	d.run(t, program+"Submit", "words", "words").ok(t)
	for name, allowed := range map[string]string{"words": "false", "a/b": "false", "a.b": "false", "free": "true"} {
		d.run(t, program+"Ask", "isTopologyNameAllowed", name).ok(t, "answer: "+allowed+"\n")
	}
	d.run(t, storm+"Rebalance", "words", "-w", "0", "-e", "nope=1").refused(t, invalidTopology, "nope", "words")
	d.run(t, storm+"Rebalance", "words", "-w", "0", "-e", "count=0").refused(t, invalidTopology, "executors")

	d.run(t, storm+"KillTopology", "-i", "-w", "0", "nope", "a/b", "words").
		fails(t, "java.lang.RuntimeException: Failed to successfully kill 2 topologies.").
		says(t, " - Format of topology name a/b is not valid ",
			" - Caught error killing topology 'nope'; continuing as -i was passed.",
			" - Killed topology: words\n")
	awaitGone(t, d, listTopologies, "words")
}
