package wordcount

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

const (
	// childEnv holds a folder with an input "in" and a ledger "ledger" and has
	// the test binary run the topology.
	childEnv = "WORDCOUNT_TEST_CHILD"
	// lifeSign is after how many tuples a child shows that it is alive. It does
	// so by signBytes, so that it cannot run far ahead of who reads them.
	lifeSign  = 100
	signBytes = 4 << 10
)

// child counts to the end, or until it is killed.
func child(dir string) int {
	o := &options{spouts: 2, splitters: 1, counters: 2, format: "tsv", ledger: filepath.Join(dir, "ledger"), blockBytes: 256}
	in, err := o.build(storm.Env{Args: []string{filepath.Join(dir, "in")}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c := in.Topology.Components["count"]
	newBolt := c.NewBolt
	var n atomic.Int64
	sign := strings.Repeat(".", signBytes)
	c.NewBolt = func() (storm.Bolt, error) {
		b, err := newBolt()
		return stopper{b, func() {
			if n.Add(1)%lifeSign == 0 {
				fmt.Println(sign)
			}
		}}, err
	}
	top, err := local.New(local.Options{Name: "wordcount", Instance: in})
	if err == nil {
		_, err = top.Run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process is a child.
type process struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startChild(t *testing.T, dir string) process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return process{cmd, bufio.NewScanner(out)}
}

// kill kills the child, as kill -9 does, after so many signs of life; it
// reports whether the child had not ended by itself.
func (p process) kill(t *testing.T, signs int) bool {
	t.Helper()
	for range signs {
		if !p.lines.Scan() {
			break
		}
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Log(err)
	}
	_ = p.cmd.Wait() // it was killed
	return !p.cmd.ProcessState.Exited()
}

// TestLedgerKill kills processes that count, two at a time with one ledger, as
// when a worker lives on somewhere that has been replaced already.
func TestLedgerKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := text(100_000)
	writeFile(t, dir, "in/a", data[:len(data)/2])
	writeFile(t, dir, "in/b", data[len(data)/2:])
	killed := 0
	for round := range 4 {
		first, second := startChild(t, dir), startChild(t, dir)
		for _, did := range []bool{first.kill(t, 10+5*round), second.kill(t, 20+5*round)} {
			if did {
				killed++
			}
		}
	}
	if killed != 8 {
		t.Errorf("only %d processes were killed before their end", killed)
	}
	last := startChild(t, dir)
	for last.lines.Scan() {
		continue // its signs of life must go somewhere
	}
	if err := last.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	want := simple(data[:len(data)/2], data[len(data)/2:])
	if d := diff(readComplete(t, filepath.Join(dir, "ledger")), want); d != "" {
		t.Error(d)
	}
}
