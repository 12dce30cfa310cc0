package grouping

import (
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

func BenchmarkOne(b *testing.B) {
	dog := tuple(storm.String("dog"), storm.Int(12345))
	long := tuple(storm.String(strings.Repeat("user-0123456789/", 4)), storm.Int(12345))
	for _, c := range []struct {
		name string
		spec Spec
		in   *storm.Tuple
	}{
		{"shuffle", Spec{Kind: Shuffle}, dog},
		{"local", Spec{Kind: LocalOrShuffle}, dog},
		{"global", Spec{Kind: Global}, dog},
		{"none", Spec{Kind: None}, dog},
		{"fields/int", Spec{Kind: Fields, Fields: []int{1}}, dog},
		{"fields/string3", Spec{Kind: Fields, Fields: []int{0}}, dog},
		{"fields/string20", Spec{Kind: Fields, Fields: []int{0}}, tuple(storm.String("customer-00012345678"))},
		{"fields/string64", Spec{Kind: Fields, Fields: []int{0}}, long},
		{"fields/unicode20", Spec{Kind: Fields, Fields: []int{0}}, tuple(storm.String(strings.Repeat("żó", 10)))},
		{"fields/two", Spec{Kind: Fields, Fields: []int{0, 1}}, dog},
		{"partialkey/string3", Spec{Kind: PartialKey, Fields: []int{0}}, dog},
		{"partialkey/text64", Spec{Kind: PartialKey}, long},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.spec.Targets, c.spec.Rand = tasks(7), seeded(1)
			g := mustNew(b, c.spec)
			b.ReportAllocs()
			for b.Loop() {
				g.One(c.in)
			}
		})
	}
}

func BenchmarkChoose(b *testing.B) {
	everyOther := chooserFunc(func(storm.TaskID, *storm.Tuple) []storm.TaskID { return nil })
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"shuffle", Spec{Kind: Shuffle}},
		{"fields", Spec{Kind: Fields, Fields: []int{0}}},
		{"all", Spec{Kind: All}},
		{"direct", Spec{Kind: Direct}},
		{"custom", Spec{Kind: Custom, Custom: everyOther}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.spec.Targets, c.spec.Rand = tasks(7), seeded(1)
			g, in, dst := mustNew(b, c.spec), tuple(storm.String("dog")), make([]int32, 0, 7)
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = g.Choose(in, dst[:0])
			}
		})
	}
}

func BenchmarkSetLoad(b *testing.B) {
	for _, n := range []int{8, 1000} {
		b.Run(map[int]string{8: "targets=8", 1000: "targets=1000"}[n], func(b *testing.B) {
			g := mustNew(b, Spec{Kind: Shuffle, Targets: tasks(n), Rand: seeded(1)})
			loads := [2][]float64{make([]float64, n), make([]float64, n)}
			for i := range n {
				loads[0][i] = float64(i%10) / 10
			}
			turn := 0
			b.ReportAllocs()
			for b.Loop() {
				g.SetLoad(loads[turn])
				turn ^= 1
			}
		})
	}
}
