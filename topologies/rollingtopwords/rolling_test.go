package rollingtopwords

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func instance(args ...string) (*storm.Instance, error) {
	return Definition().Instance(storm.Env{Args: args})
}

func TestWindow(t *testing.T) {
	w := newWindow(3)
	steps := []struct {
		add  string
		want map[string]int64
	}{
		{"a a b", map[string]int64{"a": 2, "b": 1}},
		{"a", map[string]int64{"a": 3, "b": 1}},
		{"", map[string]int64{"a": 3, "b": 1}},
		{"c", map[string]int64{"a": 1, "b": 0, "c": 1}},
		{"", map[string]int64{"a": 0, "c": 1}},
		{"", map[string]int64{"c": 1}},
		{"", map[string]int64{"c": 0}},
		{"", map[string]int64{}},
	}
	for i, s := range steps {
		for word := range strings.FieldsSeq(s.add) {
			w.add(word)
		}
		got := map[string]int64{}
		w.advance(func(word string, count int64) { got[word] = count })
		if !maps.Equal(got, s.want) {
			t.Errorf("step %d: got %v, want %v", i, got, s.want)
		}
	}
}

// TestWindowModel compares with keeping every word of every slot.
func TestWindowModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		w := newWindow(slots)
		history := make([][]string, slots) // the present slot first
		for range rapid.IntRange(1, 20).Draw(t, "advances") {
			history[0] = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 5).Draw(t, "words")
			for _, word := range history[0] {
				w.add(word)
			}
			want := map[string]int64{}
			for _, word := range slices.Concat(history...) {
				want[word]++
			}
			w.advance(func(word string, count int64) {
				if want[word] != count {
					t.Fatalf("%s: got %d, want %d", word, count, want[word])
				}
				delete(want, word)
			})
			if len(want) > 0 {
				t.Fatalf("not told: %v", want)
			}
			history = append([][]string{nil}, history[:slots-1]...)
		}
	})
}

// TestRankingModel compares with sorting all words.
func TestRankingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// As large as there are words: then nothing is cut off and forgotten.
		r := newRanking(4)
		all := map[string]int64{}
		for range rapid.IntRange(1, 30).Draw(t, "updates") {
			word := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "word")
			count := rapid.Int64Range(0, 3).Draw(t, "count")
			r.update(word, count)
			all[word] = count
		}
		var want []entry
		for word, count := range all {
			if count > 0 {
				want = append(want, entry{word, count})
			}
		}
		slices.SortFunc(want, compare)
		if !slices.Equal(r.best, want) {
			t.Fatalf("got %v, want %v", r.best, want)
		}
	})
}

func TestRankingSize(t *testing.T) {
	r := newRanking(2)
	for i, word := range []string{"a", "b", "c"} {
		r.update(word, int64(i+1))
	}
	if want := []entry{{"c", 3}, {"b", 2}}; !slices.Equal(r.best, want) {
		t.Errorf("got %v, want %v", r.best, want)
	}
}

func TestChanges(t *testing.T) {
	b := &ranker{best: newRanking(2)}
	b.best.update("a", 5)
	b.best.update("b", 4)
	if got, want := b.changes(), []entry{{"a", 5}, {"b", 4}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	b.best.update("c", 6)
	if got, want := b.changes(), []entry{{"b", 0}, {"c", 6}, {"a", 5}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// runFor runs the topology in virtual time.
func runFor(t *testing.T, d time.Duration, args ...string) (string, local.Result) {
	t.Helper()
	in, err := instance(args...)
	if err != nil {
		t.Fatal(err)
	}
	top, err := local.New(local.Options{Name: "rollingtopwords", Instance: in, RunFor: d})
	if err != nil {
		t.Fatal(err)
	}
	res, err := top.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := in.Report(&out, res.Partial); err != nil {
		t.Fatal(err)
	}
	return out.String(), res
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, res := runFor(t, 20*time.Second, "--window", "4", "--emit", "2", "--top", "3", "--rate", "500")
		// The first words come most often; over 4 s that is sure.
		if !regexp.MustCompile(`^the last ranking, over 4 s:\n( *[123]\. +\d{3}  (sea|sky|wave|wind|gull)\n){3}$`).MatchString(out) {
			t.Errorf("printed %q", out)
		}
		if !res.Partial || res.Totals.Failed != 0 {
			t.Errorf("%+v", res)
		}
	})
}

func TestCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, res := runFor(t, 0, "--count", "300", "--rate", "100000")
		if out != "no ranking yet: the run ended before the first one was made\n" || res.Partial || res.Totals.Acked != 300 {
			t.Errorf("printed %q, %+v", out, res)
		}
	})
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"--window", "5", "--emit", "2"}, {"--window", "1"}, {"--emit", "0"}, {"--top", "0"},
		{"--count", "-1"}, {"--rate", "-1"}, {"stray"},
	} {
		if _, err := instance(args...); !errors.Is(err, storm.ErrUsage) {
			t.Errorf("%q: %v does not wrap ErrUsage", args, err)
		}
	}
}
