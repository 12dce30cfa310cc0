package protocol

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stormring/stormring/storm"
)

// jsonParser reads JSON from b at at. hard is a mistake of syntax, after which
// nothing can be read; soft is the first value since it was last reset that is
// well-formed but cannot be carried.
type jsonParser struct {
	b    []byte
	at   int
	hard error
	soft error
	text []byte // of the last string that had escapes
	// short tells that integers of up to 32 bits are storm.Int32.
	short bool
}

var errEnds = errors.New("the JSON ends too early")

func (p *jsonParser) failf(format string, args ...any) {
	if p.hard == nil {
		p.hard = fmt.Errorf(format, args...)
	}
}

func (p *jsonParser) ends() {
	if p.hard == nil {
		p.hard = errEnds
	}
}

func (p *jsonParser) spoil(err error) {
	if p.soft == nil {
		p.soft = err
	}
}

// peek is the next byte that is no white space; 0 at the end.
func (p *jsonParser) peek() byte {
	for p.at < len(p.b) {
		c := p.b[p.at]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		p.at++
	}
	return 0
}

func (p *jsonParser) expect(c byte) {
	switch got := p.peek(); {
	case got == c && p.at < len(p.b):
		p.at++
	case p.at >= len(p.b):
		p.ends()
	default:
		p.failf("%q where %q has to be, at byte %d", got, c, p.at)
	}
}

// take reports whether c comes next, and steps over it.
func (p *jsonParser) take(c byte) bool {
	if p.peek() == c && p.at < len(p.b) {
		p.at++
		return true
	}
	return false
}

// more reports whether another element of a list or map follows the last one,
// and steps over what is between them. first tells that there is none yet.
func (p *jsonParser) more(end byte, first bool) bool {
	if p.hard != nil {
		return false
	}
	if p.take(end) {
		return false
	}
	if !first {
		p.expect(',')
	}
	return p.hard == nil
}

// key reads the key of a map and the colon. It is valid until the next string
// is read.
func (p *jsonParser) key() []byte {
	if p.peek() != '"' {
		p.expect('"')
		return nil
	}
	k := p.bytes()
	p.expect(':')
	return k
}

// bytes reads a string. It is valid until the next is read.
func (p *jsonParser) bytes() []byte {
	p.at++ // the quote
	start := p.at
	for i := start; i < len(p.b); i++ {
		switch c := p.b[i]; {
		case c == '"':
			p.at = i + 1
			return p.b[start:i]
		case c == '\\' || c >= utf8.RuneSelf:
			p.text = append(p.text[:0], p.b[start:i]...)
			p.at = i
			return p.rareBytes()
		case c < ' ':
			p.at = i
			p.failf("a control character in a string, at byte %d", i)
			return nil
		}
	}
	p.at = len(p.b)
	p.ends()
	return nil
}

// rareBytes goes on with a string from its first byte that is not plain ASCII.
func (p *jsonParser) rareBytes() []byte {
	for p.at < len(p.b) {
		c := p.b[p.at]
		switch {
		case c == '"':
			p.at++
			return p.text
		case c == '\\':
			if !p.escape() {
				return nil
			}
		case c < ' ':
			p.failf("a control character in a string, at byte %d", p.at)
			return nil
		case c < utf8.RuneSelf:
			p.text = append(p.text, c)
			p.at++
		default:
			r, size := utf8.DecodeRune(p.b[p.at:])
			if r == utf8.RuneError && size == 1 {
				p.spoil(fmt.Errorf("the string is not UTF-8: byte %#x", c))
				p.text = append(p.text, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			} else {
				p.text = append(p.text, p.b[p.at:p.at+size]...)
			}
			p.at += size
		}
	}
	p.ends()
	return nil
}

func (p *jsonParser) escape() bool {
	if p.at+1 >= len(p.b) {
		p.at = len(p.b)
		p.ends()
		return false
	}
	c := p.b[p.at+1]
	p.at += 2
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return p.unicode()
	default:
		p.failf("%q after a backslash, at byte %d", c, p.at-1)
		return false
	}
	p.text = append(p.text, c)
	return true
}

// unicode reads the digits of an escape, and its other half if it is one of
// two.
func (p *jsonParser) unicode() bool {
	r := p.unit()
	if r < 0 {
		return false
	}
	if !utf16.IsSurrogate(r) {
		p.text = utf8.AppendRune(p.text, r)
		return true
	}
	if p.at+1 < len(p.b) && p.b[p.at] == '\\' && p.b[p.at+1] == 'u' {
		at := p.at
		p.at += 2
		low := p.unit()
		if low < 0 {
			return false
		}
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			p.text = utf8.AppendRune(p.text, both)
			return true
		}
		p.at = at
	}
	p.spoil(fmt.Errorf(`the string has half a character: \u%04x`, r))
	p.text = appendUnit(p.text, r)
	return true
}

func (p *jsonParser) unit() rune {
	if p.at+4 > len(p.b) {
		p.at = len(p.b)
		p.ends()
		return -1
	}
	var r rune
	for _, c := range p.b[p.at : p.at+4] {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r |= rune(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r |= rune(c|0x20-'a') + 10
		default:
			p.failf("%q is no hexadecimal digit, at byte %d", c, p.at)
			return -1
		}
	}
	p.at += 4
	return r
}

// value reads any value.
func (p *jsonParser) value(depth int) storm.Value {
	switch c := p.peek(); c {
	case '"':
		return storm.String(string(p.bytes()))
	case '[':
		p.at++
		return p.list(depth)
	case '{':
		p.at++
		return p.object(depth)
	case 't':
		p.word("true")
		return storm.Bool(true)
	case 'f':
		p.word("false")
		return storm.Bool(false)
	case 'n':
		p.word("null")
		return storm.Nil()
	case 'N', 'I':
		p.notNumber()
		return storm.Nil()
	default:
		if p.at >= len(p.b) {
			p.ends()
			return storm.Nil()
		}
		return p.number()
	}
}

func (p *jsonParser) list(depth int) storm.Value {
	if depth >= maxDepth {
		p.failf("%w", errDepth)
		return storm.Nil()
	}
	vs := []storm.Value{}
	for first := true; p.more(']', first); first = false {
		vs = append(vs, p.value(depth+1))
	}
	return storm.List(vs...)
}

func (p *jsonParser) object(depth int) storm.Value {
	if depth >= maxDepth {
		p.failf("%w", errDepth)
		return storm.Nil()
	}
	m := map[string]storm.Value{}
	for first := true; p.more('}', first); first = false {
		k := string(p.key())
		if p.hard == nil {
			m[k] = p.value(depth + 1)
		}
	}
	return storm.Map(m)
}

// word steps over one of the words of JSON.
func (p *jsonParser) word(w string) {
	if !p.has(w) {
		p.failf("an unknown word at byte %d", p.at)
		return
	}
	p.at += len(w)
}

func (p *jsonParser) has(w string) bool {
	rest := p.b[p.at:]
	if len(rest) < len(w) && w[:len(rest)] == string(rest) {
		p.ends()
		return false
	}
	return len(rest) >= len(w) && string(rest[:len(w)]) == w
}

// notNumber steps over what Python and others write for what JSON cannot say.
func (p *jsonParser) notNumber() {
	for _, w := range []string{"NaN", "Infinity"} {
		if p.has(w) {
			p.at += len(w)
			p.spoil(errNotNum)
			return
		}
	}
	p.failf("an unknown word at byte %d", p.at)
}

// plain is b as text: what is not UTF-8 is written as escapes.
func plain(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			out = append(out, '\\', 'x', hexDigits[b[0]>>4], hexDigits[b[0]&15])
		} else {
			out = append(out, b[:size]...)
		}
		b = b[size:]
	}
	return string(out)
}
