package clienttests

import (
	"maps"
	"strings"
	"testing"

	"github.com/stormring/stormring/clienttests/sparse"
)

// TestStreamparse submits a Python topology with streamparse 5.
func TestStreamparse(t *testing.T) {
	tool := sparse.Tool(t)
	var cl *cluster
	if isReference() {
		cl = startReference(t, 0) // its worker would not find streamparse, and end it
	} else {
		sparse.OnPath(t, tool)
		cl = startCluster(t)
	}
	project := sparse.Copy(t, tool, "streamparse", sparse.WithoutSSH(cl.addr))
	jar := project.Jar(t)
	run := func(args ...string) result {
		t.Helper()
		return runCommand(t, project.Command(t, args...), "sparse", args)
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
