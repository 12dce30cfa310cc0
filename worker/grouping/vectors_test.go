package grouping

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
)

// The vectors in testdata were computed by a JVM (OpenJDK 17).

// javaValue is a value of a known Java type; no field set is null.
type javaValue struct {
	String  *string              `json:"s"`
	Integer *int32               `json:"i"`
	Long    *int64               `json:"l"`
	Short   *int16               `json:"short"`
	Byte    *int8                `json:"byte"`
	Boolean *bool                `json:"z"`
	Double  *string              `json:"d"` // bits in hex
	Float   *string              `json:"f"` // bits in hex
	Bytes   *string              `json:"x"` // hex
	Ints    []int32              `json:"ints"`
	Longs   []int64              `json:"longs"`
	Big     *string              `json:"big"`
	Date    *int64               `json:"date"` // ms
	UUID    *string              `json:"uuid"` // hex
	List    []javaValue          `json:"list"`
	Map     map[string]javaValue `json:"map"`
}

func (j javaValue) value(tb testing.TB) storm.Value {
	tb.Helper()
	switch {
	case j.String != nil:
		return storm.String(*j.String)
	case j.Integer != nil:
		return storm.Int32(*j.Integer)
	case j.Long != nil:
		return storm.Int(*j.Long)
	case j.Short != nil:
		return storm.Any(*j.Short)
	case j.Byte != nil:
		return storm.Any(*j.Byte)
	case j.Boolean != nil:
		return storm.Bool(*j.Boolean)
	case j.Double != nil:
		return storm.Float(math.Float64frombits(parseBits(tb, *j.Double)))
	case j.Float != nil:
		return storm.Any(math.Float32frombits(uint32(parseBits(tb, *j.Float))))
	case j.Bytes != nil:
		return storm.Bytes(parseHex(tb, *j.Bytes))
	case j.Ints != nil:
		return storm.Any(j.Ints)
	case j.Longs != nil:
		return storm.Any(j.Longs)
	case j.Big != nil:
		x, ok := new(big.Int).SetString(*j.Big, 10)
		if !ok {
			tb.Fatalf("no integer: %q", *j.Big)
		}
		return storm.Any(x)
	case j.Date != nil:
		return storm.Any(time.UnixMilli(*j.Date))
	case j.UUID != nil:
		return storm.Any([16]byte(parseHex(tb, *j.UUID)))
	case j.List != nil:
		return storm.List(javaValues(tb, j.List)...)
	case j.Map != nil:
		m := make(map[string]storm.Value, len(j.Map))
		for k, v := range j.Map {
			m[k] = v.value(tb)
		}
		return storm.Map(m)
	default:
		return storm.Nil()
	}
}

func javaValues(tb testing.TB, js []javaValue) []storm.Value {
	tb.Helper()
	vs := make([]storm.Value, len(js))
	for i, j := range js {
		vs[i] = j.value(tb)
	}
	return vs
}

func parseBits(tb testing.TB, s string) uint64 {
	tb.Helper()
	u, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func parseHex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// vectors reads a file of testdata, one JSON value a line.
func vectors[T any](t *testing.T, name string, atLeast int) []T {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v in %s", name, err, lines.Bytes())
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(all) < atLeast {
		t.Fatalf("%s: %d vectors, want at least %d", name, len(all), atLeast)
	}
	return all
}

var testOrigin = &track.Origin{Component: "spout", Stream: "default", Task: 7}

func tuple(vals ...storm.Value) *storm.Tuple {
	t := storm.NewTuple(testOrigin, 0, nil, vals...)
	return &t
}

// tasks are n task ids with gaps, ascending.
func tasks(n int) []storm.TaskID {
	ids := make([]storm.TaskID, n)
	for i := range ids {
		ids[i] = storm.TaskID(10 + 3*i)
	}
	return ids
}

func positions(n int) []int {
	ps := make([]int, n)
	for i := range ps {
		ps[i] = i
	}
	return ps
}

func mustNew(tb testing.TB, s Spec) *Grouping {
	tb.Helper()
	g, err := New(s)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func TestFieldsAsOnJVM(t *testing.T) {
	type vector struct {
		Values []javaValue `json:"v"`
		Hash   int32       `json:"h"`
		Index  [3]int      `json:"i"` // of 2, 3, 7 targets
	}
	for i, v := range vectors[vector](t, "hash.jsonl", 250) {
		vals := javaValues(t, v.Values)
		if got := DeepHash(vals...); got != v.Hash {
			t.Errorf("vector %d: DeepHash(%v) = %d, want %d", i, vals, got, v.Hash)
		}
		for k, n := range []int{2, 3, 7} {
			if got := int(floorMod(v.Hash, int32(n))); got != v.Index[k] {
				t.Errorf("vector %d: index of %d among %d = %d, want %d", i, v.Hash, n, got, v.Index[k])
			}
			if len(vals) == 0 {
				continue // no fields is Global
			}
			g := mustNew(t, Spec{Kind: Fields, Fields: positions(len(vals)), Targets: tasks(n)})
			if got := g.One(tuple(vals...)); got != v.Index[k] {
				t.Errorf("vector %d: One(%v) of %d = %d, want %d", i, vals, n, got, v.Index[k])
			}
		}
	}
}

func TestJavaRandomAsOnJVM(t *testing.T) {
	type vector struct {
		Seed  int64   `json:"seed"`
		N     int32   `json:"n"`
		Draws []int32 `json:"draws"`
	}
	for _, v := range vectors[vector](t, "random.jsonl", 72) {
		r := newJavaRandom(v.Seed)
		for i, want := range v.Draws {
			if got := r.nextInt(v.N); got != want {
				t.Errorf("seed %d, draw %d below %d = %d, want %d", v.Seed, i, v.N, got, want)
			}
		}
	}
}

func TestPartialKeyCandidatesAsOnJVM(t *testing.T) {
	type vector struct {
		Values     []javaValue `json:"v"`
		Fields     bool        `json:"fields"`
		Hash       int32       `json:"h"`
		Candidates [][3]int32  `json:"c"` // number of targets, first, second
	}
	for i, v := range vectors[vector](t, "partialkey.jsonl", 250) {
		vals := javaValues(t, v.Values)
		s := Spec{Kind: PartialKey, Targets: tasks(4)}
		if v.Fields {
			s.Fields = positions(len(vals))
		}
		g := mustNew(t, s)
		if got := g.keyHash(tuple(vals...)); got != v.Hash {
			t.Errorf("vector %d: key hash of %v (fields: %t) = %d, want %d", i, vals, v.Fields, got, v.Hash)
		}
		for _, c := range v.Candidates {
			if a, b := candidates(v.Hash, c[0]); a != c[1] || b != c[2] {
				t.Errorf("vector %d: candidates among %d = %d, %d, want %d, %d", i, c[0], a, b, c[1], c[2])
			}
		}
	}
}

func TestPartialKeyPicksAsOnJVM(t *testing.T) {
	type vector struct {
		N     int      `json:"n"`
		Keys  []string `json:"keys"`
		Picks []int    `json:"picks"`
	}
	for _, v := range vectors[vector](t, "picks.jsonl", 5) {
		g := mustNew(t, Spec{Kind: PartialKey, Fields: []int{1}, Targets: tasks(v.N)})
		for i, key := range v.Keys {
			if got := g.One(tuple(storm.Int(int64(i)), storm.String(key))); got != v.Picks[i] {
				t.Fatalf("%d targets, tuple %d (%q) goes to %d, want %d", v.N, i, key, got, v.Picks[i])
			}
		}
	}
}
