package peers_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

// codecs are the serializers of pystorm, and the settings that go with them.
var codecs = map[string]storm.Config{
	"json":    {"test.word": "héllo 漢"},
	"msgpack": {"test.word": "héllo 漢", "topology.multilang.serializer": "com.example.MessagePackSerializer"},
}

func eachCodec(t *testing.T, f func(t *testing.T, codec string, r *rig)) {
	t.Helper()
	for codec, conf := range codecs {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			f(t, codec, newRig(t, conf))
		})
	}
}

const greeting = `log INFO pystorm StormHandler logging enabled, so all messages at levels greater than "pystorm.log.level" (info) will be sent to Storm.`

func TestPystormBolt(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, codec string, r *rig) {
		s := pystorm.spec(t, "bolt", codec)
		s.OnMetric = func(name string, v storm.Value) { r.note(fmt.Sprintf("metric %s %v", name, v)) }
		b := r.bolt(s)
		r.await("log", 2)
		r.expect(greeting, "log INFO of shell, task 4, said héllo 漢, field op")
		r.send(b, 1, "ids", 2)
		r.await("ack", 1)
		r.expect("emit default [ids 0] <1", "emit default [ids 1] <1", "emit other [[[2 3] [2 3]]] <1", "ack 1")
		r.send(b, 2, "direct", "x")
		r.await("ack", 1)
		r.expect("to 3 straight [x] <2", "emit other [[3]] <2", "ack 2")
		r.tick(b)
		r.await("ack", 1)
		r.expect("emit other [tick] <", "ack 0")
		r.send(b, 3, "metric", 7)
		r.await("ack", 1)
		r.expect("metric size 7", "ack 3")
		r.send(b, 4, "say", "漢")
		r.await("ack", 1)
		for i, line := range r.take() {
			want := []string{
				" - pystorm.component.shell - 漢", " - other - of another",
				"log DEBUG-4 漢", "log DEBUG 漢", "log INFO 漢", "log WARN 漢", "log ERROR 漢", "ack 4",
			}
			if i >= len(want) || !strings.HasSuffix(line, want[i]) {
				t.Errorf("line %d: %q", i, line)
			}
		}
		r.send(b, 5, "show", "hello")
		r.send(b, 6, "echo", 1)
		r.await("ack", 2)
		r.expect("text hello", "ack 5", "emit default [echo 1] <6", "ack 6")
	})
}

func TestPystormValues(t *testing.T) {
	t.Parallel()
	values := []any{
		"", "é漢😀\u2028\u0000", "end", "\nend\n", true, nil, int64(0), int64(1<<53 + 1), int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64),
		1.0, 5e-324, []any{1.0, int64(1), []any{}}, map[string]any{"a": []any{int64(1), nil}, "é": map[string]any{}}, strings.Repeat("漢é ", 300<<10/6),
	}
	eachCodec(t, func(t *testing.T, codec string, r *rig) {
		b := r.bolt(pystorm.spec(t, "bolt", codec))
		for i, v := range values {
			r.send(b, i+1, "echo", v)
		}
		r.await("ack", len(values))
		if len(r.output()) != len(values) || len(r.errors()) > 0 {
			t.Fatal(r.dump())
		}
		for i, v := range values {
			got, want := r.output()[i].Value(1), storm.Any(v)
			if !equal(got, want) || got.Kind() == storm.KindFloat != (want.Kind() == storm.KindFloat) {
				t.Errorf("value %d: got %.100v (%v), want %.100v (%v)", i, got, got.Kind(), want, want.Kind())
			}
		}
	})
}

// equal compares integers beyond 64 bits, which may be of several Go types, by
// their digits.
func equal(v, w storm.Value) bool { return v.Equal(w) || v.String() == w.String() }

func TestPystormByHand(t *testing.T) {
	t.Parallel()
	r := newRig(t, said)
	b := r.bolt(pystorm.spec(t, "bolt", "manual"))
	r.await("log", 2)
	r.take()
	r.send(b, 1, "keep", nil)
	r.send(b, 2, "echo", 1)
	r.send(b, 3, "join", nil)
	r.await("ack", 2)
	r.send(b, 4, "no", nil)
	r.await("fail", 1)
	r.expect("emit default [echo 1] <", "emit default [join 2] <1,3", "ack 1", "ack 3", "fail 4")
	// pystorm fails nothing, so input 2 and this one do when it ends.
	r.send(b, 5, "crash", "on purpose")
	r.await("fail", 2)
	if r.count("fail 2") != 1 || r.count("fail 5") != 1 {
		t.Error(r.dump())
	}
}

func TestPystormCrash(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"exit", "stay"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, said)
			b := r.bolt(pystorm.spec(t, "bolt", way))
			r.send(b, 1, "pid_of", nil)
			r.send(b, 2, "crash", "on purpose")
			r.await("fail 2", 1)
			if way == "exit" {
				r.await("error process", 1) // what it gets before that fails
			}
			r.send(b, 3, "pid_of", nil)
			r.await("ack 3", 1)
			all := strings.Join(r.errors(), "\n")
			if !strings.Contains(all, "Python ValueError raised while processing Tuple") || !strings.Contains(all, "Traceback") || r.count("fail") != 1 {
				t.Error(r.dump())
			}
			same := r.output()[0].Value(0).Equal(r.output()[1].Value(0))
			if exited := strings.Contains(all, "exited with code 1; it is started again"); exited == (way == "stay") || same == exited {
				t.Errorf("the same process: %t, errors:\n%s", same, all)
			}
		})
	}
}

func TestPystormBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, said)
	b := r.bolt(pystorm.spec(t, "batch"))
	r.await("log", 1)
	for i := range 4 {
		r.send(b, i+1, []string{"a", "b"}[i%2], i)
	}
	r.take()
	r.tick(b)
	r.await("ack", 1)
	r.expect("ack 0")
	r.tick(b)
	r.await("ack", 5)
	r.expect("ack 0", "emit default [a [0 2]] <1,3", "ack 1", "ack 3", "emit default [b [1 3]] <2,4", "ack 2", "ack 4")

	// More than topology.shellbolt.max.pending in one batch.
	const n = 350
	for i := range n {
		r.send(b, i+1, "many", i)
	}
	r.tick(b)
	r.tick(b)
	r.await("ack", n+2)
	if got := r.output()[len(r.output())-1]; len(anchorsOf(&got)) != n || r.count("emit") != 1 {
		t.Error(r.dump())
	}
}

func TestPystormBatchThatCrashes(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"exit", "stay", "tickless"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, said)
			b := r.bolt(pystorm.spec(t, "batch", way))
			r.send(b, 1, "crash", 1)
			r.send(b, 2, "good", 2)
			r.send(b, 3, "crash", 3)
			if way != "tickless" {
				r.tick(b)
				r.tick(b)
			}
			if way == "stay" {
				r.await("fail", 2)
				r.tick(b)
				r.tick(b)
				r.await("ack 2", 1)
			} else {
				r.await("fail", 3)
				r.await("error process", 1)
				r.send(b, 4, "good", 4)
				if way == "exit" {
					r.tick(b)
					r.tick(b)
				}
				r.await("ack 4", 1)
			}
			if r.count("fail 1") != 1 || r.count("fail 3") != 1 || r.count("emit default [crash") != 0 || r.count("emit") != 1 ||
				slices.ContainsFunc(r.errors(), isRestart) == (way == "stay") {
				t.Error(r.dump())
			}
		})
	}
}

func isRestart(err string) bool {
	return strings.Contains(err, "exited with code 1; it is started again")
}

func TestPystormBatchesWithoutTicks(t *testing.T) {
	t.Parallel()
	r := newRig(t, said)
	b := r.bolt(pystorm.spec(t, "batch", "tickless"))
	r.await("log", 1)
	r.take()
	for i := range 3 {
		r.send(b, i+1, "a", i)
	}
	r.tick(b)
	r.await("ack", 4)
	var args []storm.Value
	for _, tp := range r.output() {
		list, _ := tp.Value(1).AsList()
		args = append(args, list...)
	}
	if got := fmt.Sprint(args); got != "[0 1 2]" || r.count("ack 0") != 1 {
		t.Errorf("batches of %s\n%s", got, r.dump())
	}
}

func TestPystormSpout(t *testing.T) {
	t.Parallel()
	eachCodec(t, func(t *testing.T, codec string, base *rig) {
		r := spoutRig{base}
		s := r.spout(pystorm.spec(t, "spout", codec))
		r.on(s.Activate)
		r.next(s, "emit other", 1)
		r.expect(greeting, "log INFO active",
			"emit default [next 0] <", "emit default [next 1] <", "emit default [next 2] <", "emit default [next 3] <", "emit default [next 4] <",
			"to 3 straight [d] <", "emit default [free 6] <", "emit other [[2 3]] <")
		r.on(func() {
			for _, id := range r.trees()[:6] {
				s.Ack(id)
			}
			s.Fail(r.trees()[2])
			s.Deactivate()
			s.Activate()
		})
		r.next(s, "log INFO active", 1)
		r.expect("log INFO acked 's'", "log INFO acked 1", "log INFO acked 2.5", "log INFO acked {'a': [None]}", "log INFO acked [1]", "log INFO acked 'direct'",
			"log INFO failed 2.5", "emit default [again 0] <", "log INFO inactive", "log INFO active")
		if len(r.errors()) > 0 {
			t.Errorf("errors %q", r.errors())
		}
	})
}

// TestSlowActivate answers later than is waited for.
func TestSlowActivate(t *testing.T) {
	t.Parallel()
	r := spoutRig{newRig(t, said)}
	s := r.spout(pystorm.spec(t, "spout", "slow"))
	r.on(s.Activate)
	r.next(s, "emit other", 1)
	r.on(func() { s.Ack(r.trees()[0]) })
	r.await("log INFO acked", 1)
	r.expect(greeting, "log INFO active",
		"emit default [next 0] <", "emit default [next 1] <", "emit default [next 2] <", "emit default [next 3] <", "emit default [next 4] <",
		"to 3 straight [d] <", "emit default [free 6] <", "emit other [[2 3]] <", "log INFO acked 's'")
}

func TestPystormSpoutThatCrashes(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"exit", "stay"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := spoutRig{newRig(t, said)}
			s := r.spout(pystorm.spec(t, "spout", "crash", way))
			r.on(s.Activate)
			r.next(s, "error", 1)
			if way == "exit" {
				r.next(s, "emit other", 2) // those of the next process
				r.until("the end of the first", func() bool { return slices.ContainsFunc(r.errors(), isRestart) })
				return
			}
			r.on(func() { s.Fail(r.trees()[1]) })
			r.next(s, "emit default [again", 1)
			if len(r.errors()) != 1 || !strings.Contains(r.errors()[0], "ValueError: on purpose") {
				t.Errorf("errors %q", r.errors())
			}
		})
	}
}

// TestPystormReliableSpout has 1000 tuples pending; one of them fails more
// often than pystorm replays it.
func TestPystormReliableSpout(t *testing.T) {
	t.Parallel()
	r := spoutRig{newRig(t, said)}
	s := r.spout(pystorm.spec(t, "reliable"))
	r.on(s.Activate)
	r.next(s, "emit", 1000)
	r.take()
	for range 3 {
		r.on(func() { s.Fail(r.trees()[len(r.trees())-1]) })
		r.await("emit", 1)
		r.expect("emit default [next 999] <")
	}
	r.on(func() {
		for _, id := range r.trees()[:999] {
			s.Ack(id)
		}
		s.Fail(r.trees()[len(r.trees())-1])
	})
	r.await("log INFO all done", 1)
	got := r.take()
	if len(got) != 2 || !strings.Contains(got[0], "Acking tuple ID 999 after it exceeded retry limit (3)") {
		t.Errorf("got %q", got)
	}
}
