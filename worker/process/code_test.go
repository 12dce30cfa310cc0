package process

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

// A shell component runs where the topology's resources are, gets its script as
// one argument, and has its integers be what Storm of the submitter's version
// makes of them.
func TestShellComponents(t *testing.T) {
	dir := t.TempDir()
	for version, short := range map[string]bool{"": false, "2.5.0": false, "2.6.0": true, "2.8.8": true} {
		top := cluster.Topology{StormVersion: version, Components: map[string]cluster.Component{"b": {}}}
		spec := newCode(Config{Code: dir}, top, storm.Config{}).shell("b", &cluster.Shell{Command: "streamparse_run", Script: "-s json a.B"})
		if spec.Dir != dir || !slices.Equal(spec.Argv, []string{"streamparse_run", "-s json a.B"}) || spec.ShortIntegers != short {
			t.Errorf("version %q: %+v", version, spec)
		}
	}
	if spec := newCode(Config{Code: filepath.Join(dir, "x")}, cluster.Topology{}, nil).shell("b", &cluster.Shell{Command: "a"}); len(spec.Argv) != 1 {
		t.Errorf("%q", spec.Argv)
	}
}
