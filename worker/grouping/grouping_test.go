package grouping

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

type chooserFunc func(from storm.TaskID, t *storm.Tuple) []storm.TaskID

func (f chooserFunc) Choose(from storm.TaskID, t *storm.Tuple) []storm.TaskID { return f(from, t) }

func TestNewRejects(t *testing.T) {
	two := []storm.TaskID{3, 5}
	for _, c := range []struct {
		name string
		spec Spec
		want string
	}{
		{"unknown kind", Spec{Kind: 42, Targets: two}, "grouping: grouping kind 42: no such kind"},
		{"no targets", Spec{Kind: Global}, "grouping: global: no target tasks; the subscriber needs at least one"},
		{"unsorted", Spec{Kind: All, Targets: []storm.TaskID{5, 3}}, "grouping: all: target task 5 comes before 3; sort the tasks and name each once"},
		{"twice", Spec{Kind: All, Targets: []storm.TaskID{3, 3}}, "grouping: all: target task 3 comes before 3; sort the tasks and name each once"},
		{"locality", Spec{Kind: Shuffle, Targets: two, Local: []bool{true}, Rand: seeded(1)}, "grouping: shuffle: locality is given for 1 of 2 target tasks"},
		{"shuffle without rand", Spec{Kind: Shuffle, Targets: two}, "grouping: shuffle: no source of randomness is given"},
		{"local without rand", Spec{Kind: LocalOrShuffle, Targets: two}, "grouping: local or shuffle: no source of randomness is given"},
		{"none without rand", Spec{Kind: None, Targets: two}, "grouping: none: no source of randomness is given"},
		{"no chooser", Spec{Kind: Custom, Targets: two}, "grouping: custom: no chooser is given"},
		{"negative field", Spec{Kind: Fields, Fields: []int{0, -1}, Targets: two}, "grouping: fields: grouping field 1 has position -1"},
		{"bounds", Spec{Kind: Shuffle, Targets: two, Rand: seeded(1), HigherBound: 0.1, LowerBound: 0.2}, "grouping: shuffle: load bounds 0.2 (lower) and 0.1 (higher) are not in order within 0 to 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := New(c.spec)
			if g != nil || err == nil || err.Error() != c.want {
				t.Errorf("New = %v, %v, want error %q", g, err, c.want)
			}
		})
	}
}

func TestChooseByKind(t *testing.T) {
	custom := chooserFunc(func(from storm.TaskID, t *storm.Tuple) []storm.TaskID {
		return []storm.TaskID{16, storm.TaskID(t.Int(1)), from + 6} // from is 7
	})
	in := tuple(storm.String("dog"), storm.Int(10))
	for _, c := range []struct {
		name   string
		spec   Spec
		single bool
		want   []int32
	}{
		{"fields", Spec{Kind: Fields, Fields: []int{0}, Targets: tasks(7)}, true, []int32{2}},
		{"fields, two", Spec{Kind: Fields, Fields: []int{1, 0}, Targets: tasks(7)}, true, []int32{floorMod(DeepHash(storm.Int(10), storm.String("dog")), 7)}},
		{"no fields", Spec{Kind: Fields, Targets: tasks(7)}, true, []int32{0}},
		{"global", Spec{Kind: Global, Targets: tasks(3)}, true, []int32{0}},
		{"all", Spec{Kind: All, Targets: tasks(3)}, false, []int32{0, 1, 2}},
		{"all of one", Spec{Kind: All, Targets: tasks(1)}, true, []int32{0}},
		{"none of one", Spec{Kind: None, Targets: tasks(1), Rand: seeded(1)}, true, []int32{0}},
		{"shuffle of one", Spec{Kind: Shuffle, Targets: tasks(1), Rand: seeded(1)}, true, []int32{0}},
		{"local", Spec{Kind: LocalOrShuffle, Targets: tasks(3), Local: []bool{false, true, false}, Rand: seeded(1)}, true, []int32{1}},
		{"custom", Spec{Kind: Custom, Custom: custom, Targets: tasks(3)}, false, []int32{2, 0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := mustNew(t, c.spec)
			if g.Kind() != c.spec.Kind || !slices.Equal(g.Targets(), c.spec.Targets) || g.Single() != c.single {
				t.Errorf("Kind %v, Targets %v, Single %t", g.Kind(), g.Targets(), g.Single())
			}
			got, err := g.Choose(in, []int32{99})
			if want := append([]int32{99}, c.want...); err != nil || !slices.Equal(got, want) {
				t.Errorf("Choose = %v, %v, want %v", got, err, want)
			}
			one := -1
			if c.single {
				one = int(c.want[0])
			}
			if got := g.One(in); got != one {
				t.Errorf("One = %d, want %d", got, one)
			}
		})
	}
}

func TestDirect(t *testing.T) {
	for _, n := range []int{1, 3} {
		g := mustNew(t, Spec{Kind: Direct, Targets: tasks(n)})
		got, err := g.Choose(tuple(), []int32{9})
		if !errors.Is(err, ErrDirect) || !slices.Equal(got, []int32{9}) || g.Single() || g.One(tuple()) != -1 {
			t.Errorf("%d targets: Choose = %v, %v; Single = %t", n, got, err, g.Single())
		}
	}
}

func TestChooseErrors(t *testing.T) {
	bad := chooserFunc(func(storm.TaskID, *storm.Tuple) []storm.TaskID { return []storm.TaskID{10, 11, 13, -4} })
	nobody := chooserFunc(func(storm.TaskID, *storm.Tuple) []storm.TaskID { return nil })
	for _, c := range []struct {
		name string
		spec Spec
		want string
	}{
		{"bad tasks", Spec{Kind: Custom, Custom: bad, Targets: tasks(2)}, "grouping: the custom chooser named tasks [11 -4], which are none of its targets [10 13]"},
		{"nobody", Spec{Kind: Custom, Custom: nobody, Targets: tasks(2)}, ""},
		{"narrow tuple", Spec{Kind: Fields, Fields: []int{0, 2}, Targets: tasks(2)}, "grouping: fields: the tuple has 2 values, the grouping fields need 3"},
		{"narrow tuple, one target", Spec{Kind: PartialKey, Fields: []int{2}, Targets: tasks(1)}, "grouping: partial key: the tuple has 2 values, the grouping fields need 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := mustNew(t, c.spec).Choose(tuple(storm.Int(1), storm.Int(2)), []int32{9})
			msg := ""
			if err != nil {
				msg = err.Error()
			}
			if msg != c.want || !slices.Equal(got, []int32{9}) {
				t.Errorf("Choose = %v, %q, want %q", got, msg, c.want)
			}
		})
	}
}

func TestNewKeepsNothingOfTheSpec(t *testing.T) {
	s := Spec{Kind: Fields, Fields: []int{0}, Targets: tasks(3)}
	g := mustNew(t, s)
	s.Fields[0], s.Targets[0] = 5, 500
	if g.Targets()[0] != 10 || g.One(tuple(storm.String("dog"))) != 0 {
		t.Errorf("changed with the spec: targets %v", g.Targets())
	}
}

func TestOneInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		s := Spec{
			Kind:    rapid.SampledFrom([]Kind{Shuffle, LocalOrShuffle, Fields, Global, None, PartialKey}).Draw(t, "kind"),
			Fields:  rapid.SliceOfN(rapid.IntRange(0, 2), 0, 3).Draw(t, "fields"),
			Targets: tasks(n),
			Local:   rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "local"),
			Rand:    seeded(rapid.Uint64().Draw(t, "seed")),
		}
		g := mustNewRapid(t, s)
		for range rapid.IntRange(1, 60).Draw(t, "tuples") {
			in := tuple(rapid.SliceOfN(genValue(1), 3, 6).Draw(t, "vals")...)
			i := g.One(in)
			if i < 0 || i >= n {
				t.Fatalf("%v: One = %d of %d", s.Kind, i, n)
			}
			if s.Kind == LocalOrShuffle && slices.Contains(s.Local, true) && !s.Local[i] {
				t.Fatalf("One = %d, which is not local in %v", i, s.Local)
			}
		}
	})
}

// A key reaches at most two targets, and its tuples are even between them if
// there is no other key.
func TestPartialKeyTwoTargets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "n")
		g := mustNewRapid(t, Spec{Kind: PartialKey, Targets: tasks(n)})
		in := tuple(storm.String(rapid.String().Draw(t, "key")))
		count := make(map[int]int)
		for range 10 {
			count[g.One(in)]++
		}
		if len(count) != 2 {
			t.Fatalf("one key went to %v", count)
		}
		for i, c := range count {
			if c != 5 {
				t.Fatalf("target %d got %d of 10: %v", i, c, count)
			}
		}
	})
}

func TestPartialKeyEmptyTuple(t *testing.T) {
	g := mustNew(t, Spec{Kind: PartialKey, Targets: tasks(5)})
	a, b := candidates(1, 5)
	if i, j := g.One(tuple()), g.One(tuple()); i != int(a) || j != int(b) {
		t.Errorf("tuples without values go to %d and %d, want %d and %d", i, j, a, b)
	}
}

func TestNoneIsUniform(t *testing.T) {
	const n, rounds = 7, 70000
	g := mustNew(t, Spec{Kind: None, Targets: tasks(n), Rand: seeded(3)})
	var count [n]float64
	for range rounds {
		count[g.One(nil)]++
	}
	var chi2 float64
	for _, c := range count {
		d := c - rounds/n
		chi2 += d * d / (rounds / n)
	}
	if chi2 > 22.5 { // p = 0.001 with six degrees of freedom
		t.Errorf("chi² = %.1f of %v", chi2, count)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		v    storm.Value
		want string
	}{
		{storm.Nil(), "null"},
		{storm.Float(5e-324), "4.9E-324"},
		{storm.Float(2e-320), "2.0E-320"},
		{storm.Float(1e23), "1.0E23"},
		{storm.Float(-1234.5), "-1234.5"},
		{storm.String("a\xffb"), "a\uFFFDb"},
		{storm.Bytes([]byte("raw\xff")), "raw\xff"},
		{storm.List(storm.String("a"), storm.Nil(), storm.List()), "[a, null, []]"},
		{storm.Map(map[string]storm.Value{"k": storm.Int32(1)}), "\x00\x00\x00\x6a"},
		{storm.Any(int8(-2)), "\xff\xff\xff\xfe"},
	} {
		if got, want := hashText(1, c.v), slowSigned(1, []byte(c.want)); got != want {
			t.Errorf("hash of the text of %v = %d, want %d for %q", c.v, got, want, c.want)
		}
	}
}

func TestKindString(t *testing.T) {
	var names []string
	for k := Shuffle; k <= Custom+1; k++ {
		names = append(names, k.String())
	}
	want := "shuffle, local or shuffle, fields, global, all, none, direct, partial key, custom, grouping kind 9"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("kinds %s, want %s", got, want)
	}
}

func TestNoAllocs(t *testing.T) {
	wide := tuple(
		storm.String("a key of some length"), storm.String("żółć żółć żółć"), storm.Int(-5), storm.Int32(-5), storm.Float(1e7),
		storm.Bool(true), storm.Bytes([]byte("bytes")), storm.List(storm.Int(1), storm.String("x")), storm.Nil(),
		storm.Map(map[string]storm.Value{"k": storm.Int(1)}),
	)
	for kind := Shuffle; kind <= PartialKey; kind++ {
		fields := positions(wide.Len())
		g := mustNew(t, Spec{Kind: kind, Fields: fields, Targets: tasks(5), Local: []bool{false, true, true, true, false}, Rand: seeded(1)})
		g.SetLoad([]float64{0, 0.5, 0, 0.5, 0})
		if !g.Single() {
			continue
		}
		if n := testing.AllocsPerRun(100, func() { g.One(wide) }); n != 0 {
			t.Errorf("%v: %v allocations in One", kind, n)
		}
		dst := make([]int32, 0, 5)
		if n := testing.AllocsPerRun(100, func() { dst, _ = g.Choose(wide, dst[:0]) }); n != 0 {
			t.Errorf("%v: %v allocations in Choose", kind, n)
		}
	}
	g := mustNew(t, Spec{Kind: PartialKey, Targets: tasks(5)})
	for _, v := range wide.Values() {
		in := tuple(v)
		if n := testing.AllocsPerRun(100, func() { g.One(in) }); n != 0 {
			t.Errorf("partial key by the text of a %v: %v allocations", v.Kind(), n)
		}
	}
}
