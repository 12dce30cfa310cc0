package adapters_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// parent plays the worker of one child.
type parent struct {
	tb     testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	pipe   io.Closer
	out    *bufio.Reader
	stderr bytes.Buffer // complete once the child has ended
	pid    int
	dir    string
}

// start runs a component without shaking hands. It does not outlive the test.
func start(tb testing.TB, l language, component, as string) *parent {
	tb.Helper()
	// Whoever waits for a message that does not come gets the end of the pipe.
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	tb.Cleanup(cancel)
	p := &parent{tb: tb, dir: tb.TempDir()}
	p.cmd = l.command(ctx, l.install(tb, component, as), component)
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.pipe, p.out = out, bufio.NewReaderSize(out, 1<<16)
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		p.in.Close()
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	return p
}

// hello is the handshake; offer are the extensions of the protocol.
func (p *parent) hello(offer string) {
	p.tb.Helper()
	p.send(fmt.Sprintf(`{"pidDir":%q,"conf":{"greeting":"hall\u00f6"},"context":{"taskid":5},"stormring":%s}`, p.dir, offer))
	var answer struct{ PID int }
	text := p.next()
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.PID == 0 {
		p.tb.Fatalf("the answer to the handshake is %s", text)
	}
	p.pid = answer.PID
	if _, err := os.Stat(filepath.Join(p.dir, strconv.Itoa(p.pid))); err != nil {
		p.tb.Errorf("there is no pid file: %v", err)
	}
}

// connect runs a component and shakes hands; for bolts it also takes the
// emission of initialize.
func connect(tb testing.TB, l language, component, as string) *parent {
	tb.Helper()
	p := start(tb, l, component, as)
	p.hello(`["state","pipeline","other"]`)
	if component == "bolt" {
		p.expect(`{"command":"emit","tuple":["hallö",5],"need_task_ids":false}`)
	}
	return p
}

// send sends messages in one piece.
func (p *parent) send(messages ...string) {
	p.tb.Helper()
	if _, err := io.WriteString(p.in, strings.Join(messages, "\nend\n")+"\nend\n"); err != nil {
		p.tb.Fatalf("sending %.300s: %v", messages, err)
	}
}

// next is the next message.
func (p *parent) next() string {
	p.tb.Helper()
	var text strings.Builder
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.cmd.Wait()
			p.tb.Fatalf("the child has ended (%v) within %q; stderr:\n%s", p.cmd.ProcessState, text.String()+line, p.stderr.String())
		}
		if line == "end\n" {
			return text.String()
		}
		text.WriteString(line)
	}
}

// expect compares the next messages. In what is wanted a "msg" that begins with
// a tilde stands for all that contain the rest.
func (p *parent) expect(want ...string) {
	p.tb.Helper()
	for _, w := range want {
		got := p.next()
		if a, b := canonical(p.tb, got), canonical(p.tb, w); a != b && !alike(p.tb, got, w) {
			p.tb.Fatalf("the child said\n%swanted\n%s", got, w)
		}
	}
}

// canonical is a message with its keys in order. Numbers keep their digits.
func canonical(tb testing.TB, text string) string {
	tb.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%s is no JSON: %v", text, err)
	}
	if d.More() {
		tb.Fatalf("%s is more than one message", text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

func alike(tb testing.TB, got, want string) bool {
	tb.Helper()
	var a, b map[string]any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	said, _ := a["msg"].(string)
	part, ok := strings.CutPrefix(fmt.Sprint(b["msg"]), "~")
	if !ok || !strings.Contains(said, part) {
		return false
	}
	a["msg"] = b["msg"]
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// end waits until the child has ended with a code, after closing its input if
// it is to do so by itself, and returns what it wrote to stderr.
func (p *parent) end(code int, closeInput bool) string {
	p.tb.Helper()
	if closeInput {
		p.in.Close()
	}
	if rest, err := io.ReadAll(p.out); err == nil && len(rest) > 0 {
		p.tb.Errorf("the child also said %s", rest)
	}
	err := p.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.tb.Errorf("waiting for the child: %v", err)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.tb.Errorf("the child ended with %v, wanted code %d; stderr:\n%s", p.cmd.ProcessState, code, p.stderr.String())
	}
	return p.stderr.String()
}

const (
	heartbeat = `{"id":"","comp":"__system","stream":"__heartbeat","task":-1,"tuple":[]}`
	tick      = `{"id":"8","comp":"__system","stream":"__tick","task":-1,"tuple":[1]}`
	syncs     = `{"command":"sync"}`
)

// tuple is an input with id 7.
func tuple(values string) string {
	return `{"id":"7","comp":"words","stream":"default","task":3,"tuple":` + values + `}`
}

// emits is an emission with the anchor 7 for which no task ids are wanted.
func emits(values, more string) string {
	return `{"command":"emit","tuple":` + values + `,"anchors":["7"],"need_task_ids":false` + more + `}`
}

const (
	acks  = `{"command":"ack","id":"7"}`
	fails = `{"command":"fail","id":"7"}`
)

func logs(text string, level int) string {
	return fmt.Sprintf(`{"command":"log","msg":%q,"level":%d}`, text, level)
}

func reports(part string) string { return fmt.Sprintf(`{"command":"error","msg":%q}`, "~"+part) }
