package command

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stormring/stormring/bench"
)

func TestBenchTable(t *testing.T) {
	got := cli(t.Context(), samples(), "", strings.Fields("bench acked latency-tcp --time 20ms --warm-up 10ms --runs 2 --rate 2000 --compare raw")...)
	table := regexp.MustCompile(`^.*, \d+ cores, .*GOGC=\d+; medians of 2 runs of 0\.02 s after 0\.01 s\n\n` +
		` +M tuples/s +CPU ns +allocs +B +p50 +p99 +max +RSS MiB +others' CPU +raw M/s +raw CPU ns +of raw\n` +
		`  acked       ( +[0-9.]+){4} +- +- +- +\d+ +\d+ % +[0-9.]+ +[0-9.]+ +\d+ %\n` +
		`  latency-tcp ( +[0-9.]+){4}( +[0-9.]+[µm]?s){3} +\d+ +\d+ % +- +- +-\n$`)
	if got.code != 0 || !table.MatchString(got.stdout) {
		t.Errorf("got %d\n%s", got.code, got.stdout)
	}
	const progress = "acked, run 1 of 2\nacked, run 2 of 2\nlatency-tcp, run 1 of 2\nlatency-tcp, run 2 of 2\n"
	if rest, ok := strings.CutPrefix(got.stderr, progress); !ok || rest != "" && !strings.HasPrefix(rest, "other processes used up to ") {
		t.Errorf("stderr %q", got.stderr)
	}
}

func TestBenchJSON(t *testing.T) {
	got := cli(t.Context(), samples(), "", strings.Fields("bench -q unacked --time 20ms --warm-up 0 --runs 1 --json -c topology.producer.batch.size=7")...)
	var r bench.Report
	d := json.NewDecoder(strings.NewReader(got.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v in %+v", err, got)
	}
	if got.code != 0 || got.stderr != "" || len(r.Results) != 1 || r.Results[0].Scenario != "unacked" || r.Results[0].TuplesPerSec < 1 {
		t.Errorf("got %+v", got)
	}
	if s := r.Settings; s.Seconds != 0.02 || s.Runs != 1 || s.Conf["topology.producer.batch.size"] != 7.0 {
		t.Errorf("settings %+v", s)
	}
}

// TestBenchInterrupted: what has been measured is shown.
func TestBenchInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var stdout strings.Builder
	stderr := &sink{each: func(p string) {
		if strings.HasPrefix(p, "any, ") {
			interrupt()
		}
	}}
	code := run(ctx, "stormring", samples(), strings.Fields("bench unacked any tcp --time 20ms --warm-up 0 --runs 1"), nil, &stdout, stderr)
	if code != 130 || strings.Count(stdout.String(), "unacked") != 1 || strings.Contains(stdout.String(), "any") {
		t.Errorf("code %d, stdout %q", code, stdout.String())
	}
	if got := stderr.take(); !strings.HasSuffix(got, "the result is partial: interrupted after 1 of 3 scenarios\n") {
		t.Errorf("stderr %q", got)
	}
}

func TestBenchInterruptedAtOnce(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	want := shown{130, "", "the result is partial: interrupted after 0 of 1 scenarios\n"}
	if got := cli(ctx, samples(), "", "bench", "-q", "acked"); got != want {
		t.Errorf("got %+v", got)
	}
}
