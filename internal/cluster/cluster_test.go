package cluster

import (
	"slices"
	"testing"
)

func TestTopologyName(t *testing.T) {
	for _, c := range []struct{ id, want TopologyID }{
		{"words-1-1700000000", "words"},
		{"my-words-2-1700000000", "my-words"},
		{"words", "words"},
		{"words-1", "words-1"},
		{"", ""},
	} {
		if got := c.id.Name(); got != string(c.want) {
			t.Errorf("name of %q is %q, want %q", c.id, got, c.want)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct {
		got  string
		want string
	}{
		{Slot{"s1", 6700}.String(), "s1:6700"},
		{Executor{3, 5}.String(), "[3,5]"},
		{StatusActive.String(), "ACTIVE"},
		{StatusInactive.String(), "INACTIVE"},
		{StatusRebalancing.String(), "REBALANCING"},
		{StatusKilled.String(), "KILLED"},
		{TopologyStatus(9).String(), "TopologyStatus(9)"},
		{Resources{MemoryMB: 512, CPU: 12.5, Generic: map[string]float64{"gpu": 1, "disk": 2}}.String(), "512 MB, 12.5 % CPU, 2 disk, 1 gpu"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestAssignment(t *testing.T) {
	a := Assignment{
		{Executor: Executor{4, 6}, Slot: Slot{"b", 1}, StartSecs: 7},
		{Executor: Executor{1, 3}, Slot: Slot{"b", 1}, StartSecs: 7},
		{Executor: Executor{7, 7}, Slot: Slot{"a", 2}, StartSecs: 8},
	}
	a.Sort()
	if p, ok := a.Find(Executor{4, 6}); !ok || p.Slot != (Slot{"b", 1}) || p.StartSecs != 7 {
		t.Errorf("found %v, %v", p, ok)
	}
	if p, ok := a.Find(Executor{4, 5}); ok || p != (Placement{}) {
		t.Errorf("found %v, %v, which is not there", p, ok)
	}
	if got, want := a.Slots(), []Slot{{"a", 2}, {"b", 1}}; !slices.Equal(got, want) {
		t.Errorf("slots %v, want %v", got, want)
	}
	b := slices.Clone(a)
	if !a.Equal(b) {
		t.Error("a clone differs")
	}
	b[0].StartSecs++
	if a.Equal(b) {
		t.Error("another start time makes no difference")
	}
}

func TestResources(t *testing.T) {
	gpu := func(n float64) map[string]float64 { return map[string]float64{"gpu": n} }
	a := Resources{100, 50, gpu(2)}
	b := Resources{30, 60, gpu(1)}
	if got, want := a.Plus(b), (Resources{130, 110, gpu(3)}); !got.Equal(want) {
		t.Errorf("sum %v, want %v", got, want)
	}
	if got, want := a.Minus(b), (Resources{70, -10, gpu(1)}); !got.Equal(want) {
		t.Errorf("difference %v, want %v", got, want)
	}
	if a.Generic["gpu"] != 2 || b.Generic["gpu"] != 1 {
		t.Error("an operand changed")
	}
	if !(Resources{1, 2, gpu(0)}).Equal(Resources{1, 2, nil}) || a.Equal(b) || a.Equal(Resources{100, 50, nil}) {
		t.Error("Equal is wrong")
	}
	for _, c := range []struct {
		need       Resources
		lack, hard string
	}{
		{Resources{100, 50, gpu(2)}, "", ""},
		{Resources{101, 51, gpu(3)}, MemoryName, MemoryName},
		{Resources{1, 51, nil}, CPUName, ""},
		{Resources{1, 1, gpu(3)}, "gpu", "gpu"},
		{Resources{1, 1, map[string]float64{"y": 1, "x": 1}}, "x", "x"},
	} {
		if got := a.Lacks(c.need); got != c.lack {
			t.Errorf("%v lacks %q for %v, want %q", a, got, c.need, c.lack)
		}
		if got := a.LacksHard(c.need); got != c.hard {
			t.Errorf("%v lacks %q hard for %v, want %q", a, got, c.need, c.hard)
		}
	}
	if a.Get(MemoryName) != 100 || a.Get(CPUName) != 50 || a.Get("gpu") != 2 || a.Get("x") != 0 {
		t.Error("Get is wrong")
	}
}
