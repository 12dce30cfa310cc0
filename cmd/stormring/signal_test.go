package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

var oneWord = regexp.MustCompile(`^word\t(\d+)\n$`)

// TestSignals: what has been read is counted and printed, marked as partial.
func TestSignals(t *testing.T) {
	for name, sig := range map[string]os.Signal{"SIGINT": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdin, much := endless(t)
			p := stormring(t, "local", "wordcount", "--input", "-", "--format", "tsv", "--workers", "2")
			p.Stdin = stdin
			p.start(t)
			<-much
			p.Process.Signal(sig)
			if code := p.end(t); code != 130 {
				t.Errorf("code %d, stderr %q", code, p.err.String())
			}
			m := oneWord.FindStringSubmatch(p.out.String())
			if m == nil {
				t.Fatalf("stdout %q", p.out.String())
			}
			if n, _ := strconv.Atoi(m[1]); n < 200_000 {
				t.Errorf("%d words of 409,600", n)
			}
			for _, want := range []string{
				"interrupted: finishing what is under way; once more ends at once\n",
				"the result is partial: the run was interrupted before all input was processed\n",
			} {
				if !strings.Contains(p.err.String(), want) {
					t.Errorf("no %q in %q", want, p.err.String())
				}
			}
		})
	}
}

// TestSignalWithoutInput: the program waits for input that never comes, be it
// from a pipe that nobody has opened yet, and ends all the same.
func TestSignalWithoutInput(t *testing.T) {
	t.Parallel()
	pipe := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	p := stormring(t, "local", "wordcount", "--input", "-", "--input", pipe, "--spouts", "2", "--metrics-addr", "127.0.0.1:0")
	p.Stdin = r
	p.start(t)
	p.err.await(t, "metrics are served")
	p.Process.Signal(os.Interrupt)
	if code := p.end(t); code != 130 || p.out.String() != "COUNT  WORD\n" || !strings.Contains(p.err.String(), "is partial") {
		t.Errorf("code %d, %q, %q", code, p.out.String(), p.err.String())
	}
}

// TestHangUp: a terminal that is closed ends the program at once.
func TestHangUp(t *testing.T) {
	t.Parallel()
	stdin, much := endless(t)
	p := stormring(t, "local", "wordcount", "--input", "-")
	p.Stdin = stdin
	p.start(t)
	<-much
	p.Process.Signal(syscall.SIGHUP)
	if p.end(t); p.ProcessState.String() != "signal: hangup" || p.out.String() != "" {
		t.Errorf("%s, %q", p.ProcessState, p.out.String())
	}
}
