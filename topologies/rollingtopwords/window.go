package rollingtopwords

// window counts words over the last slots of time: the present one and those
// before. It knows no clock; advance says that time has passed.
type window struct {
	slots int
	head  int // the present slot
	words map[string][]int64
}

func newWindow(slots int) *window {
	return &window{slots: slots, words: map[string][]int64{}}
}

// add counts a word in the present slot.
func (w *window) add(word string) {
	counts := w.words[word]
	if counts == nil {
		counts = make([]int64, w.slots)
		w.words[word] = counts
	}
	counts[w.head]++
}

// advance tells each word's count over the window and begins the next slot.
// A word that has left the window is told once more, with 0, and forgotten.
func (w *window) advance(tell func(word string, count int64)) {
	next := (w.head + 1) % w.slots
	for word, counts := range w.words {
		var sum int64
		for _, n := range counts {
			sum += n
		}
		tell(word, sum)
		counts[next] = 0
		if sum == 0 {
			delete(w.words, word)
		}
	}
	w.head = next
}
