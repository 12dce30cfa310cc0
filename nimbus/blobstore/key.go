package blobstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxKey is the most bytes of a key. Storm's own store makes file names of
	// keys, which the same number bounds.
	maxKey = 255
	// maxStem is the longest stem of a file's name. It leaves room for the
	// version and the ending within the 255 bytes that file systems allow.
	maxStem = 200
)

// CheckKey tells whether key may name a blob: Unicode letters, digits, marks
// and connectors, space, tab, ".", "_" and "-", at most 255 bytes, and neither
// "." nor "..". The error is an ErrInvalidKey that says what is wrong.
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidKey)
	case key == "." || key == "..":
		return fmt.Errorf("%w: %q is a directory's name", ErrInvalidKey, key)
	case len(key) > maxKey:
		return fmt.Errorf("%w: %d bytes, more than %d: %.40q…", ErrInvalidKey, len(key), maxKey, key)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: %q is not UTF-8", ErrInvalidKey, key)
	}
	for _, r := range key {
		if !inKey(r) {
			return fmt.Errorf("%w: %q has %q; use letters, digits, space, '.', '_' and '-'", ErrInvalidKey, key, r)
		}
	}
	return nil
}

// inKey is Java's [\w \t._-] with Unicode's word characters.
func inKey(r rune) bool {
	if r < utf8.RuneSelf {
		return plain(byte(r)) || r == ' ' || r == '\t'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}

// plain are the bytes that stand for themselves in names of files.
func plain(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-' || b == '.'
}

// stem is a valid key as the first part of the names of its files: all but
// plain bytes as %XX, and of what is too long the beginning and a hash. Two
// keys never have the same stem, since ~ comes only before the hash.
func stem(key string) string {
	var b strings.Builder
	for i := range len(key) {
		// A leading dot would hide the file.
		if c := key[i]; plain(c) && (i > 0 || c != '.') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	s := b.String()
	if len(s) <= maxStem {
		return s
	}
	sum := sha256.Sum256([]byte(key))
	hash := hex.EncodeToString(sum[:])
	return s[:maxStem-1-len(hash)] + "~" + hash
}
