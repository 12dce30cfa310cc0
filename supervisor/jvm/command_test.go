package jvm

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
)

var update = flag.Bool("update", false, "write the golden files anew")

func itoa(n int) string { return strconv.Itoa(n) }

// spec is a worker of which nothing is configured.
func spec(t *testing.T, stormVersion string, java int) Spec {
	t.Helper()
	v := version(t, stormVersion)
	return Spec{
		Java:         Java{Path: "/usr/bin/java", Version: itoa(java), Major: java},
		Installation: Installation{Version: v, ClassPath: []string{"/libs/" + stormVersion + "/*"}, Main: defaultMain(v)},
		TopologyID:   "wc-1-17", AssignmentID: "sup-1", WorkerID: "w-1", Port: 6700, SupervisorPort: 6628,
		LocalDir: "/var/storm", CodeDir: "/var/storm/supervisor/stormdist/wc-1-17", LogDir: "/var/log/storm",
		ConfFile: "/var/storm/worker.yaml", LogConf: "/var/storm/jvm-worker.xml",
	}
}

// text is a line as the golden files have it.
func (l Line) text() string {
	var b strings.Builder
	for _, a := range l.Argv {
		fmt.Fprintln(&b, a)
	}
	for _, k := range slices.Sorted(maps.Keys(l.Env)) {
		fmt.Fprintf(&b, "env %s=%s\n", k, l.Env[k])
	}
	fmt.Fprintf(&b, "dir %s\n", l.Dir)
	return strings.ReplaceAll(b.String(), platform(), "SYSTEM-PROCESSOR")
}

func TestCommand(t *testing.T) {
	plain := spec(t, "2.8.3", 17)
	old := spec(t, "1.2.4", 8)
	full := spec(t, "2.6.4", 11)
	full.HeapMB, full.OffHeapMB = 511.5, 64
	full.StateJar, full.StateFile = "/libs/stormring-state.jar", StateFile("/local")
	full.Home, full.Artifacts, full.Dependencies = "/opt/storm", "/logs", []string{"dep-a.jar", "dep-b.jar"}
	full.Host = map[string]any{
		"worker.childopts":          []string{"-Xmx%HEAP-MEM%m  -Dport=%ID%"}, // as a string of options comes out of the configuration
		"worker.gc.childopts":       "-XX:+UseSerialGC",
		"worker.profiler.enabled":   true,
		"worker.profiler.childopts": "-XX:+FlightRecorder",
		"java.library.path":         "/lib",
	}
	full.Topology = map[string]any{
		"topology.worker.childopts":    []any{"-Dwhole=a b", "-Dids=%TOPOLOGY-ID%/%WORKER-ID%/%WORKER-PORT%", "-XX:MaxDirectMemorySize=%OFF-HEAP-MEM%m", "-Dlimit=%LIMIT-MEM%", "", nil},
		"topology.worker.gc.childopts": "-XX:+UseG1GC",
		"topology.classpath.beginning": "/first.jar",
		"topology.classpath":           []string{"/last.jar", "/more/*"},
		"topology.environment":         map[string]any{"A": "b", "N": int64(7), "LD_LIBRARY_PATH": "/mine"},
		"topology.logging.sensitivity": "S0",
		"topology.logging.config":      "more.xml",
		"worker.heap.memory.mb":        int64(3), // the scheduler's counts
	}
	for name, s := range map[string]Spec{"plain": plain, "old": old, "full": full} {
		t.Run(name, func(t *testing.T) {
			l, err := s.Command()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(l.text()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.text(); got != string(want) {
				t.Errorf("got\n%s\nnot\n%s", got, want)
			}
		})
	}
}

func TestHeap(t *testing.T) {
	for _, c := range []struct {
		assigned   float64
		configured any
		want       int
	}{
		{0, nil, 768}, {0, int64(128), 128}, {0, 256.9, 256}, {0, 64, 64}, {0, "x", 768}, {100.1, int64(128), 101},
	} {
		s := Spec{HeapMB: c.assigned, Topology: map[string]any{"worker.heap.memory.mb": c.configured}}
		if got := s.heapMB(); got != c.want {
			t.Errorf("%v, %v: %d", c.assigned, c.configured, got)
		}
	}
}

func TestCommandRefuses(t *testing.T) {
	s := spec(t, "2.8.3", 17)
	s.Topology = map[string]any{"topology.worker.childopts": "-XX:MaxDirectMemorySize=%OFF-HEAP-MEM%m"}
	want := `topology.worker.childopts: "-XX:MaxDirectMemorySize=%OFF-HEAP-MEM%m" asks for the memory off the heap, but the scheduler gave none; set topology.component.resources.offheap.memory.mb`
	if _, err := s.Command(); err == nil || err.Error() != want {
		t.Error(err)
	}
}

func TestProfilerOfOldJava(t *testing.T) {
	for java, want := range map[int]bool{8: true, 11: false} {
		s := spec(t, "2.2.1", java)
		s.Host = map[string]any{"worker.profiler.enabled": true}
		l, err := s.Command()
		if err != nil || slices.Contains(l.Argv, "-XX:+FlightRecorder") != want {
			t.Errorf("%d: %q, %v", java, l.Argv, err)
		}
	}
}

func TestPlatform(t *testing.T) {
	if want := "Linux-amd64"; runtime.GOOS == "linux" && runtime.GOARCH == "amd64" && platform() != want {
		t.Error(platform())
	}
}

func TestPrepare(t *testing.T) {
	s := spec(t, "2.8.3", 17)
	s.LocalDir, s.LogDir, s.CodeDir = t.TempDir(), t.TempDir(), t.TempDir()
	s.Topology = map[string]any{"topology.blobstore.map": map[string]any{
		"key1": map[string]any{"localname": "data.txt"}, "key2": nil, "key3": map[string]any{"localname": "sub/x"},
	}}
	if err := os.Mkdir(filepath.Join(s.CodeDir, "resources"), 0o750); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.LocalDir, "workers", "w-1")
	// What is left of something else goes.
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/elsewhere", filepath.Join(dir, "artifacts")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Prepare(); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"artifacts": filepath.Join(s.LogDir, "workers-artifacts", "wc-1-17", "6700"),
		"resources": filepath.Join(s.CodeDir, "resources"),
		"data.txt":  filepath.Join(s.CodeDir, "data.txt"),
		"key2":      filepath.Join(s.CodeDir, "key2"),
		"sub/x":     filepath.Join(s.CodeDir, "sub/x"),
	} {
		if got, err := os.Readlink(filepath.Join(dir, name)); err != nil || got != want {
			t.Errorf("%s leads to %s, %v", name, got, err)
		}
	}
	for _, name := range []string{"pids", "heartbeats", "tmp", "artifacts"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}

	if err := os.Remove(filepath.Join(s.CodeDir, "resources")); err != nil {
		t.Fatal(err)
	}
	s.WorkerID = "w-2"
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(s.LocalDir, "workers", "w-2", "resources")); !os.IsNotExist(err) {
		t.Errorf("there are resources: %v", err)
	}

	s.Topology = map[string]any{"topology.blobstore.map": map[string]any{"k": map[string]any{"localname": "../../x"}}}
	if err := s.Prepare(); err == nil || err.Error() != `the folder of worker w-2: the blob "../../x" is no plain name` {
		t.Error(err)
	}
}

func TestHostConf(t *testing.T) {
	c, err := conf.Defaults().With("a test", storm.Config{
		"storm.zookeeper.servers": []any{"zk1", "zk2"}, "nimbus.seeds": []any{"n:6627"}, "worker.heap.memory.mb": 512,
		"storm.local.dir": "relative", "my.own": map[string]any{"a": []any{1, "x"}}, "storm.local.hostname": "host",
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := HostConf(c, spec(t, "2.8.3", 17))
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "my.own": {
    "a": [
      1,
      "x"
    ]
  },
  "nimbus.seeds": [
    "n"
  ],
  "nimbus.thrift.port": 6627,
  "storm.cluster.mode": "distributed",
  "storm.local.dir": "/var/storm",
  "storm.local.hostname": "host",
  "storm.log.dir": "/var/log/storm",
  "storm.workers.artifacts.dir": "/var/log/storm/workers-artifacts",
  "storm.zookeeper.port": 2181,
  "storm.zookeeper.root": "/storm",
  "storm.zookeeper.servers": [
    "zk1",
    "zk2"
  ],
  "supervisor.thrift.port": 6628,
  "supervisor.worker.shutdown.sleep.secs": 3,
  "worker.heap.memory.mb": 512
}
`
	if string(got) != want {
		t.Errorf("%s", got)
	}
	if !json.Valid(got) {
		t.Error("no JSON")
	}
}

func TestLogConf(t *testing.T) {
	local := t.TempDir()
	for range 2 {
		path, err := LogConf(nil, "", local)
		if err != nil || path != filepath.Join(local, "jvm-worker.xml") {
			t.Fatal(path, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != string(workerLog) {
			t.Error(err)
		}
	}
	for dir, want := range map[string]string{"/etc/log": "/etc/log/worker.xml", "log4j2": "/opt/storm/log4j2/worker.xml"} {
		if got, err := LogConf(map[string]any{LogConfKey: dir}, "/opt/storm", local); err != nil || got != want {
			t.Errorf("%s: %s, %v", dir, got, err)
		}
	}
	if _, err := LogConf(nil, "", filepath.Join(local, "none")); err == nil {
		t.Error("it was written to a folder that is not there")
	}
}
