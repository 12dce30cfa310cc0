package rollingtopwords

import (
	"cmp"
	"slices"
	"strings"
)

// entry is a word with its count.
type entry struct {
	word  string
	count int64
}

// ranking keeps the words with the highest counts, best first. Equal counts
// rank by word.
type ranking struct {
	size int
	best []entry
}

func newRanking(size int) *ranking { return &ranking{size: size} }

// update takes a new count of a word; 0 removes the word.
func (r *ranking) update(word string, count int64) {
	r.best = slices.DeleteFunc(r.best, func(e entry) bool { return e.word == word })
	if count <= 0 {
		return
	}
	e := entry{word, count}
	at, _ := slices.BinarySearchFunc(r.best, e, compare)
	r.best = slices.Insert(r.best, at, e)
	r.best = r.best[:min(len(r.best), r.size)]
}

func compare(a, b entry) int {
	return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.word, b.word))
}
