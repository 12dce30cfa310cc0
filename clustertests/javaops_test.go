package clustertests

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/clienttests/fetch"
)

// observed is the topology on which an operator's doings show.
var observed = example{
	class: "Observed", spout: "numbers", sink: "observed", lines: 150,
	right: func(s sight) (wrong []string) {
		for _, line := range s.lines {
			if first, _, _ := strings.Cut(line, " "); first != "number" && first != "hook" && first != "credentials" {
				wrong = append(wrong, line)
			}
		}
		return wrong
	},
}

// TestJavaOperations: what operators do to a topology arrives in its JVMs, and what
// these report arrives at nimbus: worker hooks, credentials, levels of loggers, errors,
// newer blobs; and a host that is lost is made up for.
func TestJavaOperations(t *testing.T) {
	slow(t)
	fetch.Client(t, []string{"javac", "mvn"}, "prepare", "2.8")
	r := javaCluster(t, 10)
	x := newRun(t, r, observed)
	x.submit()
	ports := slices.Collect(maps.Keys(x.jvms()))
	if got := x.having("hook "); len(got) != len(ports) {
		t.Errorf("hooks of %q, workers at %v", got, ports)
	}

	x.storm.run(t, "org.apache.storm.command.UploadCredentials", x.name(), "key", "a secret")
	x.await("both tasks have the credentials", func() bool { return len(x.having("credentials {key=a secret")) >= 2 })

	x.await("errors arrive", func() bool {
		return strings.Contains(x.must("get-errors", x.name()), "java.lang.IllegalStateException: there is something about ")
	})
	if page, err := x.page(); err != nil || page.Bolts["observed"].LastError == nil {
		t.Errorf("page %+v, error %v", page.Bolts, err)
	}

	if n := x.logged("debugging"); n > 0 {
		t.Errorf("%d lines for debugging, unasked", n)
	}
	x.storm.run(t, "org.apache.storm.command.SetLogLevel", "-l", "examples.observed=DEBUG:6", x.name())
	x.await("the level is DEBUG", func() bool { return x.logged("debugging") > 20 })
	x.await("the level is what it was", func() bool {
		before := x.logged("debugging")
		<-time.After(2 * time.Second)
		return x.logged("debugging") == before
	})
	if n := x.logged("tracing"); n > 0 {
		t.Errorf("%d lines for tracing, unasked", n)
	}

	lost := x.host(slices.Max(ports))
	lost.kill()
	for port, pid := range x.jvms() {
		if slices.Contains(lost.slots, port) {
			sigkill(t, pid)
		}
	}
	x.await("both workers are on the other host", func() bool {
		now := slices.Collect(maps.Keys(x.jvms()))
		return len(now) == 2 && !slices.ContainsFunc(now, func(port int) bool { return slices.Contains(lost.slots, port) })
	})
	x.flows("a host was lost")
	lost.start()
	x.awaitSupervisors(len(x.supervisor))
	x.kill()

	blob := newRun(t, r, example{class: "BlobStore", spout: "numbers", sink: "read", lines: 100, right: func(sight) []string { return nil }})
	blob.submit()
	before := blob.jvms()
	blob.storm.run(t, "stormring.examples.BlobStore", blob.name(), blob.folder, "second")
	blob.await("the new content is seen", func() bool { return len(blob.having(" second")) > 100 })
	if now := blob.jvms(); !maps.Equal(now, before) {
		t.Errorf("the workers are %v now, and were %v", now, before)
	}
	blob.kill()
}

// having are the lines that have a text.
func (x *run) having(text string) []string {
	return slices.DeleteFunc(x.lines(), func(line string) bool { return !strings.Contains(line, text) })
}

// logged is in how many lines of the workers' logs a word is.
func (x *run) logged(word string) (n int) {
	for _, d := range x.supervisor {
		logs, _ := filepath.Glob(filepath.Join(d.dir, "logs", "workers-artifacts", x.name()+"-*", "*", "worker.log"))
		for _, log := range logs {
			text, err := os.ReadFile(log)
			if err != nil {
				x.t.Fatal(err)
			}
			n += strings.Count(string(text), word)
		}
	}
	return n
}
