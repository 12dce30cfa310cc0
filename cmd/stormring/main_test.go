package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// asProgram makes a process of this test binary be stormring.
const asProgram = "STORMRING_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// patience is how long a process may take; it is killed then.
const patience = 60 * time.Second

// process is stormring as a process of its own.
type process struct {
	*exec.Cmd
	out bytes.Buffer
	err watched
}

// stormring prepares a process with nothing on standard input. It reads no
// configuration of the machine's user.
func stormring(t *testing.T, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	none := t.TempDir()
	p := &process{Cmd: exec.CommandContext(t.Context(), exe)}
	p.Args = append([]string{"stormring"}, args...)
	p.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0", "STORM_CONF_DIR="+none, "HOME="+none)
	p.Stdout, p.Stderr = &p.out, &p.err
	return p
}

// start starts the process.
func (p *process) start(t *testing.T) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(patience, func() { p.Process.Kill() })
	t.Cleanup(func() { overdue.Stop() })
}

// end waits for the process and returns its exit code; -1 if a signal ended it.
func (p *process) end(t *testing.T) int {
	t.Helper()
	err := p.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

// run runs the process to its end.
func (p *process) run(t *testing.T) (code int, stdout, stderr string) {
	t.Helper()
	p.start(t)
	code = p.end(t)
	return code, p.out.String(), p.err.String()
}

// watched is a writer on which one can wait for a text.
type watched struct {
	mu    sync.Mutex
	text  strings.Builder
	grown chan struct{} // closed at the next write
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grown != nil {
		close(w.grown)
		w.grown = nil
	}
	return w.text.Write(p)
}

// String is what has been written so far.
func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits until text has been written.
func (w *watched) await(t *testing.T, text string) {
	t.Helper()
	overdue := time.After(patience)
	for {
		w.mu.Lock()
		if strings.Contains(w.text.String(), text) {
			w.mu.Unlock()
			return
		}
		if w.grown == nil {
			w.grown = make(chan struct{})
		}
		grown := w.grown
		w.mu.Unlock()
		select {
		case <-grown:
		case <-overdue:
			t.Fatalf("no %q in %q", text, w.String())
		}
	}
}

func TestUsage(t *testing.T) {
	code, stdout, stderr := stormring(t, "local", "nope").run(t)
	const list = "advertising, constidnull, constnull, exclamation, filewordcount, polyglot, pythonwordcount, rollingtopwords, selfcheck, statefulwordcount, statehold, wordcount"
	if want := "stormring: there is no topology \"nope\"; there are " + list + "\n"; code != 2 || stdout != "" || stderr != want {
		t.Errorf("got %d, %q, %q", code, stdout, stderr)
	}
	code, _, stderr = stormring(t, "local", "wordcount", "--input", "/no/such/file").run(t)
	if want := "stormring: wordcount: cannot read input \"/no/such/file\": no such file or directory\n"; code != 1 || stderr != want {
		t.Errorf("got %d, %q", code, stderr)
	}
}

// TestClosedEnds: a reader that has gone ends the program quietly, a full disk
// with an error, and nothing on standard input is an empty input.
func TestClosedEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	p := stormring(t, "local", "--quiet", "wordcount", "--input", "-")
	p.Stdin, p.Stdout = strings.NewReader("a b"), w
	p.start(t)
	w.Close()
	if code := p.end(t); code != -1 || p.ProcessState.String() != "signal: broken pipe" || p.err.String() != "" {
		t.Errorf("nobody reads: %s, %q", p.ProcessState, p.err.String())
	}

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		skip(t, err)
	}
	defer full.Close()
	p = stormring(t, "local", "wordcount", "--input", "-")
	p.Stdin, p.Stdout = strings.NewReader("a b"), full
	code, _, stderr := p.run(t)
	if code != 1 || stderr != "stormring: wordcount: print the result: write /dev/stdout: no space left on device\n" {
		t.Errorf("full disk: %d, %q", code, stderr)
	}

	p = stormring(t, "local", "wordcount", "--input", "-", "--format", "tsv")
	p.Stdin, p.Stderr = strings.NewReader("b a b"), full
	if code, stdout, _ := p.run(t); code != 0 || stdout != "b\t2\na\t1\n" {
		t.Errorf("full disk below stderr: %d, %q", code, stdout)
	}

	code, stdout, _ := stormring(t, "local", "wordcount", "--input", "-", "--format", "json").run(t)
	if code != 0 || stdout != "[]\n" {
		t.Errorf("no input: %d, %q", code, stdout)
	}
}

// endless feeds words until it is closed, and tells when much has been taken.
func endless(t *testing.T) (r *os.File, much <-chan struct{}) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		block := bytes.Repeat([]byte("word "), 4<<10)
		for n := 0; ; n += len(block) {
			// Far more than pipe and program can hold unprocessed.
			if n == 100*len(block) {
				close(taken)
			}
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		r.Close()
		w.Close()
		<-done
	})
	return r, taken
}

// skip skips the test, but not where CI is set: there all of it must run.
func skip(t *testing.T, why ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why...)
	}
	t.Skip(why...)
}
