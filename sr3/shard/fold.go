package shard

import (
	"bytes"
	"errors"
	"fmt"
)

// MaxChain is how many objects, base included, a chain has before it is folded, and
// LongestChain if its deltas are next to nothing.
const (
	MaxChain     = 8
	LongestChain = 32
)

const (
	// foldAbove is how many times as large as the base deltas may become. Each fold
	// reads and writes the base; with half of that a ring node, most of whose work it is
	// while state changes, would have twice the work, and a recovery, for which holders
	// fold before they send, would send no byte less.
	foldAbove = 2
	// nextToNothing is the part of the base below which deltas may be many: where little
	// of much changes, each fold is of nearly nothing but what did not.
	nextToNothing = 8
	// overdueAbove is foldAbove for Overdue.
	overdueAbove = 4
)

// NeedsFold tells whether a chain, base first, should become one base.
func NeedsFold(chain []Ref) bool {
	base, deltas := chainSizes(chain)
	switch n := len(chain); {
	case n < 2:
		return false
	case n > LongestChain:
		return true
	case n > MaxChain:
		return deltas > base/nextToNothing
	default:
		return deltas > foldAbove*base
	}
}

// Overdue tells whether a chain should have become one base long ago.
func Overdue(chain []Ref) bool {
	base, deltas := chainSizes(chain)
	return len(chain) > 2*LongestChain || deltas > overdueAbove*base
}

// chainSizes are the bytes of a chain's base and of all its deltas.
func chainSizes(chain []Ref) (base, deltas int64) {
	for i, r := range chain {
		if i == 0 {
			base = r.Size
		} else {
			deltas += r.Size
		}
	}
	return base, deltas
}

// Fold makes one base of a chain, base first: for each key what the newest
// object says; deleted keys are gone. Its version is that of the newest. It
// reads all objects side by side, so that beside them and its result it needs
// no memory. Errors wrap ErrDamaged if an object is to blame.
func (c *Codec) Fold(chain []*Object) ([]byte, error) {
	image, o, err := fold(chain)
	if err != nil {
		return nil, err
	}
	return c.seal(image, o), nil
}

func fold(chain []*Object) ([]byte, *Object, error) {
	if err := checkChain(chain); err != nil {
		return nil, nil, err
	}
	newest := chain[len(chain)-1]
	size := headerSize
	cursors := make([]cursor, len(chain))
	for i, o := range chain {
		cursors[i] = newCursor(o)
		size += len(o.image) - headerSize
	}
	if size-headerSize > maxImage {
		return nil, nil, fmt.Errorf("fold %v: %d bytes of objects, more than the %d of one: %w", newest, size, maxImage, ErrTooLarge)
	}
	m := merger{chain: chain, cursors: cursors, image: make([]byte, headerSize, size)}
	if err := m.run(); err != nil {
		return nil, nil, fmt.Errorf("fold: %w", err)
	}
	out := &Object{Kind: Base, Range: newest.Range, Version: newest.Version, Entries: m.entries, image: m.image}
	putHeader(out.image, out)
	return out.image, out, nil
}

// checkChain tells whether objects can follow each other in one chain.
func checkChain(chain []*Object) error {
	if len(chain) == 0 {
		return errors.New("a chain without a base")
	}
	for i, o := range chain {
		switch {
		case i == 0 && o.Kind != Base:
			return fmt.Errorf("a chain that starts with a %v", o)
		case i > 0 && o.Kind != Delta:
			return fmt.Errorf("a chain with a second base, %v", o)
		case o.Range != chain[0].Range:
			return fmt.Errorf("a chain of %v and %v: their slots differ", chain[0], o)
		case i > 0 && o.Version <= chain[i-1].Version:
			return fmt.Errorf("a chain with %v after %v", o, chain[i-1])
		}
	}
	return nil
}

type merger struct {
	chain   []*Object
	cursors []cursor
	image   []byte
	entries int
}

// run goes from one hash of a delta to the next. Most entries are of the base alone
// and lie between two of them: those are copied as they lie there.
func (m *merger) run() error {
	for i := range m.cursors {
		if err := m.advance(i); err != nil {
			return err
		}
	}
	for {
		hash, more := m.nextOfDeltas()
		if err := m.passBase(hash, more); err != nil || !more {
			return err
		}
		if err := m.merge(hash); err != nil {
			return err
		}
	}
}

// nextOfDeltas is the least hash of a delta; false if there are no more.
func (m *merger) nextOfDeltas() (hash uint64, more bool) {
	for i := 1; i < len(m.cursors); i++ {
		if c := &m.cursors[i]; c.ok && (!more || c.hash < hash) {
			hash, more = c.hash, true
		}
	}
	return hash, more
}

// passBase takes over the base's entries below hash, or, without a limit, all.
func (m *merger) passBase(hash uint64, limit bool) error {
	c := &m.cursors[0]
	from := c.off
	for c.ok && (!limit || c.hash < hash) {
		m.entries++
		if err := m.advance(0); err != nil {
			return err
		}
	}
	m.image = append(m.image, c.image[from:c.off]...)
	return nil
}

// merge takes over, of each key with the hash, what the newest object says.
func (m *merger) merge(hash uint64) error {
	for {
		// Of equal keys the last one found is the newest.
		first := -1
		for i := range m.cursors {
			if c := &m.cursors[i]; c.ok && c.hash == hash && (first < 0 || bytes.Compare(c.key, m.cursors[first].key) <= 0) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		key := m.cursors[first].key
		if !m.cursors[first].deleted() {
			m.image = append(m.image, m.cursors[first].raw()...)
			m.entries++
		}
		for i := first; i >= 0; i-- {
			if c := &m.cursors[i]; c.ok && c.hash == hash && bytes.Equal(c.key, key) {
				if err := m.advance(i); err != nil {
					return err
				}
			}
		}
	}
}

func (m *merger) advance(i int) error {
	if err := m.cursors[i].advance(); err != nil {
		return damaged("%v: %v", m.chain[i], err)
	}
	return nil
}
