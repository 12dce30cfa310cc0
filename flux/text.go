package flux

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxFileBytes bounds a file, before and after replacement.
const maxFileBytes = 4 << 20

// source is a file's text as the YAML parser gets it, and the way back to
// where everything stood.
type source struct {
	file  string
	text  string
	lines []line // of text
}

// line is where a line of the text came from.
type line struct {
	number int   // in the file
	from   int   // runes of the file's line before it
	edits  []cut // sorted
}

// cut is a replacement: runes [at, at+now) of the text were `was` runes of
// the file. Those before it have moved what follows by shift.
type cut struct{ at, now, was, shift int }

// replaced notes the next replacement of the line.
func (l *line) replaced(at, now, was int) {
	l.edits = append(l.edits, cut{at: at, now: now, was: was, shift: l.shift(len(l.edits))})
}

// shift is how far the first n edits have moved what follows them.
func (l *line) shift(n int) int {
	if n == 0 {
		return 0
	}
	last := l.edits[n-1]
	return last.shift + last.was - last.now
}

// place is where rune column of line number in the text stands in the file;
// both count from 1.
func (s *source) place(number, column int) Place {
	if number < 1 || number > len(s.lines) {
		return Place{File: s.file, Line: max(number, 1), Column: max(column, 1)}
	}
	l := s.lines[number-1]
	n, _ := slices.BinarySearchFunc(l.edits, column, func(e cut, column int) int { return cmp.Compare(e.at, column) })
	if n > 0 && column-1 < l.edits[n-1].at+l.edits[n-1].now {
		column = l.edits[n-1].at + 1
		n--
	}
	return Place{File: s.file, Line: l.number, Column: l.from + column + l.shift(n)}
}

// prepare makes the parser's text of a file: without byte order mark, with
// plain line ends, and with ${…} replaced, line by line as Flux does it.
func (l *loader) prepare(file string, raw []byte) *source {
	s := &source{file: file}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	switch {
	case len(raw) > maxFileBytes:
		l.fail(Place{File: file}, "", "has %d bytes; a topology's file has at most %d", len(raw), maxFileBytes)
		return nil
	case bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")):
		l.fail(Place{File: file, Line: 1, Column: 1}, "", "is UTF-16; save it as UTF-8")
		return nil
	}
	text := plainEnds(string(raw))
	var b strings.Builder
	number := 0
	for old := range strings.Lines(text) {
		number++
		if !l.readable(s, number, old) {
			return nil
		}
		l.replaceLine(s, &b, number, old)
		if b.Len() > maxFileBytes {
			l.fail(Place{File: file, Line: number, Column: 1}, "", "has more than %d bytes with its properties replaced", maxFileBytes)
			return nil
		}
	}
	s.text = b.String()
	return s
}

// plainEnds is text with the line ends of Unix.
func plainEnds(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// readable refuses what is no text.
func (l *loader) readable(s *source, number int, text string) bool {
	column := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		column++
		switch {
		case r == utf8.RuneError && size == 1:
			l.fail(Place{File: s.file, Line: number, Column: column}, "", "byte %#02x is not UTF-8; save the file as UTF-8", text[i])
			return false
		case r < ' ' && r != '\t' && r != '\n' || r == 0x7f:
			l.fail(Place{File: s.file, Line: number, Column: column}, "", "holds the control character %#02x; write it as an escape in double quotes", r)
			return false
		}
		i += size
	}
	return true
}

// reference is what is replaced: the innermost ${…} of a line.
var reference = regexp.MustCompile(`\$\{([^${}]+)\}`)

// replaceLine appends a line with its references replaced.
func (l *loader) replaceLine(s *source, b *strings.Builder, number int, old string) {
	now := line{number: number}
	column := 0 // in runes, in the line of the new text
	begin := func(from int) {
		s.lines = append(s.lines, now)
		now, column = line{number: number, from: from}, 0
	}
	done := 0            // bytes of old that are written
	seen, before := 0, 0 // bytes of old before the reference, and their runes
	if !strings.HasPrefix(strings.TrimLeft(old, " \t"), "#") {
		for _, m := range reference.FindAllStringSubmatchIndex(old, -1) {
			before += utf8.RuneCountInString(old[seen:m[0]])
			seen = m[0]
			at := Place{File: s.file, Line: number, Column: before + 1}
			value, ok := l.property(at, old[m[2]:m[3]])
			if !ok {
				continue
			}
			value = plainEnds(value)
			b.WriteString(old[done:m[0]])
			b.WriteString(value)
			column += utf8.RuneCountInString(old[done:m[0]])
			done = m[1]
			parts := strings.Split(value, "\n")
			for i, part := range parts {
				if i > 0 {
					begin(at.Column - 1)
				}
				was := 0
				n := utf8.RuneCountInString(part)
				if i == len(parts)-1 {
					was = utf8.RuneCountInString(old[m[0]:m[1]])
				}
				now.replaced(column, n, was)
				column += n
			}
		}
	}
	b.WriteString(old[done:])
	s.lines = append(s.lines, now)
}

// property is the value for ${name}, and whether there is one.
func (l *loader) property(at Place, name string) (string, bool) {
	if list, index, ok := element(name); ok {
		return l.elementOf(at, list, index)
	}
	if env, ok := strings.CutPrefix(name, "ENV-"); ok && env != "" && l.o.Env != nil {
		value, ok := l.o.Env(env)
		if !ok {
			l.warn(at, "", "${%s} is left as it is: the environment has no %s", name, env)
		}
		return value, ok
	}
	value, ok := l.o.Properties[name]
	switch {
	case ok:
	case strings.HasPrefix(name, "ENV-") && l.o.Env == nil:
		l.warn(at, "", "${%s} is left as it is: use --env-filter to have the environment's values", name)
	case l.o.Properties == nil:
		l.warn(at, "", "${%s} is left as it is: name a file with its value by --filter", name)
	default:
		l.warn(at, "", "${%s} is left as it is: the --filter file has no such property%s", name, l.meant(name))
	}
	return value, ok
}

// meant hints at the property that is most like name.
func (l *loader) meant(name string) string {
	known := make([]string, 0, len(l.o.Properties))
	for k := range l.o.Properties {
		known = append(known, k)
	}
	slices.Sort(known)
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf(", but %s", near)
	}
	return ""
}

// element splits name[3].
func element(name string) (list string, index int, ok bool) {
	list, rest, found := strings.Cut(name, "[")
	digits, closed := strings.CutSuffix(rest, "]")
	if !found || !closed || list == "" || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", 0, false
	}
	index, err := strconv.Atoi(digits)
	return list, index, err == nil
}

// elementOf is an element of a property that is a list: ["a", "b"].
func (l *loader) elementOf(at Place, list string, index int) (string, bool) {
	text, ok := l.o.Properties[list]
	if !ok {
		l.warn(at, "", "${%s[%d]} is left as it is: there is no property %s%s", list, index, list, l.meant(list))
		return "", false
	}
	text = strings.TrimSpace(text)
	inner, closed := strings.CutSuffix(text, "]")
	inner, opened := strings.CutPrefix(inner, "[")
	if !opened || !closed {
		l.fail(at, "", "property %s is %s, but ${%s[%d]} wants a list such as [\"a\", \"b\"]", list, shown(text), list, index)
		return "", false
	}
	parts := strings.Split(inner, ",")
	if index >= len(parts) {
		l.fail(at, "", "property %s has %d elements; ${%s[%d]} wants one more; they count from 0", list, len(parts), list, index)
		return "", false
	}
	part := strings.TrimSpace(parts[index])
	for _, quote := range []string{`"`, `'`} {
		if len(part) > 1 && strings.HasPrefix(part, quote) && strings.HasSuffix(part, quote) {
			part = part[1 : len(part)-1]
			break
		}
	}
	return part, true
}
