package peers_test

import (
	"strings"
	"testing"
)

// TestSpout goes through what a spout can do. Those of 1.0 know nothing of
// activate; node's does not even answer it.
func TestSpout(t *testing.T) {
	each(t, all, func(t *testing.T, p peer) {
		r := spoutRig{newRig(t, said)}
		s := r.spout(p.spec(t, "spout"))
		r.on(s.Activate)
		r.next(s, "emit other", 1)
		got := r.take()
		if p.release == "2.8" {
			if got[0] != "log INFO active" {
				t.Errorf("got %q first", got[0])
			}
			got = got[1:]
		}
		want := []string{
			"emit default [next 0] <", "emit default [next 1] <", "emit default [next 2] <", "emit default [next 3] <", "emit default [next 4] <",
			"to 3 straight [d] <", "emit default [free 6] <", "emit other [[2 3]] <",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got %q", got)
		}
		if n := len(r.trees()); n != 8 || r.trees()[5].IsNil() || !r.trees()[6].IsNil() || !r.trees()[7].IsNil() {
			t.Fatalf("%d ids: %v", n, r.trees())
		}
		r.on(func() {
			for _, id := range r.trees()[:6] {
				s.Ack(id)
			}
			s.Fail(r.trees()[2])
			s.Deactivate()
			s.Activate()
		})
		r.next(s, "emit default [again", 1)
		ends := []string{`acked "s"`, "acked 1", "acked 2.5", `acked {"a":[null]}`, "acked [1]", `acked "direct"`, "failed 2.5"}
		switch p.ext {
		case ".py":
			ends = []string{"acked 's'", "acked 1", "acked 2.5", "acked {'a': [None]}", "acked [1]", "acked 'direct'", "failed 2.5"}
		case ".rb":
			ends[3] = `acked {"a"=>[nil]}`
		}
		for i := range ends {
			ends[i] = "log INFO " + ends[i]
		}
		ends = append(ends, "emit default [again 0] <")
		if p.release == "2.8" {
			r.next(s, "log INFO active", 1)
			ends = append(ends, "log INFO inactive", "log INFO active")
		}
		r.expect(ends...)
		if len(r.errors()) > 0 {
			t.Errorf("errors %q", r.errors())
		}
	})
}
