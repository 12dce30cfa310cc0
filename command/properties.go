package command

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// parseProperties reads Java's .properties: a key and a value a line, apart by
// =, : or blanks; a backslash escapes, or joins the next line; lines that begin
// with # or ! are comments. The last of several values of a key counts.
func parseProperties(text string) (map[string]string, error) {
	out := map[string]string{}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := 0; i < len(lines); i++ {
		first := i
		line := strings.TrimLeft(lines[i], blanks)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) {
			line = line[:len(line)-1]
			if i+1 == len(lines) {
				break
			}
			i++
			line += strings.TrimLeft(lines[i], blanks)
		}
		rawKey, rawValue := splitProperty(line)
		key, err := unescape(rawKey)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", first+1, err)
		}
		// An error must not show a secret.
		if out[key], err = unescape(rawValue); err != nil {
			return nil, fmt.Errorf("line %d: the value: %w", first+1, err)
		}
	}
	return out, nil
}

const blanks = " \t\f"

// continues reports whether a line ends in an odd number of backslashes.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// splitProperty splits at the first separator that is not escaped.
func splitProperty(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.IndexByte(blanks+"=:", line[i]) >= 0 {
			end = i
			break
		}
	}
	key, rest := line[:end], strings.TrimLeft(line[end:], blanks)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	return key, rest
}

func unescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		if i++; i == len(text) {
			break
		}
		switch c := text[i]; c {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, n, err := unit(text[i+1:])
			if err != nil {
				return "", err
			}
			i += n
			if utf16.IsSurrogate(r) && strings.HasPrefix(text[i+1:], `\u`) {
				if low, m, err := unit(text[i+3:]); err == nil && utf16.DecodeRune(r, low) != '\uFFFD' {
					r = utf16.DecodeRune(r, low)
					i += 2 + m
				}
			}
			b.WriteRune(r)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// unit reads the four digits of a \u.
func unit(text string) (r rune, length int, err error) {
	const digits = 4
	if len(text) >= digits {
		if n, err := strconv.ParseUint(text[:digits], 16, 16); err == nil {
			return rune(n), digits, nil
		}
	}
	return 0, 0, fmt.Errorf(`\u needs %d hexadecimal digits`, digits)
}
