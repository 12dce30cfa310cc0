package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/bench/compare"
)

// TestBenchStormErrors: what is wrong is said before anything is started.
func TestBenchStormErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"bench storm nul", `there is no topology "nul"; there are null, identity, words, python, state`},
		{"bench storm --runs 0", "--runs is 0; it must be at least 1"},
		{"bench storm --value 7", "--value is 7; it must be at least 8"},
		{"bench storm --systems heron", `--systems has "heron"; there are storm, jar, go`},
		{"bench storm --time 0s", "--time is 0s and --warm-up 10s; the first must be positive, the second not negative"},
	} {
		if got := cli(t.Context(), samples(), "", strings.Fields(c.args)...); got.code != 2 || got.stdout != "" || got.stderr != "stormring: "+c.want+"\n" {
			t.Errorf("%s: got %+v", c.args, got)
		}
	}
	if got := cli(t.Context(), samples(), "", "bench", "storm"); got.code != 2 || !strings.Contains(got.stderr, "is missing; scripts/compare-storm sees to that") {
		t.Errorf("got %+v", got)
	}
}

// TestBenchStormRender: page and plots are made of the figures, which stay.
func TestBenchStormRender(t *testing.T) {
	dir := t.TempDir()
	report := compare.Report{Results: []compare.Result{{Topology: "null", Ack: true, System: compare.Storm, Measures: compare.Measures{First: 15}}}}
	body, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	body = append(body, '\n')
	path := filepath.Join(dir, compare.JSONName)
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := cli(t.Context(), samples(), "", "bench", "storm", "--render", "--out", dir); got.code != 0 || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if want := []string{"compare-storm.json", "compare-storm.md", "compare-submit.svg"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(body) {
		t.Errorf("%s has changed: %v\n%s", compare.JSONName, err, again)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := cli(t.Context(), samples(), "", "bench", "storm", "--render", "--out", dir); got.code != 1 || !strings.Contains(got.stderr, "compare-storm.json: unexpected end of JSON input") {
		t.Errorf("got %+v", got)
	}
}
