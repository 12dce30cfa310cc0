package lint

import (
	"path"
	"strings"
)

// kind is what a package is for. Kinds are floors: imports go down only.
type kind int

const (
	noun        kind = iota // words and ports that everybody shares
	pure                    // decides; no clock, no I/O, no goroutines
	adapter                 // touches one part of the world
	shell                   // runs: a daemon, or a part of one
	sample                  // uses the system as its users do
	composition             // joins everything
	check                   // reads the source, belongs to no floor
)

var kinds = []struct{ name, rule string }{
	noun:        {"a noun", "nouns import nothing of the project but what their row names"},
	pure:        {"a pure core", "pure cores import nouns"},
	adapter:     {"an adapter", "adapters import nouns, and pure cores and adapters of their own family"},
	shell:       {"a shell", "shells import nouns, adapters, and their own family; never one another"},
	sample:      {"a sample", "samples import package storm, as every user does, and their own family"},
	composition: {"a composition", "compositions import whatever is below them"},
	check:       {"a check", "checks import nothing of the project"},
}

// room is one row of the house. Lists are separated by spaces; "x/..." stands
// for x and all below it.
type room struct {
	path string
	kind kind
	also string // what it may import beyond the rule of its kind
	just string // if set, all of the project that it may import
	// tests is what its tests may import beyond that.
	tests string
	by    string // if set, who may import it at all
	// forTests tells that only tests may import it.
	forTests bool
	// std is what a pure core may import though it touches the world.
	std string
	// mods are the modules of others that a noun or a pure core may import.
	mods string
}

const (
	handlers = " nimbus/handler supervisor/handler drpc/handler"
	ring     = "sr3/... daemon local command bench/... demo simulation clustertests"
)

// house is every package of the module, from the ground up. The first column
// says where a newcomer finds a thing, the second what kind of thing it is.
var house = []room{
	// 0: nouns. storm is all that a topology author sees.
	{path: "storm", kind: noun, also: "internal/track"},
	{path: "internal/track", kind: noun},
	{path: "internal/cluster", kind: noun, also: "storm internal/track"},
	{path: "internal/layout", kind: noun, also: "storm internal/track internal/cluster internal/conf internal/assert"},
	{path: "internal/conf", kind: noun, also: "storm internal/assert", mods: "github.com/goccy/go-yaml"},
	{path: "internal/clock", kind: noun},
	{path: "internal/assert", kind: noun},
	{path: "internal/coord", kind: noun},

	// 1: pure cores. They take what happened and say what to do.
	{path: "nimbus/scheduler", kind: pure},
	{path: "nimbus/lifecycle", kind: pure},
	{path: "nimbus/submit", kind: pure},
	{path: "nimbus/survey", kind: pure, also: "nimbus/scheduler"},
	{path: "nimbus/answer", kind: pure, also: "nimbus/survey"},
	{path: "supervisor/slot", kind: pure},
	{path: "worker/acker", kind: pure},
	{path: "worker/grouping", kind: pure},
	{path: "worker/checkpoint", kind: pure},
	{path: "worker/stats", kind: pure, std: "sync/atomic", mods: "github.com/HdrHistogram/hdrhistogram-go"},
	{path: "multilang/protocol", kind: pure},
	{path: "flux", kind: pure, std: "io/fs", mods: "github.com/goccy/go-yaml"},
	{path: "internal/coord/embedded/tree", kind: pure, by: "internal/coord/embedded simulation"},
	{path: "sr3/ring", kind: pure, just: "sr3/...", by: ring},
	{path: "sr3/shard", kind: pure, just: "sr3/...", by: ring, mods: "github.com/cespare/xxhash/v2 github.com/klauspost/compress/s2 github.com/klauspost/compress/zstd"},
	{path: "sr3/recovery", kind: pure, just: "sr3/...", by: ring},
	{path: "sr3/protocol", kind: pure, just: "sr3/...", by: ring, mods: "github.com/cespare/xxhash/v2"},
	{path: "sr3/evidence", kind: pure, just: "sr3/...", by: ring},
	{path: "sr3/upkeep", kind: pure, just: "sr3/...", by: ring},

	// 2: adapters. Each knows one part of the world.
	{path: "worker/queue", kind: adapter},
	{path: "worker/transport", kind: adapter},
	{path: "worker/monitor", kind: adapter},
	{path: "multilang/...", kind: adapter, tests: "local"},
	{path: "sr3/store", kind: adapter, just: "sr3/...", by: ring},
	{path: "sr3/transport", kind: adapter, just: "sr3/...", by: ring},
	{path: "thrift", kind: adapter},
	{path: "thrift/assignment", kind: adapter},
	{path: "thrift/gen/...", kind: adapter, by: "thrift/... internal/wire nimbus/client" + handlers},
	{path: "internal/wire", kind: adapter, also: "thrift/..."},
	{path: "internal/link", kind: adapter, also: "internal/wire"},
	{path: "internal/coord/...", kind: adapter, also: "internal/wire"},
	{path: "internal/coord/coordtest", kind: adapter, forTests: true},
	{path: "internal/coord/zk/zktest", kind: adapter, forTests: true},
	{path: "nimbus/blobstore", kind: adapter, also: "internal/coord"},
	{path: "nimbus/election", kind: adapter, also: "internal/coord", tests: "internal/coord/..."},
	{path: "nimbus/client", kind: adapter, also: "internal/wire thrift/..."},
	{path: "supervisor/process", kind: adapter},
	{path: "supervisor/jvm", kind: adapter},
	{path: "internal/maven", kind: adapter},
	{path: "internal/zookeeper", kind: adapter},
	{path: "supervisor/localizer", kind: adapter},

	// 3: shells. One goroutine, one select each; they feed cores and perform
	// what comes out.
	{path: "worker/executor", kind: shell},
	{path: "worker", kind: shell},
	{path: "worker/process", kind: shell},
	{path: "nimbus/handler", kind: shell},
	{path: "nimbus", kind: shell},
	{path: "supervisor/handler", kind: shell},
	{path: "supervisor", kind: shell},
	{path: "supervisor/jvmstate", kind: shell, also: "worker/checkpoint", tests: "multilang/java supervisor/jvm"},
	{path: "sr3", kind: shell, just: "sr3/...", by: ring},
	{path: "sr3/node", kind: shell, just: "sr3/...", by: ring},
	{path: "sr3/client", kind: shell, just: "sr3/...", by: ring},
	{path: "sr3/overview", kind: pure, just: "sr3/...", by: ring},
	{path: "sr3/inquiry", kind: shell, just: "sr3/...", by: ring},
	{path: "ui", kind: shell},
	{path: "drpc/handler", kind: shell},
	{path: "drpc", kind: shell},

	// 4: samples, one a folder; topologies itself is their list.
	{path: "topologies", kind: sample, also: "topologies/...", tests: "local"},
	{path: "topologies/...", kind: sample, tests: "local"},
	{path: "topologies/throughput/pythonwordcount", kind: sample, also: "multilang", tests: "local"},
	{path: "topologies/polyglot", kind: sample, also: "multilang", tests: "local worker"},

	// 5: compositions.
	{path: "daemon", kind: composition},
	{path: "local", kind: composition, also: "daemon"},
	{path: "bench", kind: composition, also: "daemon local"},
	{path: "bench/recovery", kind: composition, also: "bench daemon"},
	{path: "bench/compare", kind: composition, also: "bench nimbus/client"},
	{path: "demo", kind: composition, also: "daemon local", tests: "command"},
	{path: "command", kind: composition, also: "daemon local bench bench/recovery bench/compare demo"},
	{path: "cmd/stormring", kind: composition, just: "storm command topologies/..."},
	{path: "simulation", kind: composition, forTests: true},
	{path: "clienttests", kind: composition, also: "command clienttests/sparse clienttests/fetch", forTests: true},
	{path: "clienttests/fetch", kind: composition, by: "clienttests clienttests/sparse clustertests"},
	{path: "clienttests/sparse", kind: composition, also: "clienttests/fetch", forTests: true},
	{path: "clustertests", kind: composition, also: "command clienttests/sparse clienttests/fetch", forTests: true},

	{path: "internal/lint", kind: check},
}

// roomOf is the row of a package: the one with its very path, else the longest
// pattern that covers it.
func roomOf(pkg string) (room, bool) {
	var best room
	for _, r := range house {
		if r.path == pkg {
			return r, true
		}
		if matches(r.path, pkg) && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best, best.path != ""
}

// matches reports whether one of the patterns in list covers pkg.
func matches(list, pkg string) bool {
	for pattern := range strings.FieldsSeq(list) {
		root, below := strings.CutSuffix(pattern, "/...")
		if pkg == root || below && strings.HasPrefix(pkg, root+"/") {
			return true
		}
	}
	return false
}

// family is the part of the house that a package belongs to: its top-level
// folder, or the folder below that in internal and topologies, which only
// group.
func family(pkg string) string {
	first, rest, ok := strings.Cut(pkg, "/")
	if ok && (first == "internal" || first == "topologies") {
		second, _, _ := strings.Cut(rest, "/")
		return path.Join(first, second)
	}
	return first
}
