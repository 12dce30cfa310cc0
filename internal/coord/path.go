package coord

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ValidatePath returns ErrInvalidPath, with the reason, unless path is one that
// ZooKeeper takes: absolute, of segments that are neither empty nor dots, in
// characters that can be shown.
func ValidatePath(path string) error {
	if path == "/" {
		return nil
	}
	if path == "" || path[0] != '/' {
		return fmt.Errorf("%w: it does not start with a slash", ErrInvalidPath)
	}
	if !utf8.ValidString(path) {
		return fmt.Errorf("%w: it is not UTF-8", ErrInvalidPath)
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		switch segment {
		case "":
			return fmt.Errorf("%w: a segment is empty", ErrInvalidPath)
		case ".", "..":
			return fmt.Errorf("%w: %q is not a name", ErrInvalidPath, segment)
		}
	}
	if i := strings.IndexFunc(path, unshowable); i >= 0 {
		r, _ := utf8.DecodeRuneInString(path[i:])
		return fmt.Errorf("%w: character %U at byte %d", ErrInvalidPath, r, i)
	}
	return nil
}

// ValidateCreate is ValidatePath for a znode to create in mode: a sequential
// one may end in a slash, its name is then the number alone. It returns
// ErrInvalidMode for a mode that is none.
func ValidateCreate(path string, mode Mode) error {
	if !mode.Valid() {
		return fmt.Errorf("%w: %d", ErrInvalidMode, int32(mode))
	}
	if mode.IsSequential() {
		path += "0" // as good as any number
	}
	return ValidatePath(path)
}

// unshowable are the characters that ZooKeeper refuses in paths.
func unshowable(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

// Parent is the path of the znode above; that of the root is "/".
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// Base is the last segment of a path, the name by which the parent knows it.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
