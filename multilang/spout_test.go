package multilang

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/storm"
)

// spoutRig is the emitter of a spout.
type spoutRig struct {
	*rig
	ids []storm.Value
}

// Emit implements storm.SpoutEmitter.
func (r *spoutRig) Emit(stream int, id storm.Value, t *storm.Tuple) []storm.TaskID {
	r.ids = append(r.ids, id)
	return r.rig.Emit(stream, t)
}

// EmitDirect implements storm.SpoutEmitter.
func (r *spoutRig) EmitDirect(stream int, task storm.TaskID, _ storm.Value, t *storm.Tuple) {
	r.rig.EmitDirect(stream, task, t)
}

// Pending implements storm.SpoutEmitter.
func (r *spoutRig) Pending() int { return len(r.ids) }

func (r *spoutRig) open(s Spec, way string) *ShellSpout {
	r.t.Helper()
	return r.openScript(s, "spout.py", way)
}

func (r *spoutRig) openScript(s Spec, argv ...string) *ShellSpout {
	r.t.Helper()
	r.fill(&s, argv)
	p := NewSpout(s)
	var err error
	r.on(func() { err = p.Open(r.ctx, storm.NewSpoutOutputCollector(r, "shell", shellStreams)) })
	r.t.Cleanup(func() {
		r.stop()
		r.on(func() { _ = p.Close() })
		close(r.posts)
		<-r.done
	})
	if err != nil {
		r.t.Fatalf("Open: %v\nlog:\n%s", err, r.logs.String())
	}
	return p
}

// next calls NextTuple until ok reports true.
func (r *spoutRig) next(p *ShellSpout, what string, ok func() bool) {
	r.t.Helper()
	r.until(what, func() bool {
		r.mu.Unlock()
		defer r.mu.Lock()
		r.on(func() {
			if err := p.NextTuple(); err != nil {
				r.ReportError(err)
			}
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		return ok()
	})
}

func newSpoutRig(t *testing.T) *spoutRig {
	t.Helper()
	return &spoutRig{rig: newRig(t, nil)}
}

func TestSpout(t *testing.T) {
	for _, way := range []string{"plain", "asks", "pipeline"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			r := newSpoutRig(t)
			p := r.open(Spec{}, way)
			r.on(p.Activate)
			r.next(p, "five tuples", func() bool { return len(r.emitted) == 5 })
			if want := []string{"0 [next 0] <", "0 [next 1] <", "0 [next 2] <", "0 [next 3] <", "0 [next 4] <"}; !slices.Equal(r.emitted, want) {
				t.Errorf("emitted %q", r.emitted)
			}
			r.on(func() {
				for i, id := range r.ids {
					if i%2 == 0 {
						p.Ack(id)
					} else {
						p.Fail(id)
					}
				}
				p.Deactivate()
			})
			r.until("all of them are known", func() bool { return strings.Contains(r.logs.String(), "deactivate") })
			var got []string
			for line := range strings.Lines(r.logs.String()) {
				if _, rest, ok := strings.Cut(line, "msg="); ok {
					text, _, _ := strings.Cut(rest, " from=child")
					got = append(got, strings.Trim(text, `"`))
				}
			}
			if want := []string{"activate None", "ack 0", "fail '1'", "ack {'n': 2}", "fail [3, 1.0]", "ack 4.5", "deactivate None"}; !slices.Equal(got, want) {
				t.Errorf("the child was told %q", got)
			}
		})
	}
}

func TestSpoutThatDies(t *testing.T) {
	t.Parallel()
	r := newSpoutRig(t)
	p := r.open(Spec{}, "dies")
	r.on(p.Activate)
	r.next(p, "the next child's tuples", func() bool { return len(r.emitted) >= 4 })
	r.until("the error", r.says("exited with code 4; it is started again"))
	// The ids of the first child are nothing to the second.
	r.on(func() {
		p.Ack(r.ids[0])
		p.Fail(r.ids[3])
	})
	r.until("the fail is known", func() bool { return strings.Contains(r.logs.String(), "fail 0") })
	if log := r.logs.String(); strings.Contains(log, "ack 0") || strings.Count(log, "activate None") != 2 {
		t.Errorf("log:\n%s", log)
	}
}

func TestSpoutThatHangs(t *testing.T) {
	t.Parallel()
	r := newSpoutRig(t)
	p := r.open(Spec{tune: func(s *settings) { s.timeout = 300 * time.Millisecond }}, "hangs")
	r.on(p.Activate)
	start := time.Now()
	r.on(func() {
		if err := p.NextTuple(); err != nil {
			t.Error(err)
		}
	})
	if took := time.Since(start); took > time.Second {
		t.Errorf("NextTuple took %v", took)
	}
	r.until("the error", r.says("did not answer for", "(it is asleep)"))
}

// TestIdleSpoutIsNotKilled is about a spout that is not asked for anything, as
// when it has too much pending.
func TestIdleSpoutIsNotKilled(t *testing.T) {
	t.Parallel()
	r := newSpoutRig(t)
	p := r.open(Spec{tune: func(s *settings) { s.timeout = 100 * time.Millisecond }}, "plain")
	<-time.After(500 * time.Millisecond)
	r.next(p, "a tuple", func() bool { return len(r.emitted) > 0 })
	if len(r.errs) > 0 {
		t.Errorf("errors %q", r.errs)
	}
}
