package track

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRoot(t *testing.T) {
	for _, c := range []struct {
		task int32
		seq  uint64
		want Root
	}{
		{0, 0, 0},
		{1, 1, 1<<48 | 1},
		{MaxTask, SeqMask, 1<<63 - 1},
		{2, SeqMask + 1, 2 << 48},
	} {
		got := MakeRoot(c.task, c.seq)
		if got != c.want || got.Task() != c.task || got.Seq() != c.seq&SeqMask {
			t.Errorf("MakeRoot(%d, %#x) is %#x: task %d seq %#x", c.task, c.seq, uint64(got), got.Task(), got.Seq())
		}
	}
}

func TestRootKeepsTaskAndSeq(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := rapid.Int32Range(0, MaxTask).Draw(t, "task")
		seq := rapid.Uint64Max(SeqMask).Draw(t, "seq")
		r := MakeRoot(task, seq)
		if r.Task() != task || r.Seq() != seq || r>>63 != 0 {
			t.Fatalf("%#x: task %d seq %#x, want %d and %#x", uint64(r), r.Task(), r.Seq(), task, seq)
		}
	})
}

func TestFieldIndex(t *testing.T) {
	o := &Origin{Fields: []string{"a", "b", "a"}}
	for name, want := range map[string]int{"a": 0, "b": 1, "": -1, "A": -1} {
		if got := o.FieldIndex(name); got != want {
			t.Errorf("FieldIndex(%q) is %d, want %d", name, got, want)
		}
	}
	if got := new(Origin).FieldIndex("a"); got != -1 {
		t.Errorf("without fields the index is %d", got)
	}
}
