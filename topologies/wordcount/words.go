package wordcount

// Words are what lies between white space: Unicode's, and the four separators
// U+001C to U+001F, which Python and Java count in too. All other bytes,
// NUL and what is not UTF-8 included, are parts of words.

// Classes of bytes.
const (
	inWord = iota
	asciiSpace
	wideSpace // the first byte of a white space of several bytes, perhaps
)

var classes = [256]uint8{
	'\t': asciiSpace, '\n': asciiSpace, '\v': asciiSpace, '\f': asciiSpace, '\r': asciiSpace, ' ': asciiSpace,
	0x1C: asciiSpace, 0x1D: asciiSpace, 0x1E: asciiSpace, 0x1F: asciiSpace,
	0xC2: wideSpace, 0xE1: wideSpace, 0xE2: wideSpace, 0xE3: wideSpace,
}

// nextWord finds the first word of text at or after from. There is none if
// start is the length of text.
func nextWord(text string, from int) (start, end int) {
	i := from
	for i < len(text) {
		c := classes[text[i]]
		if c == asciiSpace {
			i++
			continue
		}
		n := 0
		if c == wideSpace {
			n = wideSpaceAt(text[i:])
		}
		if n == 0 {
			break
		}
		i += n
	}
	start = i
	for i < len(text) {
		c := classes[text[i]]
		if c == asciiSpace || c == wideSpace && wideSpaceAt(text[i:]) > 0 {
			break
		}
		i++
	}
	return start, i
}

// wideSpaceAt is the length of the white space of several bytes that s begins
// with, 0 if it begins with none. Looking for it byte by byte is right: the
// first byte of a UTF-8 sequence is never part of another one, valid or not.
func wideSpaceAt(s string) int {
	switch {
	case len(s) < 2:
		return 0
	case s[0] == 0xC2:
		if s[1] == 0x85 || s[1] == 0xA0 { // next line, no-break space
			return 2
		}
		return 0
	case len(s) < 3:
		return 0
	}
	third, space := s[2], false
	switch [2]byte{s[0], s[1]} {
	case [2]byte{0xE1, 0x9A}: // U+1680
		space = third == 0x80
	case [2]byte{0xE2, 0x80}: // U+2000 to U+200A, U+2028, U+2029, U+202F
		space = third >= 0x80 && third <= 0x8A || third == 0xA8 || third == 0xA9 || third == 0xAF
	case [2]byte{0xE2, 0x81}: // U+205F
		space = third == 0x9F
	case [2]byte{0xE3, 0x80}: // U+3000
		space = third == 0x80
	}
	if space {
		return 3
	}
	return 0
}
