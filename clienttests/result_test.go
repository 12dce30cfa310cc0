package clienttests

import (
	"regexp"
	"strings"
	"testing"
)

// Exceptions that nimbus declares, as Java prints them.
const (
	invalidTopology = "InvalidTopologyException"
	alreadyAlive    = "AlreadyAliveException"
	notAlive        = "NotAliveException"
	notAuthorized   = "AuthorizationException"
)

// result is what a command printed, and how it ended.
type result struct {
	command  string
	out, err string
	code     int
}

// ok asserts that the command succeeded and that its output has each text.
func (r result) ok(t *testing.T, texts ...string) result {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("%s: exit code %d\nstdout: %s\nstderr: %s", r.command, r.code, r.out, r.err)
	}
	r.says(t, texts...)
	return r
}

// fails asserts that the command ended with code 1 and that its first line
// on standard error, which Java writes for what main threw, is this.
func (r result) fails(t *testing.T, line string) result {
	t.Helper()
	got, _, _ := strings.Cut(r.err, "\n")
	if want := `Exception in thread "main" ` + line; r.code != 1 || got != want {
		t.Errorf("%s: exit code %d, want 1\n got %s\nwant %s", r.command, r.code, got, want)
	}
	return r
}

// refused asserts that the command ended with an exception of nimbus whose
// message names all these. The wording may be better than Storm's.
func (r result) refused(t *testing.T, exception string, names ...string) result {
	t.Helper()
	got, _, _ := strings.Cut(r.err, "\n")
	_, message, ok := strings.Cut(got, exception+"(msg:")
	if !ok || r.code != 1 {
		t.Errorf("%s: exit code %d, want 1\n got %s\nwant %s(msg:...)", r.command, r.code, got, exception)
	}
	for _, name := range names {
		if !strings.Contains(message, name) {
			t.Errorf("%s: the message does not name %s: %s", r.command, name, got)
		}
	}
	return r
}

// failsLike is fails with a pattern for the line.
func (r result) failsLike(t *testing.T, pattern string) result {
	t.Helper()
	got, _, _ := strings.Cut(r.err, "\n")
	if !regexp.MustCompile(pattern).MatchString(got) || r.code != 1 {
		t.Errorf("%s: exit code %d, want 1\n got %s\nwant %s", r.command, r.code, got, pattern)
	}
	return r
}

// logLine is a line of the clients' own log, which goes to standard output.
var logLine = regexp.MustCompile(`^([0-9:.]{12}|[0-9]+ +) ?\[.*\] (INFO|WARN|ERROR) `)

// printed is standard output without the clients' log.
func (r result) printed() string {
	var lines []string
	for line := range strings.Lines(r.out) {
		if !logLine.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// row is a line of Storm's table of topologies, by column.
type row struct {
	name, status, tasks, workers, uptime, id, owner string
}

// list runs a client's list command and reads its table: nil if it says that
// there is none. The client of 1.2 prints neither id nor owner.
func list(t *testing.T, r runner, class string) map[string]row {
	t.Helper()
	printed := r.run(t, class).ok(t).printed()
	if printed == "No topologies running.\n" {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "Topology_name ") || strings.Trim(lines[1], "-") != "" {
		t.Fatalf("%s does not print a table:\n%s", class, printed)
	}
	rows := make(map[string]row)
	for _, line := range lines[2:] {
		f := append(strings.Fields(line), "", "")
		if len(f) != len(strings.Fields(lines[0]))+2 {
			t.Fatalf("%s: not a row of the table: %q", class, line)
		}
		rows[f[0]] = row{name: f[0], status: f[1], tasks: f[2], workers: f[3], uptime: f[4], id: f[5], owner: f[6]}
	}
	return rows
}

// awaitRow waits until the list has a topology as want says, by all that want
// sets, and returns its row.
func awaitRow(t *testing.T, r runner, class string, want row) row {
	t.Helper()
	var got row
	var all map[string]row
	await(t, "the list shows "+want.name+" with status "+want.status, func() bool {
		all = list(t, r, class)
		got = all[want.name]
		return got.name == want.name && (want.status == "" || got.status == want.status) &&
			(want.tasks == "" || got.tasks == want.tasks) && (want.workers == "" || got.workers == want.workers)
	})
	return got
}

// awaitGone waits until the list has no topology of that name.
func awaitGone(t *testing.T, r runner, class, name string) {
	t.Helper()
	await(t, name+" is gone", func() bool {
		_, there := list(t, r, class)[name]
		return !there
	})
}

// says asserts that the output has each text.
func (r result) says(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.out, text) {
			t.Errorf("%s: no %q in its output:\n%s", r.command, text, r.out)
		}
	}
}
