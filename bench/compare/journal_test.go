package compare

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func at(micros int64) time.Time { return time.UnixMicro(micros) }

func parse(t *testing.T, name, text string) journal {
	t.Helper()
	j, err := parseJournal(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestParseJournal(t *testing.T) {
	j := parse(t, "count-17-ab", "1000 1\n3000 5 2\n4000 9")
	if j.pid != 17 || len(j.lines) != 2 || !j.lines[1].at.Equal(at(3000)) || !slices.Equal(j.lines[1].numbers, []int64{5, 2}) {
		t.Errorf("%+v", j)
	}
	for name, text := range map[string]string{
		"count-17": "", "count-x-1": "", "count-0-1": "", "count-1-1": "5\n", "count-2-1": "a 1\n", "count-3-1": "\n", "count-4-1": "1  2\n",
	} {
		if _, err := parseJournal(name, []byte(text)); err == nil {
			t.Errorf("%s %q: no error", name, text)
		}
	}
}

func FuzzParseJournal(f *testing.F) {
	f.Add("count-17-ab", []byte("1000 1\n3000 5 2\n4000 9"))
	f.Add("latency-1-", []byte("1 -1\n"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		j, err := parseJournal(name, text)
		if err != nil {
			return
		}
		if len(j.lines) != strings.Count(string(text), "\n") {
			t.Errorf("%d lines of %q", len(j.lines), text)
		}
		for _, l := range j.lines {
			if len(l.numbers) == 0 {
				t.Errorf("a line without numbers of %q", text)
			}
		}
	})
}

func TestCounted(t *testing.T) {
	a := parse(t, "count-1-a", "1000 1\n3000 5\n4000 25\n")
	for micros, want := range map[int64]float64{0: 0, 1000: 1, 2000: 3, 3000: 5, 3500: 15, 4000: 25, 9000: 25} {
		if got := a.countAt(at(micros)); got != want {
			t.Errorf("at %d: %v, want %v", micros, got, want)
		}
	}
	b := parse(t, "count-2-a", "2000 10\n4000 30\n")
	if got := counted([]journal{a, b, {pid: 3}}, at(2000), at(3500)); got != 12+15 {
		t.Errorf("counted %v, want 27", got)
	}
}

func TestFirstOf(t *testing.T) {
	all := []journal{parse(t, "count-1-a", "1000 1\n"), parse(t, "count-2-a", "3000 1\n"), parse(t, "count-3-a", "2000 1\n"), {pid: 4}}
	for _, c := range []struct {
		known map[int]bool
		want  int64
		ok    bool
	}{{nil, 1000, true}, {map[int]bool{1: true}, 2000, true}, {map[int]bool{1: true, 2: true, 3: true}, 0, false}} {
		got, ok := firstOf(all, c.known)
		if ok != c.ok || ok && !got.Equal(at(c.want)) {
			t.Errorf("known %v: %v, %t", c.known, got, ok)
		}
	}
}

func TestPercentile(t *testing.T) {
	all := []journal{parse(t, "latency-1-a", "1000 9\n2000 7\n3000 8\n"), parse(t, "latency-2-a", "1500 1\n2500 2\n")}
	got := between(all, at(1500), at(3000))
	if !slices.Equal(got, []int64{1, 2, 7}) {
		t.Fatalf("between: %v", got)
	}
	for share, want := range map[float64]float64{0: 1, 0.33: 1, 0.5: 2, 0.67: 7, 0.99: 7, 1: 7} {
		if p := percentile(got, share); p != want {
			t.Errorf("percentile %v is %v, want %v", share, p, want)
		}
	}
	if p := percentile(nil, 0.5); p != 0 {
		t.Errorf("percentile of nothing is %v", p)
	}
}

func TestFilled(t *testing.T) {
	all := []journal{parse(t, "count-1-a", "1000 0 1\n3000 0 99\n4000 1 100\n5000 9 100\n")}
	begin, full := filled(all, 100)
	if !begin.Equal(at(1000)) || !full.Equal(at(4000)) {
		t.Errorf("filled from %v to %v", begin, full)
	}
	if _, full := filled(all, 101); !full.IsZero() {
		t.Errorf("filled at %v", full)
	}
}
