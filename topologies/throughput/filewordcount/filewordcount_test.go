package filewordcount

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

func instance(args ...string) (*storm.Instance, error) {
	return Definition().Instance(storm.Env{Args: args})
}

func TestBadFile(t *testing.T) {
	blank := filepath.Join(t.TempDir(), "blank")
	if err := os.WriteFile(blank, []byte("\n \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{blank, blank + "not"} {
		if _, err := instance("--file", path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
