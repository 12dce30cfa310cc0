package supervisor

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// jarFile is a topology's code among its files.
const jarFile = "stormjar.jar"

// isProgram tells a program of this system from an archive and from nothing.
func isProgram(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	// ELF, and what macOS has instead.
	return bytes.Equal(head, []byte("\x7fELF")) || bytes.Equal(head, []byte("\xcf\xfa\xed\xfe")), nil
}
