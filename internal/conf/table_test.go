package conf

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// keysIn are the values of all constants in a Go file.
func keysIn(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, v := range spec.Values {
			key, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		return false
	})
	return keys
}

func TestEveryKeyHasItsRow(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range []string{"keys.go", "../../storm/config_keys.go"} {
		keys := keysIn(t, path)
		if len(keys) < 50 {
			t.Fatalf("only %d keys found in %s", len(keys), path)
		}
		for _, key := range keys {
			if table[key] == nil {
				t.Errorf("%s has key %s; give it a row in table_topology.go or table_cluster.go", path, key)
			}
			seen[key] = true
		}
	}
	for key := range table {
		if !seen[key] {
			t.Errorf("the row of %s has no constant in keys.go or storm/config_keys.go", key)
		}
	}
}

func TestDefaultsPassTheirOwnChecks(t *testing.T) {
	for key, s := range table {
		if s.nullable() {
			continue
		}
		if _, err := s.parse(s.def); err != nil {
			t.Errorf("default of %s: %v", key, err)
		}
	}
}

func TestDocs(t *testing.T) {
	docs := Docs()
	if len(docs) != len(table) {
		t.Fatalf("%d docs of %d keys", len(docs), len(table))
	}
	for i, d := range docs {
		if d.Text == "" || d.Wants == "" {
			t.Errorf("%s says nothing of itself", d.Key)
		}
		if i > 0 && docs[i-1].Key >= d.Key {
			t.Errorf("%s is out of order", d.Key)
		}
	}
}

func TestComponentKeysAreStormsAllowList(t *testing.T) {
	want := map[string]bool{
		"topology.debug":                                     true,
		"topology.max.spout.pending":                         true,
		"topology.max.task.parallelism":                      true,
		"topology.transactional.id":                          true,
		"topology.tick.tuple.freq.secs":                      true,
		"topology.sleep.spout.wait.strategy.time.ms":         true,
		"topology.spout.wait.strategy":                       true,
		"topology.bolts.window.length.count":                 true,
		"topology.bolts.window.length.duration.ms":           true,
		"topology.bolts.window.sliding.interval.count":       true,
		"topology.bolts.window.sliding.interval.duration.ms": true,
		"topology.bolts.tuple.timestamp.max.lag.ms":          true,
		"topology.bolts.watermark.event.interval.ms":         true,
		"topology.bolts.late.tuple.stream":                   true,
		"topology.bolts.message.id.field.name":               true,
		"topology.state.provider":                            true,
		"topology.state.provider.config":                     true,
		"topology.sr3.recovery":                              true,
		"topology.sr3.stateful":                              true,
		"topology.sr3.state.max.bytes":                       true,
		"topology.sr3.resume":                                true,
		"topology.sr3.replicas":                              true,
		"topology.sr3.shard.bytes":                           true,
		"topology.sr3.star.fanin":                            true,
		"topology.sr3.star.max.bytes":                        true,
		"topology.sr3.line.length":                           true,
		"topology.sr3.tree.fanin":                            true,
		"topology.sr3.latency.sensitive":                     true,
		"topology.recovery.pairs":                            true,
		"topology.shellbolt.max.pending":                     true,
		"topology.subprocess.timeout.secs":                   true,
		"topology.multilang.serializer":                      true,
		"stormring.multilang.strict":                         true,
		"stormring.multilang.max.restarts":                   true,
		"stormring.multilang.max.message.bytes":              true,
		"stormring.multilang.start.timeout.secs":             true,
	}
	for key, s := range table {
		if s.component != want[key] {
			t.Errorf("%s: component %t, want %t", key, s.component, want[key])
		}
	}
}
