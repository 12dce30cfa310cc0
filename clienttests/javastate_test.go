package clienttests

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stormring/stormring/clienttests/fetch"
	nouns "github.com/stormring/stormring/internal/cluster"
	api "github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/supervisor/jvmstate"
	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/checkpoint"
)

// memory is a ring that is always there.
type memory struct {
	*worker.MemoryStates
	settings chan string
}

func (m memory) Keep(n jvmstate.Namespace) (jvmstate.Keeper, error) {
	return m.MemoryStates.Keep(worker.KeepSpec{Component: n.Component, Task: api.TaskID(n.Task), Post: n.Post})
}

func (memory) Join(context.Context, string, int32) error { return nil }

func (memory) Unsaved(context.Context, checkpoint.Version) ([]string, error) { return nil, nil }

func (memory) Close() {}

// stateRig is an agent and a JVM that does what it is told.
type stateRig struct {
	t    *testing.T
	ring memory
	file string
	stop func()
	in   io.Writer
	out  *bufio.Reader
	jvm  *exec.Cmd
}

func (r *stateRig) start() {
	r.t.Helper()
	a, err := jvmstate.New(jvmstate.Config{
		File: r.file, Logger: slog.New(slog.NewTextHandler(r.t.Output(), nil)),
		Open: func(_ nouns.TopologyID, settings string) (jvmstate.Store, error) {
			select {
			case r.ring.settings <- settings:
			default:
			}
			return r.ring, nil
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.Run(ctx); err != nil {
			r.t.Errorf("the agent: %v", err)
		}
	})
	r.stop = func() { cancel(); running.Wait() }
}

// run starts the JVM.
func (r *stateRig) run(classpath string) {
	r.t.Helper()
	r.jvm = exec.CommandContext(r.t.Context(), "java", "-XX:TieredStopAtLevel=1", "-Xmx128m", "--add-opens=java.base/java.util=ALL-UNNAMED", "-cp", classpath, "-Dstormring.state.file="+r.file, "stormring.state.Check")
	r.jvm.Stderr = r.t.Output()
	in, err := r.jvm.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := r.jvm.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	r.in, r.out = in, bufio.NewReader(out)
	if err := r.jvm.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = r.jvm.Process.Kill()
		_ = r.jvm.Wait()
	})
}

// do says lines, each of which has an answer behind " -> ". One that ends in "…" is
// how it begins.
func (r *stateRig) do(lines string) {
	r.t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		say, want, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		if say == "restart the agent" {
			r.stop()
			r.start()
			continue
		}
		if _, err := io.WriteString(r.in, say+"\n"); err != nil {
			r.t.Fatal(err)
		}
		got := r.answer()
		if want == "" {
			want = "ok"
		}
		if begin, ok := strings.CutSuffix(want, "…"); ok && strings.Contains(got, begin) || got == want {
			continue
		}
		r.t.Fatalf("%s: got %q, not %q", say, got, want)
	}
}

// answer is the next one; "" if there is none any more. Between answers are logs.
func (r *stateRig) answer() string {
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			return ""
		}
		if text, ok := strings.CutPrefix(line, "> "); ok {
			return strings.TrimSpace(text)
		}
	}
}

// checkClasses compiles the provider and its check against a release of Storm.
func checkClasses(t *testing.T, libs string) string {
	t.Helper()
	classes := t.TempDir()
	args := []string{"-nowarn", "-Xlint:-options", "--release", "8", "-cp", libs, "-d", classes}
	if err := filepath.WalkDir("../multilang/java/src", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".java") {
			args = append(args, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "javac", args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	return classes
}

// stateScript is what the JVM is told, and what it answers. s is the checkpoint spout,
// and s2 and s3 are after it; the states a to e of one namespace come one after the
// other, as workers do.
const stateScript = `
spout s -> ok null
save s -1 COMMITTED
open a sum-5 5
put a k v
put a gone soon
large a large 3000000
prepare a 0 -> RefusedException state sum-5 of topology t-1: prepare transaction 0…
save s 0 PREPARING
prepare a 0
prepare a 0
put a k w
prepare a 0 -> RefusedException state sum-5 of topology t-1: transaction 0 was prepared already, and the state has changed since
delete a gone -> ok soon
delete a gone -> ok null
save s 0 COMMITTING
commit a 0
get a k -> ok w
rollback a
get a k -> ok v
get a gone -> ok soon
length a large -> ok 3000000
delete a large -> ok xxx…
list a -> ok gone=soon k=v
commit a -> UnsupportedOperationException state sum-5 of topology t-1: state on the ring is saved by checkpoints only…
restart the agent
save s 0 COMMITTED
save s 1 PREPARING
put a k x
prepare a 1
put a k y
restart the agent
save s 1 COMMITTING
commit a 1
get a k -> ok y
save s 1 COMMITTED
rollback a
list a -> ok gone=soon k=x
spout s -> ok 1 COMMITTED
open b sum-5 5
list b -> ok gone=soon k=x
put a k z
save s 2 PREPARING
prepare a 2 -> RefusedException state sum-5 of topology t-1: a newer worker…
put b k 2
prepare b 2
commit b 1 -> RefusedException state sum-5 of topology t-1: commit of transaction 1, and another one is prepared, transaction 2 of era 2
rollback b
prepare b 2 -> RefusedException state sum-5 of topology t-1: prepare transaction 2…
save s 1 COMMITTED
save s 2 PREPARING
put b k 3
prepare b 2
open c sum-5 5
spout s2 -> ok 2 PREPARING
save s 2 COMMITTING -> RefusedException state $checkpointspout-1 of topology t-1: a newer worker…
save s2 1 COMMITTED
save s2 2 PREPARING
put c k 4
prepare c 2
open d sum-5 5
save s2 2 COMMITTING
commit d 2
list d -> ok gone=soon k=4
spout s3 -> ok 2 COMMITTING
save s3 2 COMMITTED
save s3 3 PREPARING
prepare d 3
open e sum-5 5
get e k -> ok 4
save s3 3 COMMITTING
json {"a":[1,true,null,"x\"\u0041"],"b":{}} -> ok {"a":[1.0,true,null,"x\"A"],"b":{}}
`

// TestJavaState: the state provider in a JVM, against an agent that is started anew
// meanwhile: what is committed comes back, what is rolled back is gone, in all
// releases of Storm.
func TestJavaState(t *testing.T) {
	for _, release := range []string{"2.8", "2.2", "1.2"} {
		t.Run(release, func(t *testing.T) {
			libs := fetch.Client(t, []string{"javac", "mvn"}, "classpath", release)
			r := &stateRig{t: t, ring: memory{MemoryStates: worker.NewMemoryStates(), settings: make(chan string, 1)}, file: filepath.Join(t.TempDir(), "agent")}
			r.start()
			defer func() { r.stop() }()
			r.run(checkClasses(t, libs) + string(os.PathListSeparator) + libs)
			r.do(stateScript)
			if got, want := <-r.ring.settings, `{"topology.sr3.replicas":2}`; got != want {
				t.Errorf("the settings are %s, not %s", got, want)
			}
			// What e has seen is not what was committed, and it cannot unsee it.
			if _, err := io.WriteString(r.in, "commit e 3\n"); err != nil {
				t.Fatal(err)
			}
			if got := r.answer(); got != "" {
				t.Errorf("it goes on: %s", got)
			}
			_ = r.jvm.Wait()
			if code := r.jvm.ProcessState.ExitCode(); code != 70 {
				t.Errorf("it ended with %d, not 70", code)
			}
		})
	}
}
