// Package sparse is what the tests with streamparse share: projects that are
// submitted with the real sparse, and the truth about what they count.
//
// Begin at Quickstart and Sample, which make a project; counts.go knows what its
// topology has to say, process.go finds the Python processes of a worker.
// Only tests import it, from folders next to scripts/.
package sparse

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stormring/stormring/clienttests/fetch"
)

// Tool is the path of streamparse's sparse, which scripts/clients installs. A
// test is skipped without Python, except where CI is set.
func Tool(tb testing.TB) string {
	tb.Helper()
	return fetch.Client(tb, []string{"python3"}, "sparse")
}

// hasLeiningen reports whether sparse can build jars. Where CI is set it can.
func hasLeiningen(tb testing.TB) bool {
	tb.Helper()
	if _, err := exec.LookPath("lein"); err != nil && os.Getenv("CI") == "" {
		tb.Log("there is no lein here: the jar is made by the test, not by sparse")
		return false
	}
	fetch.Client(tb, nil, "lein")
	return true
}

// OnPath has the workers that the test starts find streamparse_run.
func OnPath(t *testing.T, tool string) {
	t.Helper()
	t.Setenv("PATH", filepath.Dir(tool)+":"+os.Getenv("PATH"))
}

// Project is a folder with a streamparse project.
type Project struct {
	Dir  string
	tool string
}

// Quickstart has sparse make the project that every user begins with; only its
// config.json is edited, as every user has to.
func Quickstart(tb testing.TB, tool string, config map[string]any) *Project {
	tb.Helper()
	p := &Project{Dir: filepath.Join(tb.TempDir(), "wordcount"), tool: tool}
	cmd := command(tb, tool, filepath.Dir(p.Dir), "quickstart", "wordcount")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("sparse quickstart: %v\n%s", err, out)
	}
	p.configure(tb, config)
	return p
}

// Sample is a copy of the project in topologies/streamparse.
func Sample(tb testing.TB, tool string, config map[string]any) *Project {
	tb.Helper()
	return Copy(tb, tool, "../topologies/streamparse", config)
}

// Copy is a copy of some project, with more in its config.json.
func Copy(tb testing.TB, tool, from string, config map[string]any) *Project {
	tb.Helper()
	p := &Project{Dir: filepath.Join(tb.TempDir(), "project"), tool: tool}
	if err := os.CopyFS(p.Dir, os.DirFS(from)); err != nil {
		tb.Fatal(err)
	}
	p.configure(tb, config)
	return p
}

// configure sets keys in the only environment of config.json.
func (p *Project) configure(tb testing.TB, keys map[string]any) {
	tb.Helper()
	file := filepath.Join(p.Dir, "config.json")
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	envs, _ := config["envs"].(map[string]any)
	for _, env := range envs {
		if env, ok := env.(map[string]any); ok && len(envs) == 1 {
			maps.Copy(env, keys)
		}
	}
	if text, err = json.Marshal(config); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// WithoutSSH are the keys of config.json that a cluster needs which has
// streamparse installed, and sparse run beside nimbus.
func WithoutSSH(nimbus string) map[string]any {
	return map[string]any{"nimbus": nimbus, "use_ssh_for_nimbus": false, "use_virtualenv": false}
}

// Command is sparse with arguments, in the project.
func (p *Project) Command(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	return command(tb, p.tool, p.Dir, args...)
}

func command(tb testing.TB, tool, dir string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), tool, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONWARNINGS=ignore", "PYTHONDONTWRITEBYTECODE=1", "LEIN_ROOT=1")
	return cmd
}

// Built are the arguments of submit for the jar: none if sparse can build it.
func (p *Project) Built(tb testing.TB) []string {
	tb.Helper()
	if hasLeiningen(tb) {
		return nil
	}
	return []string{"-j", p.Jar(tb)}
}

// Jar packs src as the resources of a jar, as sparse has Leiningen do.
func (p *Project) Jar(tb testing.TB) string {
	tb.Helper()
	scratch := tb.TempDir()
	if err := os.CopyFS(filepath.Join(scratch, "content", "resources"), os.DirFS(filepath.Join(p.Dir, "src"))); err != nil {
		tb.Fatal(err)
	}
	to := filepath.Join(scratch, "project.jar")
	file, err := os.Create(to)
	if err != nil {
		tb.Fatal(err)
	}
	jar := zip.NewWriter(file)
	if err := errors.Join(jar.AddFS(os.DirFS(filepath.Join(scratch, "content"))), jar.Close(), file.Close()); err != nil {
		tb.Fatal(err)
	}
	return to
}
