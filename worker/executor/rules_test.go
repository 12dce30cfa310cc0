package executor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stormring/stormring/storm"
)

// rule is one of the rules of at-least-once processing, played on a small
// graph: each step does something and says what the components then note.
type rule struct {
	name  string
	set   settings
	graph func(b *storm.TopologyBuilder, c *cast)
	steps []step
}

type step struct {
	do   func(r *rig)
	want string
}

// chain is s -> a -> b. Bolt a keeps its inputs; so does b.
func chain(b *storm.TopologyBuilder, c *cast) {
	b.SetSpout("s", c.spout(actorSpout{}), 1)
	b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
	b.SetBolt("b", c.bolt(actorBolt{}), 1).ShuffleGrouping("a")
}

// passing is s -> a -> b where a passes each tuple on, anchored, and acks it.
func passing(b *storm.TopologyBuilder, c *cast) {
	b.SetSpout("s", c.spout(actorSpout{}), 1)
	b.SetBolt("a", c.bolt(actorBolt{execute: pass}), 1).ShuffleGrouping("s")
	b.SetBolt("b", c.bolt(actorBolt{}), 1).ShuffleGrouping("a")
}

// fan is s with all grouping to the three tasks of a.
func fan(b *storm.TopologyBuilder, c *cast) {
	b.SetSpout("s", c.spout(actorSpout{}), 1)
	b.SetBolt("a", c.bolt(actorBolt{}), 3).AllGrouping("s")
}

// lonely is a spout with a second stream, and nobody who listens.
func lonely(b *storm.TopologyBuilder, c *cast) {
	b.SetSpout("s", c.spout(actorSpout{}), 1)
}

func emit(ids ...int64) func(r *rig)   { return func(r *rig) { r.emit("s", ids...) } }
func ack(component string) func(*rig)  { return func(r *rig) { r.ackAll(component) } }
func fail(component string) func(*rig) { return func(r *rig) { r.failAll(component) } }
func rotate(r *rig)                    { r.rotate() }

func rules() []rule {
	return append(append(treeRules(), timeoutRules()...), anchorRules()...)
}

func treeRules() []rule {
	one := settings{ackers: 1}
	return []rule{
		{"ack completes a tree", one, chain, []step{{emit(1, 2), ""}, {ack("a"), "ack 1, ack 2"}}},
		{"fail fails at once", one, chain, []step{{emit(1), ""}, {fail("a"), "fail 1"}}},
		{"a tree waits for its children", one, passing, []step{{emit(1), ""}, {ack("b"), "ack 1"}}},
		{"a child fails its tree", one, passing, []step{{emit(1, 2), ""}, {fail("b"), "fail 1, fail 2"}}},
		{"all copies must be acked", settings{ackers: 2}, fan, []step{
			{emit(1), ""},
			{func(r *rig) {
				for _, task := range r.l.Tasks["a"][:2] {
					b := r.cast.bolts[task]
					r.do(b.out.Do, func() { b.settle(b.out.Ack) })
				}
			}, ""},
			{func(r *rig) {
				b := r.cast.bolts[r.l.Tasks["a"][2]]
				r.do(b.out.Do, func() { b.settle(b.out.Ack) })
			}, "ack 1"},
		}},
		{"acks in any order", one, chain, []step{{emit(1, 2, 3), ""}, {func(r *rig) {
			r.at("a", func(b *actorBolt) {
				b.out.Ack(&b.held[2])
				b.out.Ack(&b.held[0])
			})
		}, "ack 3, ack 1"}, {func(r *rig) { r.at("a", func(b *actorBolt) { b.out.Ack(&b.held[1]) }) }, "ack 2"}}},
		{"a late ack after a fail is ignored", one, passing, []step{
			{emit(1), ""}, {func(r *rig) { r.at("b", func(b *actorBolt) { b.out.Fail(&b.held[0]) }) }, "fail 1"}, {ack("b"), ""}, {rotate, ""}, {rotate, ""}, {rotate, ""}}},
		{"two fails of one tree are one", settings{ackers: 1}, fan, []step{{emit(1), ""}, {func(r *rig) {
			for _, task := range r.l.Tasks["a"] {
				b := r.cast.bolts[task]
				r.do(b.out.Do, func() { b.settle(b.out.Fail) })
			}
		}, "fail 1"}}},
		{"an unanchored emission is not waited for", one, chain, []step{
			{emit(1), ""},
			{func(r *rig) { r.at("a", func(b *actorBolt) { b.out.Emit(nil, storm.Int(9)) }) }, ""},
			{ack("a"), "ack 1"},
			{fail("b"), ""},
		}},
		{"untracked tuples are not heard of", one, chain, []step{
			{func(r *rig) {
				s := r.actorSpout("s")
				r.do(s.out.Do, func() {
					s.out.Emit(storm.Int(1))
					s.out.EmitTracked(storm.Nil(), storm.Int(2))
				})
			}, ""},
			{ack("a"), ""}, {emit(3), ""}, {fail("a"), "fail 3"}}},
		{"an emission to no target acks", one, lonely, []step{{emit(1, 2), "ack 1, ack 2"}}},
		{"a bolt's emission to no target is not waited for", one, chain, []step{
			{emit(1), ""},
			{func(r *rig) {
				r.at("a", func(b *actorBolt) { b.out.Emit(&b.held[0], storm.Int(1)); b.settle(b.out.Ack) })
			}, ""},
			{func(r *rig) {
				r.at("b", func(b *actorBolt) { b.out.Emit(&b.held[0], storm.Int(1)); b.settle(b.out.Ack) })
			}, "ack 1"}}},
		{"without ackers the spout acks at once", settings{}, chain, []step{
			{emit(1, 2), "ack 1, ack 2"}, {fail("a"), ""}, {rotate, ""}, {rotate, ""}, {rotate, ""}}},
		{"acking twice spoils the tree", one, fan, []step{{emit(1), ""}, {func(r *rig) {
			twice := r.cast.bolts[r.l.Tasks["a"][0]]
			r.do(twice.out.Do, func() { twice.out.Ack(&twice.held[0]) })
			for _, task := range r.l.Tasks["a"] {
				b := r.cast.bolts[task]
				r.do(b.out.Do, func() { b.settle(b.out.Ack) })
			}
		}, ""}, {rotate, ""}, {rotate, "fail 1"}}},
	}
}

func timeoutRules() []rule {
	one := settings{ackers: 1}
	reset := func(component string) func(r *rig) {
		return func(r *rig) {
			r.at(component, func(b *actorBolt) {
				for i := range b.held {
					b.out.ResetTimeout(&b.held[i])
				}
			})
		}
	}
	return []rule{
		{"time-out between one and two rotations", one, chain, []step{
			{emit(1), ""}, {rotate, ""}, {emit(2), ""}, {rotate, "fail 1"}, {emit(3), ""}, {rotate, "fail 2"}, {ack("a"), "ack 3"}, {rotate, ""}, {rotate, ""}}},
		{"resetTimeout starts the time anew", one, chain, []step{
			{emit(1), ""}, {rotate, ""}, {reset("a"), ""}, {rotate, ""}, {reset("a"), ""}, {rotate, ""}, {rotate, "fail 1"}}},
		{"resetTimeout of a child keeps the acker's entry too", one, passing, []step{
			{emit(1), ""}, {rotate, ""}, {reset("b"), ""}, {rotate, ""}, {reset("b"), ""}, {rotate, ""}, {reset("b"), ""}, {rotate, ""}, {ack("b"), "ack 1"}}},
		{"resetTimeout after the end does nothing", one, chain, []step{
			{emit(1), ""}, {rotate, ""}, {rotate, "fail 1"}, {reset("a"), ""}, {ack("a"), ""}, {rotate, ""}, {rotate, ""}}},
		{"what is emitted again is another tree", one, chain, []step{
			{emit(1), ""}, {rotate, ""}, {rotate, "fail 1"}, {emit(1), ""},
			{func(r *rig) { r.at("a", func(b *actorBolt) { b.out.Ack(&b.held[0]) }) }, ""}, // the late one
			{func(r *rig) { r.at("a", func(b *actorBolt) { b.out.Ack(&b.held[1]) }) }, "ack 1"}}},
	}
}

func anchorRules() []rule {
	one := settings{ackers: 1}
	// join has a emit one tuple anchored to all that it holds, and ack those.
	join := func(r *rig) {
		r.at("a", func(b *actorBolt) {
			b.out.EmitAnchors(storm.DefaultStream, b.held, storm.Int(int64(len(b.held))))
			b.settle(b.out.Ack)
		})
	}
	// again has b emit to itself, anchored to what it holds, and ack that.
	loop := func(b *storm.TopologyBuilder, c *cast) {
		b.SetSpout("s", c.spout(actorSpout{}), 1)
		b.SetBolt("a", c.bolt(actorBolt{}), 1).ShuffleGrouping("s")
		b.SetBolt("b", c.bolt(actorBolt{}), 2).AllGrouping("a").AllGrouping("b")
	}
	again := func(r *rig) {
		for _, task := range r.l.Tasks["b"] {
			b := r.cast.bolts[task]
			r.do(b.out.Do, func() {
				if len(b.held) > 0 && b.held[0].SourceComponent() == "a" {
					in := b.held[0]
					b.held = b.held[1:]
					b.out.Emit(&in, storm.Int(7))
					b.out.Ack(&in)
				}
			})
		}
	}
	all := func(how func(b *actorBolt)) func(r *rig) {
		return func(r *rig) {
			for _, task := range r.l.Tasks["b"] {
				b := r.cast.bolts[task]
				r.do(b.out.Do, func() { how(b) })
			}
		}
	}
	return []rule{
		{"a join is waited for by all its trees", one, chain, []step{{emit(1, 2, 3), ""}, {join, ""}, {ack("b"), "ack 1, ack 2, ack 3"}}},
		{"a join fails all its trees", settings{ackers: 3}, chain, []step{{emit(1), ""}, {emit(2), ""}, {join, ""}, {fail("b"), "fail 1, fail 2"}}},
		{"an anchor named twice counts once", one, chain, []step{{emit(1), ""}, {func(r *rig) {
			r.at("a", func(b *actorBolt) {
				b.out.EmitAnchors(storm.DefaultStream, []storm.Tuple{b.held[0], b.held[0]}, storm.Int(0))
				b.settle(b.out.Ack)
			})
		}, ""}, {ack("b"), "ack 1"}}},
		{"untracked anchors count for nothing", one, chain, []step{{emit(1), ""}, {func(r *rig) {
			r.at("a", func(b *actorBolt) {
				b.out.EmitAnchors(storm.DefaultStream, []storm.Tuple{{}, b.held[0], {}}, storm.Int(0))
				b.settle(b.out.Ack)
			})
		}, ""}, {ack("b"), "ack 1"}}},
		{"trees of joins grow on, ack", one, loop, []step{
			{emit(1, 2), ""}, {join, ""}, {again, ""}, {all(func(b *actorBolt) { b.settle(b.out.Ack) }), "ack 1, ack 2"}}},
		{"trees of joins grow on, fail", one, loop, []step{
			{emit(1, 2), ""}, {join, ""}, {again, ""}, {all(func(b *actorBolt) {
				if len(b.held) > 0 {
					b.out.Fail(&b.held[len(b.held)-1])
				}
			}), "fail 1, fail 2"}}},
		{"a tuple joins the trees of a join's time-out", one, chain, []step{
			{emit(1), ""}, {rotate, ""}, {emit(2), ""}, {join, ""}, {rotate, "fail 1"}, {rotate, "fail 2"}, {ack("b"), ""}}},
	}
}

func TestAtLeastOnceRules(t *testing.T) {
	for _, c := range rules() {
		t.Run(c.name, func(t *testing.T) {
			// Batches of one go at once, long ones wait for an idle moment.
			for _, batch := range []int{1, 100, -1, -100} {
				synctest.Test(t, func(t *testing.T) {
					set := c.set
					set.batch, set.announce = max(batch, -batch), batch < 0
					r := newRig(t, set, c.graph)
					r.activate(true)
					for i, s := range c.steps {
						s.do(r)
						synctest.Wait()
						if got := r.cast.since(); got != s.want {
							t.Fatalf("batch size %d, after step %d: %q, want %q", batch, i+1, got, s.want)
						}
					}
					if sent, done := r.flows(); sent != done {
						t.Errorf("%d tuples sent, %d executed", sent, done)
					}
				})
			}
		})
	}
}
