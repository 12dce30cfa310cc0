package clustertests

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// sight is what was seen of an example.
type sight struct {
	lines []string
	taken int64 // numbers that the spout has taken
	other int64 // those that its second spout has taken
	calm  bool  // nothing has failed so far
}

// judge says what is wrong.
type judge func(sight) []string

// faults are what a judge finds.
type faults []string

func (f *faults) addf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// all tells of numbers that are missing, and while all is calm of those that are
// there more than once.
func (f *faults) all(s sight, seen map[int64]int) {
	for n := range s.taken {
		if k := seen[n]; k == 0 || s.calm && k > 1 {
			f.addf("%d is there %d times", n, k)
		}
	}
}

// scanned takes lines apart by a format, whose first word is a number.
func scanned(s sight, format string, args ...any) (seen map[int64]int, f faults) {
	seen = map[int64]int{}
	for _, line := range s.lines {
		var n int64
		if _, err := fmt.Sscanf(line+"\n", format+"\n", append([]any{&n}, args...)...); err != nil {
			f.addf("line %q", line)
		}
		seen[n]++
	}
	return seen, f
}

// eachOnce is for lines of a number.
func eachOnce(format string) judge {
	return func(s sight) []string {
		seen, f := scanned(s, format)
		f.all(s, seen)
		return f
	}
}

// sentence is what Numbers.java has.
func sentence(n int64) []string {
	sentences := []string{"the cow jumped over the moon", "an apple a day", "the moon and the day"}
	return append(strings.Fields(sentences[n%3]), fmt.Sprintf("n%d", n))
}

// words are how often each comes in the sentences that were taken.
func (s sight) words() map[string]int64 {
	out := map[string]int64{}
	for n := range s.taken {
		for _, word := range sentence(n) {
			out[word]++
		}
	}
	return out
}

// counts are the lines "WORD COUNT", all of each word.
func (s sight) counts(f *faults) map[string][]int64 {
	out := map[string][]int64{}
	for _, line := range s.lines {
		word, count, _ := strings.Cut(line, " ")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			f.addf("line %q", line)
		}
		out[word] = append(out[word], n)
	}
	return out
}

// wordsCounted is for running counts of words.
func wordsCounted(s sight) []string {
	return s.compare(func(counts []int64) int64 { return slices.Max(counts) })
}

// wordsSummed is for counts by window.
func wordsSummed(s sight) []string {
	return s.compare(func(counts []int64) (sum int64) {
		for _, n := range counts {
			sum += n
		}
		return sum
	})
}

func (s sight) compare(total func([]int64) int64) []string {
	var f faults
	counts := s.counts(&f)
	for word, want := range s.words() {
		got := int64(0)
		if len(counts[word]) > 0 {
			got = total(counts[word])
		}
		// When state was lost the common ones begin anew.
		if s.calm && got != want || got == 0 {
			f.addf("%s: %d, not %d", word, got, want)
		}
	}
	return f
}

// blocksCounted is for lines "1000 COUNTS", of thousands of words on two tasks.
func blocksCounted(s sight) []string {
	var f faults
	for _, line := range s.lines {
		if !strings.HasPrefix(line, "1000 {") {
			f.addf("line %q", line)
		}
	}
	all := int64(0)
	for _, n := range s.words() {
		all += n
	}
	seen := 1000 * int64(len(s.lines))
	if s.calm && (seen > all || seen <= all-2000) {
		f.addf("%d words were seen, and there are %d", seen, all)
	}
	return f
}

// inOrder is for lines "ok|jump SPOUT NUMBER BEFORE". Nothing is sent again, so that
// deaths make gaps.
func inOrder(s sight) []string {
	var f faults
	seen := map[int64]int{}
	for _, line := range s.lines {
		var how, spout, before string
		var n int64
		if _, err := fmt.Sscan(line, &how, &spout, &n, &before); err != nil {
			f.addf("line %q", line)
		}
		if last, err := strconv.ParseInt(before, 10, 64); how != "ok" && (s.calm || err != nil || n < last) {
			f.addf("line %q", line)
		}
		if spout == "source" {
			seen[n]++
		}
	}
	if s.calm {
		// exact is about the lines of this spout alone.
		f.all(s, seen)
	}
	return f
}

// ranked is for rankings, "WORD=COUNT" with the greatest first.
func ranked(s sight) []string {
	var f faults
	full := false
	for _, line := range s.lines {
		last := int64(1 << 62)
		var words []string
		var counts []int64
		for field := range strings.FieldsSeq(line) {
			word, text, _ := strings.Cut(field, "=")
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n > last {
				f.addf("line %q", line)
			}
			last, words, counts = n, append(words, word), append(counts, n)
		}
		// A comes twice as often as b, and b one and a half times as often as c.
		full = full || slices.Equal(words, []string{"a", "b", "c"}) && counts[2] > 50 &&
			near(counts[0], 2*counts[1]) && near(2*counts[1], 3*counts[2])
	}
	if !full {
		f.addf("there is no full ranking; the lines end %q", s.lines[max(0, len(s.lines)-3):])
	}
	return f
}

func near(x, y int64) bool { return 10*x >= 8*y && 8*x <= 10*y }

// windowsSummed is for the lines of SlidingWindow.
func windowsSummed(s sight) []string {
	var f faults
	sums, threes := []string{}, []string{}
	windows := int64(0)
	for _, line := range s.lines {
		if rest, ok := strings.CutPrefix(line, "three "); ok {
			threes = append(threes, strings.Fields(rest)...)
			continue
		}
		var least, greatest, count, sum int64
		if _, err := fmt.Sscanf(line, "sum %d %d %d %d", &least, &greatest, &count, &sum); err != nil {
			f.addf("line %q", line)
			continue
		}
		sums = append(sums, fmt.Sprint(sum))
		windows++
		if s.calm && (greatest != 10*windows-1 || least != max(0, greatest-29) || count != greatest-least+1 || 2*sum != count*(least+greatest)) {
			f.addf("line %q", line)
		}
	}
	if s.calm && (windows != s.taken/10 || !slices.Equal(threes, sums[:len(sums)/3*3])) {
		f.addf("%d windows of %d numbers; threes %v, sums %v", windows, s.taken, len(threes), len(sums))
	}
	return f
}

// statesSummed is for lines "NUMBER SUM COUNT" of one task.
func statesSummed(s sight) []string {
	var sum, count int64
	var f faults
	seen := map[int64]int{}
	for _, line := range s.lines {
		var n int64
		if _, err := fmt.Sscan(line, &n, &sum, &count); err != nil {
			f.addf("line %q", line)
		}
		seen[n]++
		if s.calm && (2*sum != n*(n+1) || count != n+1) {
			f.addf("line %q", line)
		}
	}
	f.all(s, seen)
	return f
}

// windowStates is for lines "WHO LEAST GREATEST SUM-OF-WINDOW SUM" of windows of ten.
func windowStates(s sight) []string {
	var f faults
	windows := map[string]int64{}
	for _, line := range s.lines {
		var who string
		var least, greatest, sum, all int64
		if _, err := fmt.Sscan(line, &who, &least, &greatest, &sum, &all); err != nil {
			f.addf("line %q", line)
		}
		k := windows[who]
		windows[who]++
		if s.calm && (least != 10*k || greatest != 10*k+9 || sum != 100*k+45 || 2*all != greatest*(greatest+1)) {
			f.addf("line %q", line)
		}
	}
	if want := map[string]int64{"plain": s.taken / 10, "kept": s.taken / 10}; s.calm && !maps.Equal(windows, want) {
		f.addf("windows %v, not %v", windows, want)
	}
	return f
}

// multiplied is for lines "NUMBER 3*NUMBER", of which deaths lose some.
func multiplied(s sight) []string {
	var f faults
	seen := map[int64]int{}
	for _, line := range s.lines {
		var n, product int64
		if _, err := fmt.Sscan(line, &n, &product); err != nil || product != 3*n {
			f.addf("line %q", line)
		}
		seen[n]++
	}
	if s.calm {
		f.all(s, seen)
	}
	return f
}

// joined is for rows that come again with every window that they are in.
func joined(format string, want func(int64) string) judge {
	return func(s sight) []string {
		var a, b int64
		seen, f := scanned(s, format, &a, &b)
		for _, line := range s.lines {
			var n int64
			if _, err := fmt.Sscan(line, &n); err != nil || line != want(n) {
				f.addf("line %q", line)
			}
		}
		// After deaths the two may be further apart than a window.
		if s.calm {
			s.calm, s.taken = false, min(s.taken, s.other)
			f.all(s, seen)
		}
		return f
	}
}

// queried is for lines "WORD COUNT" of counts that grow meanwhile.
func queried(s sight) []string {
	var f faults
	counts := s.counts(&f)
	for word, list := range counts {
		if s.calm && (word != "moon" && word != "day" || !slices.IsSorted(list) || slices.Max(list) > s.words()[word]) {
			f.addf("%s: %v", word, list)
		}
	}
	if len(counts) != 2 {
		f.addf("counts of %d words", len(counts))
	}
	return f
}

// branched is for lines "even|odd NUMBER".
func branched(s sight) []string {
	var f faults
	seen := map[int64]int{}
	for _, line := range s.lines {
		var how string
		var n int64
		if _, err := fmt.Sscan(line, &how, &n); err != nil || (how == "even") != (n%2 == 0) {
			f.addf("line %q", line)
		}
		seen[n]++
	}
	f.all(s, seen)
	return f
}

// typed is for lines "NUMBER tNUMBER HALF".
func typed(s sight) []string {
	var f faults
	seen := map[int64]int{}
	for _, line := range s.lines {
		var n, m int64
		var half float64
		if _, err := fmt.Sscanf(line, "%d t%d %g", &n, &m, &half); err != nil || n != m || 2*half != float64(n) {
			f.addf("line %q", line)
		}
		seen[n]++
	}
	f.all(s, seen)
	return f
}

// aggregated is for the sums of windows of ten numbers.
func aggregated(s sight) []string {
	var f faults
	for i, line := range s.lines {
		if n, err := strconv.ParseInt(line, 10, 64); err != nil || s.calm && n != int64(100*i+45) {
			f.addf("line %q", line)
		}
	}
	if s.calm && int64(len(s.lines)) != s.taken/10 {
		f.addf("%d windows of %d numbers", len(s.lines), s.taken)
	}
	return f
}
