package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// pipes is what `cat FILE | script | cat` is measured with: a file with a
// handshake alone, for the time that a start takes, and one with tuples too.
type pipes struct {
	*command
	none, file string
	n          int // tuples in file
	times      int // pipes at once
}

// firstRef makes the ids in a file as long as those of a bolt that has run for
// some time.
const firstRef = 100_000

const (
	// fewTuples a second of a run are in the file that tells how many the real
	// one needs.
	fewTuples = 10_000
	// maxTuples bounds a file to half a gigabyte.
	maxTuples = 5_000_000
)

// newPipes writes files of as many tuples as take about d, with so many pipes
// at once.
func newPipes(ctx context.Context, c *command, d time.Duration, times int) (*pipes, error) {
	p := &pipes{command: c, none: c.path("handshake"), file: c.path(fmt.Sprintf("input%d", times)), times: times}
	if err := writeInput(p.none, 0); err != nil {
		return nil, err
	}
	p.n = max(int(fewTuples*d.Seconds()), 100)
	if err := writeInput(p.file, p.n); err != nil {
		return nil, err
	}
	rate, err := p.rate(ctx)
	if err != nil {
		return nil, err
	}
	p.n = int(min(max(rate/float64(times)*d.Seconds(), 1), maxTuples))
	return p, writeInput(p.file, p.n)
}

// rate is how many tuples/s all pipes together move, the time of their start
// left out.
func (p *pipes) rate(ctx context.Context) (float64, error) {
	start, err := p.run(ctx, p.none)
	if err != nil {
		return 0, err
	}
	all, err := p.run(ctx, p.file)
	if err != nil {
		return 0, err
	}
	return float64(p.n*p.times) / max(all-start, all/10).Seconds(), nil
}

// writeInput writes a file with a handshake and n tuples.
func writeInput(file string, n int) (err error) {
	enc := protocol.JSON{}.NewEncoder()
	b, err := enc.Object(nil, map[string]storm.Value{
		"pidDir": storm.String(""), "conf": storm.Map(nil),
		"context": storm.Map(map[string]storm.Value{"taskid": storm.Int(shellTaskID), "componentid": storm.String(shellComponent)}),
	})
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	t := shellInput()
	for i := range n {
		if _, err := w.Write(b); err != nil {
			return err
		}
		if b, err = enc.Tuple(b[:0], uint64(firstRef+i), &t); err != nil {
			return err
		}
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	return w.Flush()
}

// run runs the pipes once, all at once, and returns how long the slowest took.
func (p *pipes) run(ctx context.Context, file string) (time.Duration, error) {
	start := time.Now()
	lines := make([]pipeline, p.times)
	defer func() {
		for i := range lines {
			lines[i].kill()
		}
	}()
	for i := range lines {
		if err := lines[i].start(ctx, p.command, file); err != nil {
			return 0, err
		}
	}
	for i := range lines {
		if err := lines[i].wait(); err != nil {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			return 0, err
		}
	}
	return time.Since(start), nil
}

// pipeline is three processes between pipes of the system, so that no
// goroutine has any part in it.
type pipeline struct {
	commands []*exec.Cmd
	stderr   bytes.Buffer // of the script
}

func (p *pipeline) start(ctx context.Context, c *command, file string) error {
	argvs := [][]string{{"cat", file}, c.argv, {"cat"}}
	var in *os.File
	for i, argv := range argvs {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // names of ours
		cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.environment()...)
		if i == 1 {
			cmd.Stderr = &p.stderr
		}
		if in != nil {
			cmd.Stdin = in
		}
		var next, out *os.File
		if i < len(argvs)-1 {
			var err error
			if next, out, err = os.Pipe(); err != nil {
				return fmt.Errorf("a pipe to %s: %w", argv[0], err)
			}
			cmd.Stdout = out
		}
		err := cmd.Start()
		if in != nil {
			in.Close()
		}
		if out != nil {
			out.Close()
		}
		if err != nil {
			if next != nil {
				next.Close()
			}
			return fmt.Errorf("cannot start %s: %w", argv[0], err)
		}
		p.commands = append(p.commands, cmd)
		in = next
	}
	return nil
}

// wait waits for all of them: the end of one is the end of those behind it.
func (p *pipeline) wait() error {
	var errs []error
	for _, cmd := range p.commands {
		if err := cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err))
		}
	}
	p.commands = nil
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%w\n%s", errors.Join(errs...), p.stderr.String())
}

// kill ends what has not been waited for.
func (p *pipeline) kill() {
	for _, cmd := range p.commands {
		_ = cmd.Process.Kill() // it may have ended just now
		_ = cmd.Wait()
	}
	p.commands = nil
}
