package localizer

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestShellComponentsFindBlobsWhereTheyRun is about the blobs of
// topology.blobstore.map, which scripts in resources/ open by their names.
func TestShellComponentsFindBlobsWhereTheyRun(t *testing.T) {
	r := newRig(t)
	r.src.put(topo+"-stormjar.jar", zipOf(t, entry{"resources/own", "of the jar"}, entry{"resources/show.sh", "#!/bin/sh\ncat words pack/f ../words own\n"}))
	r.src.put("words", "old ")
	r.src.put("pack", zipOf(t, entry{"f", "packed "}))
	r.src.put("own", "of a blob")
	r.needs.Blobs = []Entry{{Key: "own", Name: "own"}, {Key: "pack", Name: "pack", Unpack: true}, {Key: "words", Name: "words"}}
	dir := r.localise(false).Dir
	show := func(want string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "./show.sh") // which is executable
		cmd.Dir = filepath.Join(dir, resourcesDir)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Fatalf("%q, not %q: %v", out, want, err)
		}
	}
	show("old packed old of the jar")
	r.src.put("words", "new ")
	r.changed()
	show("new packed new of the jar")
	// And in a generation that shares the files with the one before.
	r.needs.Blobs[1].Restart = true
	r.src.put("pack", zipOf(t, entry{"f", "packed again "}))
	r.open()
	dir = r.localise(true).Dir
	show("new packed again new of the jar")
}

// TestScriptsInJarsCanBeRun is about jars whose files have no permissions.
func TestScriptsInJarsCanBeRun(t *testing.T) {
	r := newRig(t)
	r.src.put(topo+"-stormjar.jar", zipOf(t, entry{"resources/script", "#!/bin/sh\n"}, entry{"resources/program", "\x7fELF..."}, entry{"resources/text", "# !"}, entry{"resources/none", ""}))
	dir := r.localise(false).Dir
	for name, want := range map[string]os.FileMode{"script": 0o755, "program": 0o755, "text": 0o644, "none": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, resourcesDir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, not %v: %v", name, info.Mode(), want, err)
		}
	}
}
