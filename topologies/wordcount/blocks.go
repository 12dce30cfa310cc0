package wordcount

import "strings"

// cutter cuts pieces of an input, as they come, into blocks of whole words. It
// cuts at ASCII white space only, which is never inside a UTF-8 sequence; a
// word longer than a piece makes its block grow.
type cutter struct {
	// tail is what came after the last cut. It holds no ASCII white space.
	tail []byte
}

// keepTail is the largest buffer that is kept for the next tail.
const keepTail = 1 << 20

// add takes the next piece and returns a block if there is one, else "".
func (c *cutter) add(piece []byte) string {
	cut := len(piece)
	for cut > 0 && classes[piece[cut-1]] != asciiSpace {
		cut--
	}
	if cut == 0 {
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
	var b strings.Builder
	b.Grow(len(c.tail) + len(piece))
	b.Write(c.tail)
	b.Write(piece)
	if cap(c.tail) > keepTail {
		c.tail = nil
	}
	c.tail = c.tail[:0]
	return b.String()
}
