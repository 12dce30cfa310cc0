package conf

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

// write puts text into a file below dir and returns its path.
func write(t *testing.T, text string, dir ...string) string {
	t.Helper()
	path := filepath.Join(dir...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// env is an environment of its own.
func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestLoadSearchesInOrder(t *testing.T) {
	dir := t.TempDir()
	workers := func(o Options) int {
		t.Helper()
		c, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		return c.Int(storm.ConfTopologyWorkers)
	}
	o := Options{Dir: dir, Getenv: env(map[string]string{"HOME": filepath.Join(dir, "home")})}
	if got := workers(o); got != 1 {
		t.Errorf("without any file: %d workers, want the default", got)
	}
	write(t, "topology.workers: 2", dir, "home", ".storm", "storm.yaml")
	if got := workers(o); got != 2 {
		t.Errorf("from ~/.storm: %d workers, want 2", got)
	}
	write(t, "topology.workers: 3", dir, "conf", "storm.yaml")
	if got := workers(o); got != 3 {
		t.Errorf("from ./conf: %d workers, want 3", got)
	}
	write(t, "topology.workers: 4", dir, "etc", "storm.yaml")
	o.Getenv = env(map[string]string{"STORM_CONF_DIR": filepath.Join(dir, "etc")})
	if got := workers(o); got != 4 {
		t.Errorf("from STORM_CONF_DIR: %d workers, want 4", got)
	}
	o.File = write(t, "topology.workers: 5", dir, "mine.yaml")
	if got := workers(o); got != 5 {
		t.Errorf("from --config: %d workers, want 5", got)
	}
	o.Overrides = []string{"topology.workers=6", "topology.workers=7"}
	if got := workers(o); got != 7 {
		t.Errorf("from -c: %d workers, want 7", got)
	}
}

func TestLoadReadsYAML(t *testing.T) {
	path := write(t, `
# a comment
storm.zookeeper.servers:
    - "zk1"
    - zk2
nimbus.seeds : ["n1", "n2"]
supervisor.slots.ports: [6700, 6701]
topology.max.spout.pending: null
topology.stats.sample.rate: 1
isolation.scheduler.machines:
    words: 2
my.key: {a: [1, 2.5, x], 7: seven}
`, t.TempDir(), "storm.yaml")
	c, err := Load(Options{File: path})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"storm.zookeeper.servers":      []string{"zk1", "zk2"},
		"nimbus.seeds":                 []string{"n1", "n2"},
		"supervisor.slots.ports":       []any{int64(6700), int64(6701)},
		"topology.max.spout.pending":   nil,
		"topology.stats.sample.rate":   1.0,
		"isolation.scheduler.machines": map[string]any{"words": int64(2)},
		"my.key":                       map[string]any{"a": []any{int64(1), 2.5, "x"}, "7": "seven"},
	} {
		if got := c.Value(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, want %#v", key, got, want)
		}
	}
	if got := c.Layer("my.key"); got != path {
		t.Errorf("my.key comes from %q, want %q", got, path)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := func(text string) Options { return Options{File: write(t, text, t.TempDir(), "storm.yaml")} }
	for _, tt := range []struct {
		name string
		opts Options
		want []string
	}{
		{"missing file", Options{File: filepath.Join(dir, "none.yaml")}, []string{"none.yaml", "no such file"}},
		{"not a map", bad("- a\n- b\n"), []string{"storm.yaml: not a map"}},
		{"bad yaml", bad("a: [1,\n"), []string{"storm.yaml: not a map"}},
		{"key twice", bad("a: 1\na: 2\n"), []string{"storm.yaml: not a map", "already defined"}},
		{"wrong type", bad("topology.workers: many\n"), []string{`storm.yaml: topology.workers wants a whole number, not the string "many"`}},
		{"folder", Options{File: dir}, []string{dir}},
		{"no value", Options{Dir: dir, Getenv: env(nil), Overrides: []string{"topology.workers"}}, []string{"-c topology.workers: write it as key=value"}},
		{"no key", Options{Dir: dir, Getenv: env(nil), Overrides: []string{"=1"}}, []string{"-c =1: write it as key=value"}},
		{"wrong override", Options{Dir: dir, Getenv: env(nil), Overrides: []string{"topology.workers=two"}}, []string{`the command line: topology.workers wants a whole number, not the string "two"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(tt.opts)
			if err == nil {
				t.Fatalf("took %v", c.All())
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant it to contain %s", err, want)
				}
			}
		})
	}
}

func TestOverrides(t *testing.T) {
	tests := []struct {
		pair, key string
		want      any
	}{
		{"topology.workers=3", "topology.workers", 3},
		{"topology.workers=3.0", "topology.workers", 3},
		{" topology.debug =true", "topology.debug", true},
		{"topology.name=2024", "topology.name", "2024"},
		{"topology.name=true", "topology.name", "true"},
		{`topology.name="quoted"`, "topology.name", "quoted"},
		{"topology.name=a=b", "topology.name", "a=b"},
		{"topology.name=null", "topology.name", nil},
		{"storm.local.dir=7", "storm.local.dir", "7"},
		{`nimbus.seeds=["a","b"]`, "nimbus.seeds", []string{"a", "b"}},
		{"nimbus.seeds=a", "nimbus.seeds", []string{"a"}},
		{"my.key=hello there", "my.key", "hello there"},
		{"my.key=9007199254740993", "my.key", int64(9007199254740993)},
		{"my.key=1 2", "my.key", "1 2"},
		{"my.key=", "my.key", ""},
		{`my.key={"a": [1.5]}`, "my.key", map[string]any{"a": []any{1.5}}},
	}
	for _, tt := range tests {
		c, err := Load(Options{Dir: t.TempDir(), Getenv: env(nil), Overrides: []string{tt.pair}})
		if err != nil {
			t.Errorf("%s: %v", tt.pair, err)
			continue
		}
		if got := c.Value(tt.key); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %#v, want %#v", tt.pair, got, tt.want)
		}
	}
}

func TestParseJSON(t *testing.T) {
	for text, want := range map[string]map[string]any{
		"":       {},
		"null":   {},
		" {} \n": {},
		`{"topology.workers": 2, "big": 9007199254740993, "f": 1.5, "huge": 1e400, "m": {"a": [1]}}`: {
			"topology.workers": int64(2), "big": int64(9007199254740993), "f": 1.5, "huge": "1e400", "m": map[string]any{"a": []any{int64(1)}},
		},
	} {
		got, err := ParseJSON(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v\nwant %#v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"[1]":   "the configuration is JSON, but not an object",
		"{":     "the configuration is not JSON: unexpected EOF",
		"{} {}": "the configuration is not JSON: something follows the value",
	} {
		if _, err := ParseJSON(text); fmt.Sprint(err) != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// Whatever is submitted, it is either refused or becomes a configuration that
// survives the way to a worker.
func FuzzParseJSON(f *testing.F) {
	f.Add(`{"topology.workers": 2, "my.key": [1, 2.5, null, {"a": "b"}]}`)
	f.Add(`{"topology.environment": {"A": "b"}, "supervisor.slots.ports": [1, 1]}`)
	f.Add(`{"topology.users": "ann", "x": 1e999}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := ParseJSON(text)
		if err != nil {
			return
		}
		c, err := Defaults().Topology(values)
		if err != nil {
			return
		}
		sent, err := json.Marshal(c.All())
		if err != nil {
			t.Fatalf("%q cannot be sent on: %v", text, err)
		}
		got, err := ParseJSON(string(sent))
		if err != nil {
			t.Fatalf("%q was sent on as %s: %v", text, sent, err)
		}
		arrived, err := Defaults().Topology(got)
		if err != nil {
			t.Fatalf("%q was refused after it was sent on as %s: %v", text, sent, err)
		}
		again, err := json.Marshal(arrived.All())
		if err != nil || string(again) != string(sent) {
			t.Fatalf("%q arrived as %s (%v), sent %s", text, again, err, sent)
		}
	})
}

// Any file is either refused or loaded; none crashes a daemon.
func FuzzParseYAML(f *testing.F) {
	f.Add([]byte("topology.workers: 2\nnimbus.seeds: [a, b]\n"))
	f.Add([]byte("a: &x {b: 1}\nc: *x\n"))
	f.Add([]byte("? [1, 2]\n: x\n---\nb: 0x10\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		values, err := parseYAML(text)
		if err != nil {
			return
		}
		c, err := Defaults().With("file", values)
		if err != nil {
			return
		}
		for key := range values {
			if _, ok := c.All()[key]; !ok {
				t.Fatalf("key %q was lost", key)
			}
		}
	})
}
