package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRunMultilang: everything is measured, and nothing remains.
func TestRunMultilang(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var begun []string
	report, err := RunMultilang(t.Context(), Options{
		Time: short, WarmUp: short, Runs: 1, Begin: func(what string, _ int) { begun = append(begun, what) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"python-stock pipe", "python bolt window 1", "python bolt ×4 window 100", "python pipe ×4", "python topology window 100"} {
		if !slices.Contains(begun, want) {
			t.Errorf("%s was not measured, only %q", want, begun)
		}
	}
	if len(report.Results) != len(begun) {
		t.Errorf("%d results of %d", len(report.Results), len(begun))
	}
	for _, r := range report.Results {
		if r.TuplesPerSec < 1 || r.OtherCPU < 0 || r.OtherCPU > 1 {
			t.Errorf("%+v", r)
		}
		if pipe := r.What == whatPipe; pipe == (r.OfPipe > 0) || pipe == (r.GoCPUNanos > 0) || pipe == (r.Window > 0) {
			t.Errorf("%+v", r)
		}
		if measured := r.P50Nanos > 0 && r.P50Nanos <= r.P99Nanos; measured != (r.What == whatBolt && r.Window == 1) {
			t.Errorf("%+v", r)
		}
	}
	first := report.Results[0]
	if first.Child != stockPython || first.What != whatPipe || len(first.Targets) != 0 {
		t.Errorf("%+v", first)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 0 {
		t.Errorf("%v remain, %v", left, err)
	}
}

// TestMultilangInterrupted: at any moment; no process and no folder remain.
func TestMultilangInterrupted(t *testing.T) {
	for _, at := range []string{"", "python-stock bolt window 100", "python-stock pipe", "python pipe ×4"} {
		t.Run(at, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			scripts := allScripts()[:1]
			switch {
			case at == "":
				interrupt()
			case strings.HasPrefix(at, "python "):
				scripts = allScripts()[1:2]
			}
			report, err := runMultilang(ctx, scripts, Options{Time: short, Runs: 1, Begin: func(what string, _ int) {
				if what == at {
					time.AfterFunc(short, interrupt)
				}
			}})
			if !errors.Is(err, context.Canceled) || slices.ContainsFunc(report.Results, func(r MultilangResult) bool { return r.TuplesPerSec == 0 }) {
				t.Errorf("%+v, %v", report.Results, err)
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
				t.Errorf("%v remain, %v", left, err)
			}
		})
	}
}

// TestMissingInterpreters: without Python there is an error, without others a
// line.
func TestMissingInterpreters(t *testing.T) {
	python, err := allScripts()[0].interpreter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := RunMultilang(t.Context(), Options{Time: short}); err == nil || !strings.HasPrefix(err.Error(), "python-stock: python3 is not installed") {
		t.Errorf("got %v", err)
	}
	for name, file := range map[string]string{"python3": python, "cat": cat} {
		if err := os.Symlink(file, filepath.Join(os.Getenv("PATH"), name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	report, err := RunMultilang(ctx, Options{Time: short, Begin: func(string, int) { interrupt() }})
	if !errors.Is(err, context.Canceled) || len(report.Skipped) != 2 || !strings.HasPrefix(report.Skipped[0], "node is not installed") {
		t.Errorf("%q, %v", report.Skipped, err)
	}
}

// TestChildThatDies: what it wrote to standard error is told.
func TestChildThatDies(t *testing.T) {
	s := allScripts()[0]
	c, err := s.install(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.path(s.file), []byte("import sys\nsys.exit('on purpose')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.bolts(t.Context(), Options{Time: short}, 2, 10); err == nil || !strings.Contains(err.Error(), "on purpose") {
		t.Errorf("a bolt: %v", err)
	}
	if _, err := newPipes(t.Context(), c, short, 2); err == nil || !strings.Contains(err.Error(), "on purpose") {
		t.Errorf("a pipe: %v", err)
	}
}

func TestResultsOfSeries(t *testing.T) {
	pipe := &series{child: "x", what: whatPipe, executors: 1, runs: []Result{{TuplesPerSec: 100}, {TuplesPerSec: 200}, {TuplesPerSec: 100}}}
	bolt := &series{child: "x", what: whatBolt, executors: 1, window: 100, limit: pipe, runs: []Result{
		{TuplesPerSec: 90, CPUNanos: 3, ChildCPUNanos: 10}, {TuplesPerSec: 160, CPUNanos: 3, ChildCPUNanos: 10}, {TuplesPerSec: 86, CPUNanos: 4, ChildCPUNanos: 10},
	}, targets: []Target{{Figure: figureOfPipe, Min: 0.85}, {Figure: figureGoShare, Max: 0.3}, {Figure: figureP50, Max: 1}}}
	got := []MultilangResult{bolt.result(), pipe.result()}
	if sortResults(got); got[0].What != whatPipe || got[0].TuplesPerSec != 100 || got[0].OfPipe != 0 {
		t.Errorf("%+v", got[0])
	}
	// The shares are 0.9, 0.8 and 0.86. The latency was not measured.
	b := got[1]
	want := []Target{{Figure: figureOfPipe, Min: 0.85, Met: true}, {Figure: figureGoShare, Max: 0.3, Met: false}}
	if b.OfPipe != 0.86 || b.GoShare != 0.3 || !slices.Equal(b.Targets, want) {
		t.Errorf("%+v", b)
	}
}

func TestProcessCPU(t *testing.T) {
	own := ownCPU()
	if got := processCPU(os.Getpid()); machineCPU() > 0 && (got > ownCPU()+20*time.Millisecond || got < own-50*time.Millisecond) {
		t.Errorf("%v, where the system says %v", got, own)
	}
	if got := processCPU(1 << 30); got != 0 {
		t.Errorf("no process has used %v", got)
	}
}
