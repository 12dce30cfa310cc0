package clienttests

import (
	"archive/zip"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStreamparse submits a Python topology with streamparse 5.
func TestStreamparse(t *testing.T) {
	sparse := clients(t, []string{"python3"}, "sparse")
	var cl *cluster
	if isReference() {
		cl = startReference(t, 0) // its worker would not find streamparse, and end it
	} else {
		cl = startCluster(t)
	}
	project := t.TempDir()
	if err := os.CopyFS(project, os.DirFS("streamparse")); err != nil {
		t.Fatal(err)
	}
	jar := filepath.Join(t.TempDir(), "wordcount.jar")
	zipSources(t, filepath.Join(project, "src"), jar)
	run := func(args ...string) result {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), sparse, args...)
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "STREAMPARSE_NIMBUS="+cl.addr, "PYTHONWARNINGS=ignore", "PYTHONDONTWRITEBYTECODE=1", "LEIN_ROOT=1")
		return runCommand(t, cmd, "sparse", args)
	}
	statusIs := func(status string) func() bool {
		return func() bool { return tableRow(run("list").ok(t).out, "wordcount")["status"] == status }
	}

	run("list").ok(t, "No topologies found.\n")
	run("submit", "-n", "wordcount", "-j", jar).ok(t,
		"Using prebuilt JAR: "+jar+"\n",
		"Deploying \"wordcount\" topology...\n",
		"Uploading topology jar "+jar+" to assigned location: ",
		"Submitting wordcount topology to nimbus...done\n")
	await(t, "sparse list shows it as ACTIVE", statusIs("ACTIVE"))
	again := run("submit", "-n", "wordcount", "-j", jar)
	if want := "ValueError: Nimbus says wordcount is an invalid name for a Storm topology.\n"; again.code != 1 || !strings.HasSuffix(again.err, want) {
		t.Errorf("a second submit exits with %d:\n%s", again.code, again.err)
	}
	run("submit", "-n", "wordcount", "-j", jar, "-f", "--wait", "0", "-i").ok(t,
		"Killing current \"wordcount\" topology.\n", "Killed.\n", "Submitting wordcount topology to nimbus...done\n")
	await(t, "sparse list shows it as INACTIVE", statusIs("INACTIVE"))
	missing := run("kill", "-n", "nope")
	if want := "NotAliveException(msg='nope is not alive')\n"; missing.code != 1 || !strings.HasSuffix(missing.err, want) {
		t.Errorf("kill of an unknown name exits with %d:\n%s", missing.code, missing.err)
	}
	run("kill", "-n", "wordcount", "--wait", "0").ok(t)
	await(t, "sparse list shows nothing", func() bool { return strings.Contains(run("list").ok(t).out, "No topologies found.\n") })
}

// zipSources packs a folder as resources/ of a jar, as streamparse has
// Leiningen do.
func zipSources(t *testing.T, from, to string) {
	t.Helper()
	file, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	jar := zip.NewWriter(file)
	scratch := t.TempDir()
	if err := os.CopyFS(filepath.Join(scratch, "resources"), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := jar.AddFS(os.DirFS(scratch)); err != nil {
		t.Fatal(err)
	}
	if err := jar.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// tableRow reads a row of a table that sparse draws, by column. A cell that is
// too long for its column goes on in the lines below.
func tableRow(text, name string) map[string]string {
	var heads, cells []string
	for line := range strings.Lines(text) {
		switch line[0] {
		case '+': // ends a row
			if heads == nil {
				heads, cells = cells, nil // nothing yet at the top line
				continue
			}
			found := make(map[string]string)
			for i, cell := range cells {
				found[heads[i]] = cell
			}
			if found["name"] == name {
				return found
			}
			cells = nil
		case '|':
			for i, cell := range strings.Split(strings.Trim(line, "|\n"), "|") {
				if i == len(cells) {
					cells = append(cells, "")
				}
				cells[i] += strings.TrimSpace(cell)
			}
		}
	}
	return nil
}

func TestTableRow(t *testing.T) {
	const table = `# Topology-specific values
+-------+-------+
|  name | stat  |
|       |  us   |
+=======+=======+
| other | KILL  |
|       | ED    |
+-------+-------+
| wordc | ACTI  |
| ount  | VE    |
+-------+-------+
`
	want := map[string]string{"name": "wordcount", "status": "ACTIVE"}
	if got := tableRow(table, "wordcount"); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := tableRow(table, "none"); got != nil {
		t.Errorf("got %v for none", got)
	}
}
