package checkpoint

// backlog is a long list that grows without ever being copied: a second's acks may
// be millions, and a copy of them would be a pause of the task.
type backlog[A any] struct{ blocks [][]A }

// The first block has room for few, each next one for twice as many, up to blockMax.
const (
	blockMin = 64
	blockMax = 8192
)

func (l *backlog[A]) add(a A) {
	n := len(l.blocks) - 1
	if n < 0 {
		l.blocks = append(l.blocks, make([]A, 0, blockMin))
		n = 0
	} else if size := cap(l.blocks[n]); len(l.blocks[n]) == size {
		l.blocks = append(l.blocks, make([]A, 0, min(2*size, blockMax)))
		n++
	}
	l.blocks[n] = append(l.blocks[n], a)
}

// take empties the list and gives what was in it, block by block.
func (l *backlog[A]) take() [][]A {
	blocks := l.blocks
	l.blocks = nil
	return blocks
}
