package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/bench/recovery"
	sr3 "github.com/stormring/stormring/sr3/recovery"
)

// TestBenchRecoveryErrors: what is wrong is said before anything is measured.
func TestBenchRecoveryErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"bench recovery evn", `there is no set-up "evn"; there are even, uneven, uneven8, chain, scattered, shared, crossing, gateways, owners, killed, loopback`},
		{"bench recovery --runs 0", "--runs is 0; it must be at least 1"},
	} {
		if got := cli(t.Context(), samples(), "", strings.Fields(c.args)...); got.code != 2 || got.stdout != "" || got.stderr != "stormring: "+c.want+"\n" {
			t.Errorf("%s: got %+v", c.args, got)
		}
	}
	got := cli(t.Context(), samples(), "", "bench", "recovery", "--help")
	if got.code != 0 || !strings.Contains(got.stdout, "  gateways   three streams, two fast hosts a rack\n") || strings.Contains(got.stdout, "role") {
		t.Errorf("got %+v", got)
	}
}

// TestBenchRecoveryRender: the files beside recovery.json are made of it, and it
// stays as it is.
func TestBenchRecoveryRender(t *testing.T) {
	dir := t.TempDir()
	report := recovery.Report{
		Setups:  recovery.Setups(),
		Results: []recovery.Result{{Setup: "even", MiB: 8, Mode: sr3.Star, Taken: sr3.Star, Owners: 1, Seconds: 0.33, Predicted: 0.32, Floor: 0.3}},
	}
	body, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	body = append(body, '\n')
	if err := os.WriteFile(filepath.Join(dir, "recovery.json"), body, 0o600); err != nil {
		t.Fatal(err)
	}
	got := cli(t.Context(), samples(), "", "bench", "recovery", "--render", "--out", dir)
	if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "| 8 | 0.300 | 0.330 | – |") {
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
	if want := []string{"README.md", "prediction.svg", "recovery.json", "size-even.svg"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	if again, err := os.ReadFile(filepath.Join(dir, "recovery.json")); err != nil || string(again) != string(body) {
		t.Errorf("recovery.json has changed: %v\n%s", err, again)
	}
	if err := os.WriteFile(filepath.Join(dir, "recovery.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := cli(t.Context(), samples(), "", "bench", "recovery", "--render", "--out", dir); got.code != 1 || !strings.Contains(got.stderr, "recovery.json: unexpected end of JSON input") {
		t.Errorf("got %+v", got)
	}
}
