package lint

import (
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// ours is the source of this module.
var ours = sync.OnceValues(func() (*tree, error) { return load(os.DirFS("../..")) })

func mustOurs(t *testing.T) *tree {
	t.Helper()
	tr, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.files) < 10 {
		t.Fatalf("only %d files found; is the module's root still two folders up?", len(tr.files))
	}
	return tr
}

func TestImportsGoDown(t *testing.T) { report(t, checkImports(mustOurs(t))) }

func TestPureCoresStayPure(t *testing.T) { report(t, checkPure(mustOurs(t))) }

func TestStyle(t *testing.T) { report(t, checkStyle(mustOurs(t))) }

// What a row allows beyond its kind's rule never leads up.
func TestHouseLeadsDown(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range house {
		if seen[r.path] {
			t.Errorf("%s has two rows", r.path)
		}
		seen[r.path] = true
		for pattern := range strings.FieldsSeq(r.also + " " + r.just) {
			target, ok := roomOf(strings.TrimSuffix(pattern, "/..."))
			if !ok {
				t.Errorf("%s may import %s, which is not in the house", r.path, pattern)
			} else if target.kind > r.kind && r.just == "" {
				t.Errorf("%s (%s) may import %s (%s), which lies above it", r.path, kinds[r.kind].name, pattern, kinds[target.kind].name)
			}
		}
	}
}

// fake is a module made of the given files, each its path and its text.
func fake(t *testing.T, files map[string]string) *tree {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("// fake\nmodule m\n\ngo 1.26\n")}}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tr, err := load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestCheckImports(t *testing.T) {
	const (
		aShell   = ": shells import nouns, adapters, and their own family; never one another"
		anSr3    = ", which only these may import: sr3/... daemon local command bench/... demo simulation clustertests"
		theGen   = ", which only these may import: thrift/... internal/wire nimbus/client nimbus/handler supervisor/handler drpc/handler"
		ofThings = ": nouns and pure cores live on the standard library"
	)
	tests := []struct{ file, imports, want string }{
		{"storm/a.go", "m/internal/track", ""},
		{"storm/a.go", "m/internal/conf", "storm (a noun) imports internal/conf (a noun): nouns import nothing of the project but what their row names"},
		{"storm/a.go", "github.com/x/y", "storm imports github.com/x/y" + ofThings},
		{"storm/a_test.go", "pgregory.net/rapid", ""},
		{"internal/conf/a.go", "github.com/goccy/go-yaml/ast", ""},
		{"internal/conf/a.go", "github.com/goccy/go-yamlish", "internal/conf imports github.com/goccy/go-yamlish" + ofThings},
		{"worker/acker/a.go", "m/internal/track", ""},
		{"worker/acker/a.go", "m/worker/queue", "worker/acker (a pure core) imports worker/queue (an adapter): pure cores import nouns"},
		{"worker/acker/a.go", "m/worker/grouping", "worker/acker (a pure core) imports worker/grouping (a pure core): pure cores import nouns"},
		{"worker/queue/a.go", "m/worker/acker", ""},
		{"worker/queue/a.go", "m/nimbus/scheduler", "worker/queue (an adapter) imports nimbus/scheduler (a pure core): adapters import nouns, and pure cores and adapters of their own family"},
		{"worker/queue/a.go", "m/worker", "worker/queue (an adapter) imports worker (a shell): adapters import nouns, and pure cores and adapters of their own family"},
		{"worker/queue/a_test.go", "m/worker/queue", ""},
		{"multilang/ruby/a.go", "m/multilang/protocol", ""},
		{"internal/coord/zk/a.go", "m/internal/coord", ""},
		{"nimbus/blobstore/a.go", "m/internal/coord", ""},
		{"nimbus/a.go", "m/nimbus/scheduler", ""},
		{"nimbus/a.go", "m/thrift", ""},
		{"nimbus/a.go", "m/supervisor", "nimbus (a shell) imports supervisor (a shell)" + aShell},
		{"nimbus/a.go", "m/worker/acker", "nimbus (a shell) imports worker/acker (a pure core)" + aShell},
		{"nimbus/a.go", "m/thrift/gen/storm", "nimbus imports thrift/gen/storm" + theGen},
		{"nimbus/handler/a.go", "m/thrift/gen/storm", ""},
		{"internal/wire/a.go", "m/thrift/gen/storm", ""},
		{"thrift/a.go", "m/thrift/gen/storm", ""},
		{"worker/executor/a.go", "m/worker/stats", ""},
		{"worker/a.go", "m/multilang", ""},
		{"worker/a.go", "m/sr3", "worker imports sr3" + anSr3},
		{"sr3/a.go", "m/sr3/ring", ""},
		{"sr3/recovery/a.go", "m/sr3/shard", ""},
		{"sr3/recovery/a.go", "m/sr3/store", "sr3/recovery (a pure core) imports sr3/store (an adapter): pure cores import nouns"},
		{"sr3/a.go", "m/internal/assert", "sr3 imports internal/assert, but of the project it may import only: sr3/..."},
		{"sr3/a_test.go", "m/simulation", "sr3 imports simulation, which is for tests only"},
		{"topologies/words/a.go", "m/storm", ""},
		{"topologies/words/a.go", "m/worker", "topologies/words (a sample) imports worker (a shell): samples import package storm, as every user does, and their own family"},
		{"topologies/words/a.go", "m/local", "topologies/words (a sample) imports local (a composition): samples import package storm, as every user does, and their own family"},
		{"topologies/words/a_test.go", "m/local", ""},
		{"topologies/a.go", "m/topologies/words", ""},
		{"local/a.go", "m/sr3", ""},
		{"local/a.go", "m/command", "local (a composition) imports command (a composition): compositions import whatever is below them"},
		{"command/a.go", "m/local", ""},
		{"cmd/stormring/main.go", "m/topologies/words", ""},
		{"cmd/stormring/main.go", "m/local", "cmd/stormring imports local, but of the project it may import only: storm command topologies/..."},
		{"nimbus/a.go", "m/simulation", "nimbus imports simulation, which is for tests only"},
		{"nimbus/a_test.go", "m/simulation", ""},
		{"nimbus/a.go", "m/nowhere", "imports nowhere, which is not in the house"},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.imports, func(t *testing.T) {
			tr := fake(t, map[string]string{tt.file: "package p\n\nimport _ \"" + tt.imports + "\"\n"})
			if got := checkImports(tr); tt.want == "" {
				expect(t, got)
			} else {
				expect(t, got, tt.file+":3: "+tt.want)
			}
		})
	}
}

func TestUnknownPackage(t *testing.T) {
	tr := fake(t, map[string]string{
		"internal/odds/a.go":          "package odds",
		"internal/odds/testdata/b.go": "not Go",
		"tools/go.mod":                "module m/tools",
		"tools/a.go":                  "not Go",
		".ci/a.go":                    "not Go",
	})
	expect(t, checkImports(tr), "internal/odds/a.go: package internal/odds is not in the house: give it a row in internal/lint/house_test.go")
}

func TestCheckPure(t *testing.T) {
	const impure = `package acker

import (
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	clk "time"
)

func f(r *rand.Rand) (clk.Duration, http.Header) {
	go f(nil)
	var n atomic.Int64
	_ = rand.New(rand.NewPCG(1, 2)).IntN(3) + r.IntN(3) + rand.IntN(3)
	return clk.Since(clk.Time{}), nil
}
`
	expect(t, checkPure(fake(t, map[string]string{
		"worker/acker/a.go":      impure,
		"worker/acker/a_test.go": impure,
		"worker/queue/a.go":      impure,
	})),
		"worker/acker/a.go:5: worker/acker is a pure core and imports net/http",
		"worker/acker/a.go:6: worker/acker is a pure core and imports sync/atomic",
		"worker/acker/a.go:14: worker/acker is a pure core and calls time.Since: take the time as an argument",
		"worker/acker/a.go:13: worker/acker is a pure core and calls rand.IntN: take a *rand.Rand as an argument",
		"worker/acker/a.go:11: worker/acker is a pure core and starts a goroutine")

	expect(t, checkPure(fake(t, map[string]string{
		"worker/stats/a.go": "package stats\n\nimport (\n\t\"sync\"\n\t\"sync/atomic\"\n)\n",
	})), "worker/stats/a.go:4: worker/stats is a pure core and imports sync")
}

func TestCheckStyle(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("\n", n) }
	const doc = "// Package p is p.\npackage p\n"
	todo := "// TO" + "DO: later\n"
	tests := []struct {
		name string
		file string
		text string
		want []string
	}{
		{"fine", "p/a.go", doc + "// F does.\nfunc F() {}\n", nil},
		{"no package comment", "p/a.go", "package p\n", []string{"p: no package comment; tell a newcomer what it is for and where to start"}},
		{"tests need none", "p/a_test.go", "package p\n", nil},
		{"vague", "internal/util/a.go", "// Package util is odd.\npackage util\n", []string{`internal/util: "util" does not say what is in it`}},
		{"long file", "p/a.go", doc + lines(599), []string{"p/a.go: 601 lines, more than 600; split it by concept"}},
		{"file at the limit", "p/a.go", doc + lines(598), nil},
		{"long function", "p/a.go", doc + "func f() {" + lines(70) + "}\n", []string{"p/a.go:3: f has 71 lines, more than 70"}},
		{"function at the limit", "p/a.go", doc + "func f() {" + lines(69) + "}\n", nil},
		{"long test", "p/a_test.go", doc + "func f() {" + lines(70) + "}\n", []string{"p/a_test.go:3: f has 71 lines, more than 70"}},
		{"long table in a test", "p/a_test.go", doc + "func f() {\n_ = []any{[]any{" + lines(300) + "}}" + lines(68) + "}\n", nil},
		{"long test beside a table", "p/a_test.go", doc + "func f() {\n_ = []any{[]any{" + lines(300) + "}}" + lines(69) + "}\n", []string{"p/a_test.go:3: f has 71 lines, more than 70"}},
		{"wide interface", "p/a.go", doc + "type i interface{ a(); b(); c(); d(); e(); f(); g(); h(); j() }\n", []string{"p/a.go:3: an interface of 9 methods, more than 8; declare what is used where it is used"}},
		{"marker", "p/a.go", doc + todo, []string{"p/a.go:3: TO" + "DO: do it, or write an issue"}},
		{"init", "p/a.go", doc + "func init() {}\n", []string{"p/a.go:3: init runs behind everybody's back; call a function from where it is needed"}},
		{"a method may be called init", "p/a.go", doc + "func (t *t) init() {}\n", nil},
		{"sleep", "p/a_test.go", "package p\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", []string{"p/a_test.go:5: a test sleeps; wait for the event, or use testing/synctest or internal/clock"}},
		{"no comments", "p/a.go", doc + "func F() {}\n\ntype T[A any] int\n\nfunc (*T[A]) M() {}\n\nvar V, w = 1, 2\n", []string{
			"p/a.go:3: F is exported and has no comment",
			"p/a.go:5: T is exported and has no comment",
			"p/a.go:7: M is exported and has no comment",
			"p/a.go:9: V is exported and has no comment",
		}},
		{"one comment for a block", "p/a.go", doc + "// All of them.\nconst (\n\tA = 1\n\tB = 2\n)\n", nil},
		{"methods of hidden types", "p/a.go", doc + "type t int\n\nfunc (t) M() {}\n", nil},
		{"main exports nothing", "p/a.go", "// Command p is p.\npackage main\n\nfunc F() {}\n", nil},
		{"generated", "p/a.go", "// Code generated by x. DO NOT EDIT.\n\npackage p\n\nfunc F() {" + lines(700) + "}\nfunc init() {}\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, checkStyle(fake(t, map[string]string{tt.file: tt.text})), tt.want...)
		})
	}
}
