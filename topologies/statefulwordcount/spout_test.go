package statefulwordcount

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

func TestPages(t *testing.T) {
	files := write(t, t.TempDir(), "a\n\nb\r\nc\nd", "\fChapter\tone \ne\nf\ng\n\f\nh", "", "i\n")
	want := []string{"f0:1|a", "f0:1|", "f0:2|b", "f0:2|c", "f0:3|d", "Chapter one:1|e", "Chapter one:1|f", "Chapter one:2|g", "f1:1|h", "f3:1|i"}
	o := open(t, reader{files: files, pageLines: 2}, storm.NewMapState())
	if got := o.take(t, 20); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	o = open(t, reader{files: files}, storm.NewMapState())
	if got := o.take(t, 20); len(got) != 12 || got[5] != "|\fChapter\tone " {
		t.Errorf("without pages: %q", got)
	}
}

// TestRewind has the spout go back to any checkpoint: what it emits then is what
// followed that.
func TestRewind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "words-") //nolint:usetesting // one for each case
		must(t, err)
		defer os.RemoveAll(dir)
		texts := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("ab\n\f "))), 1, 3).Draw(t, "texts")
		in := reader{files: write(t, dir, texts...), pageLines: rapid.IntRange(0, 3).Draw(t, "page lines")}
		total := strings.Count(strings.Join(texts, ""), "\n") + len(texts) + 1
		all := open(t, in, storm.NewMapState()).take(t, total)

		state := storm.NewMapState()
		o := open(t, in, state)
		for range rapid.IntRange(1, 4).Draw(t, "checkpoints") {
			o.take(t, rapid.IntRange(0, total).Draw(t, "lines"))
			must(t, o.PrePrepare(1))
			done := len(o.emitter.got)
			saved := clone(t, state)
			o.take(t, rapid.IntRange(0, total).Draw(t, "lost"))
			state = saved
			if rapid.Bool().Draw(t, "anew") {
				lines := o.emitter.got[:done]
				must(t, o.Close())
				o = open(t, in, state)
				o.emitter.got = slices.Clone(lines)
			} else {
				o.emitter.got = o.emitter.got[:done]
				must(t, o.InitState(state))
			}
		}
		o.take(t, total)
		if !slices.Equal(o.emitter.got, all) {
			t.Fatalf("got %q, want %q", o.emitter.got, all)
		}
		must(t, o.Close())
	})
}

// TestEnd: when all lines are acked the counting tasks are told, and then the spout
// is exhausted.
func TestEnd(t *testing.T) {
	state := storm.NewMapState()
	o := open(t, reader{files: []source{{path: "text", text: "a\nb"}}}, state)
	o.take(t, 5)
	must(t, o.PrePrepare(1))
	if len(o.ends) > 0 || o.Exhausted() {
		t.Error("the end is told before all is acked")
	}
	stale := slices.Clone(o.ids)
	must(t, o.InitState(clone(t, state)))
	for _, id := range stale { // of before it went back
		o.Ack(storm.Int(id))
	}
	o.take(t, 2)
	if len(o.ends) != 1 || o.Exhausted() {
		t.Errorf("told %d times, exhausted %t", len(o.ends), o.Exhausted())
	}
	o.ackAll()
	if !o.Exhausted() || o.job.progress() != 1 {
		t.Errorf("exhausted %t, progress %v", o.Exhausted(), o.job.progress())
	}
	damaged := storm.NewMapState()
	must(t, storm.NewKeyValueState(damaged, storm.StringCodec, storm.JSONCodec[position]()).Put(positionKey, position{File: 7}))
	if err := o.InitState(damaged); err == nil || !strings.Contains(err.Error(), "has --input changed?") {
		t.Errorf("got %v", err)
	}
}

// TestFollow waits for more, and for whole lines, until the end is there.
func TestFollow(t *testing.T) {
	files := write(t, t.TempDir(), "a\nb")
	o := open(t, reader{files: files, follow: true}, storm.NewMapState())
	clock := time.Unix(0, 0)
	o.now = func() time.Time {
		clock = clock.Add(waitFor)
		return clock
	}
	if got := o.take(t, 5); !slices.Equal(got, []string{"|a"}) {
		t.Errorf("got %q", got)
	}
	f, err := os.OpenFile(files[0].path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("c\nd")
	must(t, err)
	if got := o.take(t, 5); !slices.Equal(got, []string{"|bc"}) {
		t.Errorf("got %q", got)
	}
	must(t, os.WriteFile(files[0].path+".end", nil, 0o600))
	if got := o.take(t, 5); !slices.Equal(got, []string{"|d"}) || !o.read {
		t.Errorf("got %q", got)
	}
	must(t, o.Close())
}

func TestRate(t *testing.T) {
	o := open(t, reader{files: []source{{path: "text", text: strings.Repeat("a\n", 100)}}}, storm.NewMapState())
	clock := time.Unix(0, 0)
	o.now, o.rate, o.begin = func() time.Time { return clock }, 10, clock
	clock = clock.Add(time.Second)
	if got := o.take(t, 50); len(got) != 10 {
		t.Errorf("%d lines in a second", len(got))
	}
}

func TestNoText(t *testing.T) {
	o := open(t, reader{files: []source{{path: "text", text: strings.Repeat("a", maxLine)}}}, storm.NewMapState())
	if err := o.NextTuple(); err != nil { // the last line has no end
		t.Error(err)
	}
	o = open(t, reader{files: []source{{path: "text", text: strings.Repeat("a", 2*maxLine)}}}, storm.NewMapState())
	if err := o.NextTuple(); err == nil || !strings.Contains(err.Error(), "the line at byte 0 has more than 1048576 bytes; is it text?") {
		t.Errorf("got %v", err)
	}
	o = open(t, reader{files: []source{{path: "/no/such/file"}}}, storm.NewMapState())
	if err := o.NextTuple(); err == nil || !strings.Contains(err.Error(), "read the input: open /no/such/file: no such file") {
		t.Errorf("got %v", err)
	}
}
