package peers_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/storm"
)

// said is what each test bolt gets to say.
var said = storm.Config{"test.word": "héllo 漢"}

// expect compares what was recorded.
func (r *rig) expect(want ...string) {
	r.t.Helper()
	if got := r.take(); !slices.Equal(got, want) {
		r.t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestBolt goes through what a bolt can do. The two peers of 1.0 name no levels
// and send null for the anchors that they have not.
func TestBolt(t *testing.T) {
	each(t, all, func(t *testing.T, p peer) {
		r := newRig(t, said)
		b := r.bolt(p.spec(t, "bolt"))
		r.await("log", 1)
		r.expect("log INFO of shell, task 4, said héllo 漢")
		r.send(b, 1, "ids", 3)
		r.await("ack", 1)
		r.expect("emit default [ids 0] <1", "emit default [ids 1] <1", "emit default [ids 2] <1",
			"emit other [[[2 3] [2 3] [2 3]]] <1", "ack 1")
		r.send(b, 2, "direct", "x")
		r.await("ack", 1)
		r.expect("to 3 straight [x] <2", "ack 2")
		r.send(b, 3, "fail", nil)
		r.await("fail", 1)
		r.expect("fail 3")
		r.send(b, 4, "unanchored", 5)
		r.await("ack", 1)
		r.expect("emit default [unanchored 5] <", "ack 4")
		r.send(b, 5, "report", "it is \"so\"")
		r.await("ack", 1)
		r.expect(`error the child reports: it is "so"`, "ack 5")
		r.tick(b)
		r.await("ack", 1)
		r.expect("emit other [tick] <", "ack 0")
		if p == oldNode {
			return // it knows one anchor, and no levels
		}
		r.send(b, 6, "keep", nil)
		r.send(b, 7, "keep", nil)
		r.send(b, 8, "join", nil)
		r.await("ack", 3)
		r.expect("emit default [join 3] <6,7,8", "ack 6", "ack 7", "ack 8")
		r.send(b, 9, "log", nil)
		r.await("ack", 1)
		r.expect("log DEBUG-4 a", "log DEBUG b", "log INFO c", "log WARN d", "log ERROR e 漢", "ack 9")
	})
}

// TestWrongEmission has two tuples that cannot be. Their input fails, and emit
// returns all the same.
func TestWrongEmission(t *testing.T) {
	each(t, current, func(t *testing.T, p peer) {
		r := newRig(t, said)
		b := r.bolt(p.spec(t, "bolt"))
		r.send(b, 1, "wrong", nil)
		r.await("error", 2)
		r.await("fail 1", 1)
		r.send(b, 2, "echo", 1)
		r.await("ack 2", 1)
		if n := r.count("ack 1") + r.count("emit default [only"); n != 0 {
			t.Error(r.dump())
		}
		for i, part := range []string{`stream "default"`, `stream "nowhere"`} {
			if !strings.Contains(r.errors()[i], part) {
				t.Errorf("error %q names no %s", r.errors()[i], part)
			}
		}
	})
}

// TestValues sends values there and back. Where a language has no such numbers,
// its own are told.
func TestValues(t *testing.T) {
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	large := strings.Repeat("漢é ", 300<<10/6)
	deep := map[string]any{"a": []any{int64(1), "two", nil, []any{}, map[string]any{}}, "é": map[string]any{"b": true}}
	values := []any{
		"", "plain", "é漢😀\u2028\u0000\x7f", "end", "\nend\n", `"\/`, "\r\n\t", true, false, nil,
		int64(0), int64(-1), int64(1<<53 - 1), int64(1<<53 + 1), int64(math.MaxInt64), int64(math.MinInt64), huge,
		1.0, -0.5, 0.1, 1e300, 5e-324, []any{1.0, int64(1)}, deep, large,
	}
	// Node has doubles only, and writes them with the fewest digits that tell one.
	big63, _ := new(big.Int).SetString("9223372036854776000", 10)
	doubles := map[int]any{
		13: int64(1 << 53), 14: big63, 15: new(big.Int).Neg(big63), 16: 1.2345678901234568e+29, 17: int64(1), 22: []any{int64(1), int64(1)},
	}
	each(t, current, func(t *testing.T, p peer) {
		r := newRig(t, said)
		b := r.bolt(p.spec(t, "bolt"))
		for i, v := range values {
			r.send(b, i+1, "echo", v)
		}
		r.await("ack", len(values))
		if len(r.output()) != len(values) {
			t.Fatalf("%d tuples\n%s", len(r.output()), r.dump())
		}
		for i, v := range values {
			if other, ok := doubles[i]; ok && p == node {
				v = other
			}
			got, want := r.output()[i].Value(1), storm.Any(v)
			if !got.Equal(want) || got.Kind() != want.Kind() {
				t.Errorf("value %d: got %.100v (%v), want %.100v (%v)", i, got, got.Kind(), want, want.Kind())
			}
		}
		if len(r.errors()) > 0 {
			t.Errorf("errors %q", r.errors())
		}
	})
}

// TestPrint has bolts print what is no message.
func TestPrint(t *testing.T) {
	each(t, current, func(t *testing.T, p peer) {
		r := newRig(t, said)
		b := r.bolt(p.spec(t, "bolt"))
		r.await("log", 1)
		r.take()
		for i, text := range []string{"hello", `{"x": 1}`, "end", "1", "", "two\nlines", "null", "[1]"} {
			r.send(b, i+1, "show", text)
			r.await("ack", 1)
			var want []string
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line != "" {
					want = append(want, "text "+line)
				}
			}
			r.expect(append(want, fmt.Sprintf("ack %d", i+1))...)
		}
		r.send(b, 99, "echo", 1)
		r.await("ack", 1)
		r.expect("emit default [echo 1] <99", "ack 99")
	})
}

// TestCrash has a bolt end with an exception. Its tuples fail, the reason is
// told, and the next process goes on.
func TestCrash(t *testing.T) {
	each(t, current, func(t *testing.T, p peer) {
		r := newRig(t, said)
		b := r.bolt(p.spec(t, "bolt"))
		r.send(b, 1, "keep", nil)
		r.send(b, 2, "crash", "on purpose")
		r.await("fail", 2)
		r.send(b, 3, "echo", "again")
		r.await("ack 3", 1)
		all := strings.Join(r.errors(), "\n")
		for _, part := range []string{"on purpose", "bolt" + p.ext, "it is started again in 50ms"} {
			if !strings.Contains(all, part) {
				t.Errorf("no %q in the errors:\n%s", part, all)
			}
		}
		if r.count("fail 1") != 1 || r.count("fail 2") != 1 || r.count("log INFO of shell") != 2 {
			t.Error(r.dump())
		}
	})
}

// TestIdle leaves bolts and spouts alone for longer than a child may be silent.
// One of the spouts is deactivated, which it does not answer.
func TestIdle(t *testing.T) {
	t.Parallel()
	conf := storm.Config{"test.word": "x", "topology.subprocess.timeout.secs": 1}
	var checks []func() // after all of them have waited at the same time
	for _, p := range append([]peer{pystorm}, current...) {
		r, s := newRig(t, conf), spoutRig{newRig(t, conf)}
		b, source := r.bolt(p.spec(t, "bolt")), s.spout(p.spec(t, "spout"))
		checks = append(checks, func() {
			r.send(b, 1, "echo", 1)
			r.await("ack 1", 1)
			s.next(source, "emit", 1)
			if errs := slices.Concat(r.errors(), s.errors()); len(errs) > 0 {
				t.Errorf("%s: errors %q", p.name, errs)
			}
		})
	}
	r := spoutRig{newRig(t, conf)}
	old := r.spout(oldNode.spec(t, "spout"))
	r.on(old.Activate)
	r.next(old, "emit", 1)
	r.on(func() {
		old.Deactivate()
		old.Ack(r.trees()[0])
	})
	<-time.After(2500 * time.Millisecond)
	for _, check := range checks {
		check()
	}
	r.await(`log INFO acked "s"`, 1) // though it is deactivated
	r.on(old.Activate)
	r.next(old, "emit", 2)
	if len(r.errors()) > 0 {
		t.Errorf("errors %q", r.errors())
	}
}

// TestNaN has Python write what JSON has no word for.
func TestNaN(t *testing.T) {
	t.Parallel()
	r := newRig(t, said)
	b := r.bolt(python.spec(t, "bolt"))
	r.send(b, 1, "nan", nil)
	r.await("fail 1", 1)
	r.send(b, 2, "echo", 1)
	r.await("ack 2", 1)
	if len(r.errors()) != 1 || !strings.Contains(r.errors()[0], `field "arg"`) || r.count("ack 1") != 0 {
		t.Error(r.dump())
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t, said)
	s := python.spec(t, "bolt")
	s.OnMetric = func(name string, v storm.Value) { r.note(fmt.Sprintf("metric %s %v", name, v)) }
	b := r.bolt(s)
	r.send(b, 1, "metric", []any{int64(1), "two"})
	r.await("ack", 1)
	r.expect("log INFO of shell, task 4, said héllo 漢", "metric size [1 two]", "ack 1")
}
