package demo

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/stormring/stormring/topologies/statefulwordcount"
)

// ledger is the demonstration's own count of each word on each page. It keeps a
// hash in the place of both, so that it is small beside the state.
type ledger struct {
	seed    maphash.Seed
	entries []ledgerEntry
	words   int64
	bytes   int64 // of a state of these entries
}

type ledgerEntry struct {
	hash  uint64
	count uint32
	seen  bool
}

// add enters a word that is n times on a page. Each is entered once.
func (l *ledger) add(word, page string, n uint32) {
	if len(l.entries) == 0 {
		l.seed = maphash.MakeSeed()
	}
	l.entries = append(l.entries, ledgerEntry{hash: l.hash(word, page), count: n})
	l.words += int64(n)
	l.bytes += int64(len(word)+1+len(page)) + entryBytes
}

func (l *ledger) hash(word, page string) uint64 {
	return maphash.Comparable(l.seed, [2]string{word, page})
}

// close makes the ledger ready to be compared with.
func (l *ledger) close() {
	slices.SortFunc(l.entries, func(a, b ledgerEntry) int { return cmp.Compare(a.hash, b.hash) })
}

// maxWrong is how many wrong counts are named.
const maxWrong = 5

// compare compares the ledger with what a topology has written to a folder, and
// says what differs: some of it, and how many counts in all.
func (l *ledger) compare(dir string) (wrong []string, total int, err error) {
	differs := func(format string, args ...any) {
		if total++; total <= maxWrong {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	err = statefulwordcount.ReadCounts(dir, func(page, word string, n int64) error {
		i, ok := slices.BinarySearchFunc(l.entries, l.hash(word, page), func(e ledgerEntry, h uint64) int { return cmp.Compare(e.hash, h) })
		switch {
		case !ok:
			differs("%q on page %s was counted %d times, and is not there", word, page, n)
		case l.entries[i].seen:
			differs("%q on page %s has two counts, one of them %d", word, page, n)
		case int64(l.entries[i].count) != n:
			differs("%q on page %s was counted %d times, and is there %d times", word, page, n, l.entries[i].count)
		}
		if ok {
			l.entries[i].seen = true
		}
		return nil
	})
	for _, e := range l.entries {
		if !e.seen {
			differs("a word of a page that is there %d times was not counted", e.count)
		}
	}
	return wrong, total, err
}
