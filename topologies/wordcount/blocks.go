package wordcount

import "strings"

// cutter cuts pieces of an input, as they come, into blocks of whole words. It
// cuts at ASCII white space only, which is never inside a UTF-8 sequence; a
// word longer than a piece makes its block grow.
type cutter struct {
	// tail is what came after the last cut, without what is in full. It holds
	// no ASCII white space.
	tail []byte
	// full are earlier parts of a very long tail, so that it need not be
	// copied each time it outgrows its memory.
	full [][]byte
}

// fullTail is from how many bytes on a tail is put aside.
const fullTail = 1 << 20

// add takes the next piece and returns a block if there is one, else "".
func (c *cutter) add(piece []byte) string {
	cut := len(piece)
	for cut > 0 && classes[piece[cut-1]] != asciiSpace {
		cut--
	}
	if cut == 0 {
		if len(c.tail) >= fullTail {
			c.full = append(c.full, c.tail)
			c.tail = make([]byte, 0, fullTail+len(piece))
		}
		c.tail = append(c.tail, piece...)
		return ""
	}
	block := c.join(piece[:cut])
	c.tail = append(c.tail, piece[cut:]...)
	return block
}

// end returns what is left at the end of the input, "" if nothing is.
func (c *cutter) end() string { return c.join(nil) }

// join empties the tail into a block that goes on with piece.
func (c *cutter) join(piece []byte) string {
	size := len(c.tail) + len(piece)
	for _, part := range c.full {
		size += len(part)
	}
	var b strings.Builder
	b.Grow(size)
	for _, part := range c.full {
		b.Write(part)
	}
	b.Write(c.tail)
	b.Write(piece)
	c.tail, c.full = c.tail[:0], nil
	return b.String()
}
