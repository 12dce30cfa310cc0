package command

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stormring/stormring/bench"
)

func TestBenchMultilangTable(t *testing.T) {
	got := cli(t.Context(), samples(), "", strings.Fields("bench multilang -q --time 20ms --warm-up 10ms --runs 1")...)
	for _, line := range []string{
		`^.*, \d+ cores, .*GOGC=\d+; one run of 0\.02 s after 0\.01 s\n\n`,
		` +window +tuples/s +of pipe +p50 +p99 +Go CPU +child CPU +Go/child +allocs +others' CPU +target +met\n`,
		`\n  python pipe +- +\d+( +-){10}\n`,
		`\n  python bolt +1 +\d+ +\d+ % +[0-9.]+[µm]s +[0-9.]+[µm]s .* p50 < 60µs +(yes|no)\n`,
		`\n  python bolt +100 +\d+ +\d+ % +- +- .* of pipe ≥ 85 %(, Go/child < 35 %)? +(yes|no)(, (yes|no))?\n`,
	} {
		if !regexp.MustCompile(line).MatchString(got.stdout) {
			t.Errorf("%s is not in\n%s", line, got.stdout)
		}
	}
	if got.code != 0 || got.stderr != "" {
		t.Errorf("code %d, stderr %q", got.code, got.stderr)
	}
}

func TestBenchMultilangJSONInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var stdout strings.Builder
	stderr := &sink{each: func(p string) {
		if strings.HasPrefix(p, "python bolt window 100, run 1 of 2") {
			interrupt()
		}
	}}
	code := run(ctx, "stormring", samples(), strings.Fields("bench multilang --time 20ms --warm-up 0 --runs 2 --json"), nil, &stdout, stderr)
	var r bench.MultilangReport
	d := json.NewDecoder(strings.NewReader(stdout.String()))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, stdout.String())
	}
	if code != 130 || len(r.Results) != 4 || r.Settings.Runs != 2 || r.Results[0].Child != "python-stock" || r.Results[0].TuplesPerSec < 1 {
		t.Errorf("code %d: %+v", code, r)
	}
	if got := stderr.take(); !strings.HasSuffix(got, "the result is partial: interrupted after 4 measurements\n") {
		t.Errorf("stderr %q", got)
	}
}

func TestBenchMultilangUsage(t *testing.T) {
	for _, args := range []string{"bench multilang x", "bench multilang --runs 0", "bench multilang --time -1s"} {
		if got := cli(t.Context(), samples(), "", strings.Fields(args)...); got.code == 0 || got.stdout != "" || got.stderr == "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
