package wordcount

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// widest is the longest word, in bytes, that a table shows whole.
const widest = 200

// printers are the formats.
var printers = map[string]func(w *bufio.Writer, counts []count){
	"table": table, "tsv": tsv, "json": jsonList,
}

// most sorts counts, the most frequent word first and equal ones by their
// bytes, and returns the first n, or all if n is 0.
func most(counts []count, n int) []count {
	slices.SortFunc(counts, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.n, a.n), strings.Compare(a.word, b.word))
	})
	if n == 0 {
		n = len(counts)
	}
	return counts[:min(n, len(counts))]
}

// write writes counts in a format of printers.
func write(w io.Writer, counts []count, format string) error {
	b := bufio.NewWriterSize(w, 64<<10)
	printers[format](b, counts)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("wordcount: print the result: %w", err)
	}
	return nil
}

// table is for people: words come last, so that a long one harms no column,
// and what a terminal could not show is escaped.
func table(w *bufio.Writer, counts []count) {
	width := len("COUNT")
	if len(counts) > 0 {
		width = max(width, len(strconv.FormatInt(counts[0].n, 10)))
	}
	fmt.Fprintf(w, "%*s  WORD\n", width, "COUNT")
	for _, c := range counts {
		fmt.Fprintf(w, "%*d  %s\n", width, c.n, shown(c.word))
	}
}

// shown is a word as a table shows it.
func shown(word string) string {
	end := ""
	if len(word) > widest {
		cut := widest
		for cut > 0 && !utf8.RuneStart(word[cut]) {
			cut--
		}
		end = fmt.Sprintf("… (%d bytes)", len(word))
		word = word[:cut]
	}
	plain := utf8.ValidString(word) && !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) })
	if plain {
		return word + end
	}
	var b strings.Builder
	for i := 0; i < len(word); {
		r, n := utf8.DecodeRuneInString(word[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, word[i])
		case unicode.IsPrint(r):
			b.WriteString(word[i : i+n])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		i += n
	}
	return b.String() + end
}

// tsv has the words byte by byte as they were; none has a tab or line end.
func tsv(w *bufio.Writer, counts []count) {
	for _, c := range counts {
		fmt.Fprintf(w, "%s\t%d\n", c.word, c.n)
	}
}

func jsonList(w *bufio.Writer, counts []count) {
	var buf []byte
	sep := "["
	for _, c := range counts {
		buf = append(buf[:0], sep...)
		buf = append(buf, "\n  {\"word\": "...)
		buf = appendJSON(buf, c.word)
		buf = append(buf, `, "count": `...)
		buf = strconv.AppendInt(buf, c.n, 10)
		fmt.Fprintf(w, "%s}", buf)
		sep = ","
	}
	if len(counts) == 0 {
		fmt.Fprint(w, "[]\n")
		return
	}
	fmt.Fprint(w, "\n]\n")
}

// appendJSON appends s as a JSON string that keeps bytes that are not UTF-8:
// byte 0xNN becomes \udcNN, as Python's surrogateescape reads and writes it.
func appendJSON(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c, n := s[i], 1
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7F:
			b = fmt.Appendf(b, `\u%04x`, c)
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			if _, n = utf8.DecodeRuneInString(s[i:]); n > 1 {
				b = append(b, s[i:i+n]...)
			} else {
				b = fmt.Appendf(b, `\udc%02x`, c)
			}
		}
		i += n
	}
	return append(b, '"')
}
