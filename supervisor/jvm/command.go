package jvm

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const (
	// defaultHeapMB is the heap of a worker of which nothing says how large
	// it is.
	defaultHeapMB = 768
	// defaultLibraryPath is Storm's java.library.path.
	defaultLibraryPath = "/usr/local/lib:/opt/local/lib:/usr/lib:/usr/lib64"
	// firstRPC is the first major version whose workers send heartbeats to
	// their supervisor, whose port they are told.
	firstRPC = 2
	// unifiedLogging is the first version of Java in which -Xlog took the
	// place of -Xloggc.
	unifiedLogging = 9
	// modules is the first version of Java that has them.
	modules = 9
)

// Spec is a worker to start.
type Spec struct {
	Java         Java
	Installation Installation
	// Host is the configuration of this host, Topology that of the topology
	// on top of it. A string of options is taken apart at spaces, and so is a
	// list of strings that has but one; elements of other lists stay whole.
	Host, Topology map[string]any

	TopologyID string
	// AssignmentID is the id of the supervisor.
	AssignmentID string
	WorkerID     string
	Port         int
	// SupervisorPort is where the supervisor's Thrift server listens on this
	// host.
	SupervisorPort int

	// LocalDir is storm.local.dir, absolute: the worker's folder is
	// workers/WorkerID there.
	LocalDir string
	// CodeDir is supervisor/stormdist/TopologyID in LocalDir, or where that
	// leads to: with stormjar.jar, stormcode.ser, stormconf.ser, resources.
	CodeDir string
	// LogDir is storm.log.dir, absolute; Artifacts is where workers log,
	// LogDir/workers-artifacts if it is "".
	LogDir, Artifacts string
	// StateJar keeps state on the ring, and is on the class path behind the worker's
	// libraries; "" if it is not there. StateFile tells how; see [StateFile].
	StateJar, StateFile string
	// ConfFile is the storm.yaml that the worker reads; see [HostConf].
	ConfFile string
	// LogConf is the configuration of Log4j; see [LogConf].
	LogConf string
	// Home is storm.home, for what of a topology asks for it; may be "".
	Home string
	// Dependencies are the names of the topology's further jars in CodeDir.
	Dependencies []string
	// HeapMB and OffHeapMB are what the scheduler gave the worker, in MiB; 0
	// for nothing.
	HeapMB, OffHeapMB float64
}

// Line is how a worker is started.
type Line struct {
	Argv []string
	// Env is what the worker's environment has beside what every worker's
	// has.
	Env map[string]string
	// Dir is where it runs.
	Dir string
}

// dir is the worker's folder.
func (s Spec) dir() string { return filepath.Join(s.LocalDir, "workers", s.WorkerID) }

func (s Spec) artifacts() string {
	return cmp.Or(s.Artifacts, filepath.Join(s.LogDir, "workers-artifacts"))
}

// Command is the command line of the worker, as Storm's supervisor has it but
// for its log writer: our supervisor takes the output itself. An error is about
// options that cannot be filled in.
func (s Spec) Command() (Line, error) {
	env := textMap(s.Topology["topology.environment"])
	library := s.libraryPath(env["LD_LIBRARY_PATH"])
	env["LD_LIBRARY_PATH"] = library

	argv := []string{s.Java.Path, "-server"}
	argv = append(argv, s.properties()...)
	options, err := s.options()
	if err != nil {
		return Line{}, err
	}
	argv = append(argv, options...)
	if s.StateJar != "" {
		argv = append(argv, "-Dstormring.state.file="+s.StateFile)
		if s.Java.Major >= modules {
			// Kryo reads a field of AtomicInteger, which the state of windows has.
			argv = append(argv, "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED")
		}
	}
	argv = append(argv,
		"-Djava.library.path="+library,
		"-Dstorm.conf.file="+s.ConfFile,
		"-Dstorm.options=",
		"-Djava.io.tmpdir="+filepath.Join(s.dir(), "tmp"),
		"-cp", s.classPath(),
		s.Installation.Main, s.TopologyID, s.AssignmentID,
	)
	if s.Installation.Version.major >= firstRPC {
		argv = append(argv, strconv.Itoa(s.SupervisorPort))
	}
	return Line{Argv: append(argv, strconv.Itoa(s.Port), s.WorkerID), Env: env, Dir: s.dir()}, nil
}

// properties are those that Storm's logging and its workers read.
func (s Spec) properties() []string {
	logConf := s.LogConf
	if extra, ok := s.Topology["topology.logging.config"].(string); ok && extra != "" {
		logConf += "," + extra
	}
	sensitivity, _ := s.Topology["topology.logging.sensitivity"].(string)
	return []string{
		"-Dlogging.sensitivity=" + cmp.Or(sensitivity, "S3"),
		"-Dlogfile.name=worker.log",
		"-Dstorm.home=" + s.Home,
		"-Dworkers.artifacts=" + s.artifacts(),
		"-Dstorm.id=" + s.TopologyID,
		"-Dworker.id=" + s.WorkerID,
		"-Dworker.port=" + strconv.Itoa(s.Port),
		"-Dstorm.log.dir=" + s.LogDir,
		"-DLog4jContextSelector=org.apache.logging.log4j.core.selector.BasicContextSelector",
		"-Dstorm.local.dir=" + s.LocalDir,
		"-Dworker.memory_limit_mb=" + strconv.Itoa(s.heapMB()),
		"-Dlog4j.configurationFile=" + logConf,
	}
}

// options are those of the JVM: the host's, then the topology's, then those of
// the garbage collector and the profiler.
func (s Spec) options() ([]string, error) {
	collector := "topology.worker.gc.childopts"
	from := s.Topology
	if from[collector] == nil {
		collector, from = "worker.gc.childopts", s.Host
	}
	host := s.Host["worker.childopts"]
	if host == nil {
		host = s.defaultOptions()
	}
	parts := []struct {
		key   string
		value any
	}{
		{"worker.childopts", host},
		{"topology.worker.childopts", s.Topology["topology.worker.childopts"]},
		{collector, from[collector]},
	}
	if on, _ := s.Host["worker.profiler.enabled"].(bool); on {
		const key = "worker.profiler.childopts"
		value := s.Host[key]
		if value == nil && s.Java.Major < 11 { // later ones need none
			value = "-XX:+UnlockCommercialFeatures -XX:+FlightRecorder"
		}
		parts = append(parts, struct {
			key   string
			value any
		}{key, value})
	}
	var out []string
	for _, p := range parts {
		words, err := s.fill(p.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.key, err)
		}
		out = append(out, words...)
	}
	return out, nil
}

// defaultOptions are what Storm's defaults mean, in the words of this JVM.
func (s Spec) defaultOptions() []any {
	heap, dump := "-Xmx%HEAP-MEM%m", []any{"-XX:+HeapDumpOnOutOfMemoryError", "-XX:HeapDumpPath=artifacts/heapdump"}
	collections := []any{"-Xlog:gc*:file=artifacts/gc.log:time,uptime:filecount=10,filesize=1M"}
	if s.Java.Major < unifiedLogging {
		collections = []any{
			"-XX:+PrintGCDetails", "-Xloggc:artifacts/gc.log", "-XX:+PrintGCDateStamps", "-XX:+PrintGCTimeStamps",
			"-XX:+UseGCLogFileRotation", "-XX:NumberOfGCLogFiles=10", "-XX:GCLogFileSize=1M",
		}
	}
	return slices.Concat([]any{heap}, collections, dump)
}

// fill is options with values for their placeholders.
func (s Spec) fill(value any) ([]string, error) {
	whole, split := words(value)
	heap, off := s.heapMB(), int(math.Ceil(s.OffHeapMB))
	port := strconv.Itoa(s.Port)
	pairs := []string{
		"%ID%", port, "%WORKER-ID%", s.WorkerID, "%TOPOLOGY-ID%", s.TopologyID, "%WORKER-PORT%", port,
		"%HEAP-MEM%", strconv.Itoa(heap), "%LIMIT-MEM%", strconv.Itoa(heap),
	}
	const offHeap = "%OFF-HEAP-MEM%"
	if off > 0 {
		pairs = append(pairs, offHeap, strconv.Itoa(off))
	}
	replacer := strings.NewReplacer(pairs...)
	var out []string
	for _, text := range whole {
		text = replacer.Replace(text)
		if strings.Contains(text, offHeap) {
			return nil, fmt.Errorf("%q asks for the memory off the heap, but the scheduler gave none; set topology.component.resources.offheap.memory.mb", text)
		}
		switch {
		case split:
			out = append(out, strings.Fields(text)...)
		case strings.TrimSpace(text) != "":
			out = append(out, text)
		}
	}
	return out, nil
}

// words are the options in a value, and whether spaces part them, too.
func words(value any) (list []string, split bool) {
	switch v := value.(type) {
	case string:
		return []string{v}, true
	case []string:
		return v, len(v) == 1
	case []any:
		for _, e := range v {
			if e != nil {
				list = append(list, fmt.Sprint(e))
			}
		}
	}
	return list, false
}

// heapMB is the size of the heap: what the scheduler gave, or what the
// configuration says.
func (s Spec) heapMB() int {
	if s.HeapMB > 0 {
		return int(math.Ceil(s.HeapMB))
	}
	switch n := s.Topology["worker.heap.memory.mb"].(type) {
	case int:
		return n
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return defaultHeapMB
}

// libraryPath is where native libraries are looked for: first those that the
// topology brings.
func (s Spec) libraryPath(more string) string {
	resources := filepath.Join(s.CodeDir, "resources")
	host, ok := s.Host["java.library.path"].(string)
	if !ok {
		host = defaultLibraryPath
	}
	parts := []string{filepath.Join(resources, platform()), resources, host}
	if more != "" {
		parts = append(parts, more)
	}
	return strings.Join(parts, string(os.PathListSeparator))
}

// platform is the name of this system and its processor, as Java has them.
func platform() string {
	system := map[string]string{"linux": "Linux", "darwin": "Mac_OS_X", "freebsd": "FreeBSD"}[runtime.GOOS]
	arch := runtime.GOARCH
	switch {
	case arch == "arm64":
		arch = "aarch64"
	case arch == "amd64" && runtime.GOOS == "darwin":
		arch = "x86_64"
	}
	return cmp.Or(system, runtime.GOOS) + "-" + arch
}

// classPath is the worker's, in Storm's order.
func (s Spec) classPath() string {
	first, _ := words(s.Topology["topology.classpath.beginning"])
	last, _ := words(s.Topology["topology.classpath"])
	parts := slices.Concat(first, s.Installation.ClassPath)
	if s.StateJar != "" {
		parts = append(parts, s.StateJar)
	}
	parts = append(parts, filepath.Join(s.CodeDir, "stormjar.jar"))
	for _, name := range s.Dependencies {
		parts = append(parts, filepath.Join(s.CodeDir, name))
	}
	return strings.Join(append(parts, last...), string(os.PathListSeparator))
}

// links are what a worker finds in its folder, beside what is its own: by name
// where it leads.
func (s Spec) links() map[string]string {
	links := map[string]string{
		"artifacts": filepath.Join(s.artifacts(), s.TopologyID, strconv.Itoa(s.Port)),
		"resources": filepath.Join(s.CodeDir, "resources"),
	}
	blobs, _ := s.Topology["topology.blobstore.map"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(blobs)) {
		name := key
		if about, ok := blobs[key].(map[string]any); ok {
			if local, ok := about["localname"].(string); ok {
				name = local
			}
		}
		links[name] = filepath.Join(s.CodeDir, name)
	}
	return links
}
