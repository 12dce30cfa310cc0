package wordcount

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

// smallBlocks builds the topology with a ledger of small blocks.
func smallBlocks(t fataler, dir string, paths ...string) *storm.Instance {
	t.Helper()
	o := &options{spouts: 2, splitters: 2, counters: 3, format: "tsv", ledger: dir, blockBytes: 256}
	in, err := o.build(storm.Env{Args: paths})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// text is n words, some of them often, in lines.
func text(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("w" + strconv.Itoa(i*i%1009%(1+i%97)) + " \n"[i%11/10:][:1])
	}
	return b.String()
}

// readComplete reads a ledger that must be complete.
func readComplete(t fataler, dir string) map[string]int64 {
	t.Helper()
	counts, complete, err := ReadLedger(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !complete {
		t.Fatal("the ledger is not complete")
	}
	return counts
}

func TestLedgerOddInputs(t *testing.T) {
	dir, ledger := t.TempDir(), t.TempDir()
	var all []string
	for name, data := range oddInputs() {
		writeFile(t, dir, name, data)
		all = append(all, data)
	}
	for _, workers := range []int{1, 2} {
		// The second run finds the ledger complete.
		out, err := run(t, nil, workers, "--top", "0", "--format", "tsv", "--spouts", "2", "--sync", "--ledger", ledger, dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(parseTSV(t, out), simple(all...)); d != "" {
			t.Error(d)
		}
	}
	files, err := filepath.Glob(filepath.Join(ledger, countsPrefix+"*"))
	if err != nil || len(files) != 2 {
		t.Errorf("counts files %q, %v; the second run had nothing to count", files, err)
	}
	if d := diff(readComplete(t, ledger), simple(all...)); d != "" {
		t.Error(d)
	}
}

// chaos makes bolts fail, forget, double and panic.
type chaos struct {
	executed atomic.Int64
	panics   atomic.Int64 // how many are left
}

// chaotic is a bolt with chaos.
type chaotic struct {
	storm.Bolt
	chaos *chaos
	out   *storm.OutputCollector
	every int64 // a panic, in tuples
}

func (b *chaotic) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	b.out = out
	return b.Bolt.Prepare(ctx, out)
}

func (b *chaotic) Execute(t storm.Tuple) error {
	n := b.chaos.executed.Add(1)
	switch {
	case n%b.every == 0 && b.chaos.panics.Add(-1) >= 0:
		panic("chaos")
	case n%997 == 0:
		b.out.Fail(&t)
		return nil
	case n%1009 == 0:
		if err := b.Bolt.Execute(t); err != nil {
			return err
		}
		b.out.Fail(&t) // it was processed all the same
		return nil
	case n%103 == 0:
		// Once more, outside of its tree.
		if err := b.Bolt.Execute(storm.NewTuple(t.Origin(), t.Dst(), nil, t.Values()...)); err != nil {
			return err
		}
	}
	return b.Bolt.Execute(t)
}

// TestLedgerChaos has workers fail and tuples be replayed all the time.
func TestLedgerChaos(t *testing.T) {
	t.Run("one worker", func(t *testing.T) {
		// Without connections there is nothing that virtual time does not know.
		synctest.Test(t, func(t *testing.T) { runChaos(t, 1, 3) })
	})
	t.Run("three workers", func(t *testing.T) {
		t.Parallel()
		runChaos(t, 3, 1)
	})
}

// runChaos has each bolt panic so many times.
func runChaos(t *testing.T, workers int, panics int64) {
	t.Helper()
	dir, ledger := t.TempDir(), t.TempDir()
	data := text(20_000)
	in := smallBlocks(t, ledger, writeFile(t, dir, "a", data[:len(data)/3]), writeFile(t, dir, "b", data[len(data)/3:]))
	for component, every := range map[string]int64{"split": 150, "count": 4000} {
		c := in.Topology.Components[component]
		newBolt, ch := c.NewBolt, &chaos{}
		ch.panics.Store(panics)
		c.NewBolt = func() (storm.Bolt, error) {
			b, err := newBolt()
			return &chaotic{Bolt: b, chaos: ch, every: every}, err
		}
	}
	conf := storm.Config{}
	conf.SetNumWorkers(workers)
	conf.SetMessageTimeoutSecs(1)
	top, err := local.New(local.Options{Name: "wordcount", Instance: in, Conf: conf})
	if err != nil {
		t.Fatal(err)
	}
	res, err := top.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.Partial || res.Restarts == 0 || res.Totals.Failed == 0 {
		t.Errorf("result %+v", res)
	}
	if p := in.Progress(); p != 1 {
		t.Errorf("progress %v", p)
	}
	t.Logf("%d restarts, %d of %d blocks failed, took %v", res.Restarts, res.Totals.Failed, res.Totals.Emitted, res.Took)
	want := simple(data[:len(data)/3], data[len(data)/3:])
	if d := diff(readComplete(t, ledger), want); d != "" {
		t.Error(d)
	}
}

// TestLedgerInterrupted stops a run early; another one goes on, with other
// numbers of tasks.
func TestLedgerInterrupted(t *testing.T) {
	dir, ledger := t.TempDir(), t.TempDir()
	data := text(30_000)
	path := writeFile(t, dir, "a", data)
	in := smallBlocks(t, ledger, path)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := in.Topology.Components["count"]
	newBolt := c.NewBolt
	var n atomic.Int64
	c.NewBolt = func() (storm.Bolt, error) {
		b, err := newBolt()
		return stopper{b, func() {
			if n.Add(1) == 5000 {
				cancel()
			}
		}}, err
	}
	top, err := local.New(local.Options{Name: "wordcount", Instance: in})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := top.Run(ctx); err != nil || !res.Partial {
		t.Fatalf("result %+v, %v", res, err)
	}
	var out strings.Builder
	if err := in.Report(&out, true); err != nil {
		t.Fatal(err)
	}
	some := parseTSV(t, out.String())
	want := simple(data)
	if len(some) == 0 || diff(some, want) == "" {
		t.Fatal("nothing or everything was counted; the test is pointless")
	}
	only, err := instance(nil, "--ledger", ledger, "--report-only", "--top", "0", "--format", "tsv", "no such input")
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := only.Report(&out, false); err == nil || !strings.Contains(err.Error(), "is not complete yet") || diff(parseTSV(t, out.String()), some) != "" {
		t.Errorf("report only: %v", err)
	}
	if _, err := instance(nil, "--ledger", ledger, path); err == nil || !strings.Contains(err.Error(), "is of other inputs") {
		t.Errorf("other blocks: %v", err)
	}
	o := &options{spouts: 3, splitters: 1, counters: 1, format: "tsv", ledger: ledger, blockBytes: 256}
	if in, err = o.build(storm.Env{Args: []string{path}}); err != nil {
		t.Fatal(err)
	}
	if _, err := runInstance(t, in, 2); err != nil {
		t.Fatal(err)
	}
	if got, err := runInstance(t, only, 1); err != nil || diff(parseTSV(t, got), want) != "" {
		t.Errorf("report only: %v", err)
	}
}

// stopper calls a function before each tuple.
type stopper struct {
	storm.Bolt
	do func()
}

func (b stopper) Execute(t storm.Tuple) error {
	b.do()
	return b.Bolt.Execute(t)
}

// fullDisk gives a counter a file that takes nothing.
type fullDisk struct{ *ledgerCounter }

func (b fullDisk) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	if err := b.ledgerCounter.Prepare(ctx, out); err != nil {
		return err
	}
	var err error
	b.file, err = os.OpenFile("/dev/full", os.O_WRONLY, 0)
	return err
}

// TestLedgerDiskFull has no write succeed at first.
func TestLedgerDiskFull(t *testing.T) {
	t.Parallel()
	dir, ledger := t.TempDir(), t.TempDir()
	data := text(3000)
	in := smallBlocks(t, ledger, writeFile(t, dir, "a", data))
	c := in.Topology.Components["count"]
	newBolt := c.NewBolt
	var n atomic.Int64
	var log strings.Builder // the handler writes in turn
	c.NewBolt = func() (storm.Bolt, error) {
		b, err := newBolt()
		counter, ok := b.(*ledgerCounter)
		if !ok || n.Add(1) > 3 {
			return b, err
		}
		return fullDisk{counter}, err
	}
	conf := storm.Config{}
	conf.SetMessageTimeoutSecs(1)
	top, err := local.New(local.Options{Name: "wordcount", Instance: in, Conf: conf, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	res, err := top.Run(t.Context())
	if err != nil || res.Restarts != 1 {
		t.Errorf("result %+v, %v", res, err)
	}
	if want := "wordcount: write to the ledger: write /dev/full: no space left on device"; !strings.Contains(log.String(), want) {
		t.Errorf("not told: %s", log.String())
	}
	if d := diff(readComplete(t, ledger), simple(data)); d != "" {
		t.Error(d)
	}
}

func TestLedgerUsage(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--ledger", dir, "-"}, "must be regular files, not standard input"},
		{[]string{"--ledger", dir, pipe}, fmt.Sprintf("must be regular files; %q is none", pipe)},
		{[]string{"--ledger", dir, "/proc/self/status"}, `"/proc/self/status" does not tell its size`},
		{[]string{"--ledger", "here", "/dev/null"}, "must be an absolute path"},
		{[]string{"--report-only"}, "name it with --ledger"},
		{[]string{"--sync"}, "name it with --ledger"},
	} {
		_, err := instance(strings.NewReader(""), c.args...)
		if !errors.Is(err, storm.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("files %v, %v; nothing is to be written before a task begins", files, err)
	}
}

func BenchmarkWordsPerSecond(b *testing.B) {
	const words = 2_000_000
	path := writeFile(b, b.TempDir(), "text", text(words))
	for _, mode := range []string{"plain", "ledger", "ledger sync"} {
		b.Run(mode, func(b *testing.B) {
			root := b.TempDir()
			for i := 0; b.Loop(); i++ {
				args := []string{"--top", "1", path}
				if mode != "plain" {
					args = append([]string{"--ledger", filepath.Join(root, strconv.Itoa(i)), "--sync=" + strconv.FormatBool(mode != "ledger")}, args...)
				}
				if _, err := run(b, nil, 1, args...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(words*float64(b.N)/b.Elapsed().Seconds(), "words/s")
		})
	}
}
