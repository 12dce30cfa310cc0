package words

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("one\r\n\n two words \nthree"), 0o644); err != nil {
		t.Fatal(err)
	}
	lines, err := Load(path)
	if want := []string{"one", "two words", "three"}; err != nil || !slices.Equal(lines, want) {
		t.Errorf("%q, %v; want %q", lines, err, want)
	}
	if lines, err := Load(""); err != nil || len(lines) == 0 {
		t.Errorf("the text that is built in: %d lines, %v", len(lines), err)
	}
}
