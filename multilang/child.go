package multilang

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// child is one process of a shell component. Its goroutines end when the
// process has, or is killed.
type child struct {
	sh      *shell
	cmd     *exec.Cmd
	mark    string // in the environment of all its descendants
	log     *slog.Logger
	out     *outbox
	stdout  *quiet
	stderr  *os.File
	words   lastWords
	strays  limiter
	running sync.WaitGroup // the goroutines of the pipes
	exited  chan struct{}  // closed when the process has been waited for
	waited  error
	ready   chan struct{} // closed when the handshake is done
	doomed  chan error    // capacity 1: why it has to be killed
	dead    chan struct{} // closed when nothing of it is to be heard any more
	heard   atomic.Int64  // when it last sent a message, in Unix nanoseconds
	noise   atomic.Int64  // when it last wrote anything at all
	unheard atomic.Int64  // bytes read since its last message
	handing atomic.Bool   // the reader waits for the task, not for the child
	due     atomic.Int64  // when it has to have moved on with a checkpoint; 0 if none
	arrived int64         // when the reader last read anything; the reader's
	pace    pace          // the reader's
	wants   []string      // features; set before ready is closed
	began   time.Time
}

const (
	// readSize is how much is read at once; it is what a pipe holds.
	readSize = 64 << 10
	// batchSize is how many messages are handed to the task at once.
	batchSize = 256
)

// start starts a process and shakes its hand; the answer comes later.
func (sh *shell) start() (*child, error) {
	c := &child{
		sh: sh, began: time.Now(), exited: make(chan struct{}), ready: make(chan struct{}),
		doomed: make(chan error, 1), dead: make(chan struct{}), mark: newMark(),
	}
	stdin, stdout, stderr, err := c.spawn()
	if err != nil {
		return nil, err
	}
	sh.counters.starts.Add(1)
	c.stdout, c.stderr = stdout, stderr
	c.log = sh.log.With("pid", c.pid())
	c.out = newOutbox(sh.set.codec.NewEncoder(), stdin, sh.set.maxPending)
	c.out.patience = sh.set.timeout / 4
	now := c.began.UnixNano()
	c.heard.Store(now)
	c.noise.Store(now)
	go func() { // ends with the process, which attend sees to
		c.waited = c.cmd.Wait()
		close(c.exited)
	}()
	c.running.Go(func() {
		if err := c.out.run(); err != nil && !isGone(err) {
			c.doom(fmt.Errorf("cannot write to it: %w", err))
		}
	})
	c.running.Go(func() { c.readErrors(stderr) })
	c.running.Go(func() { c.read(stdout) })
	greeting := sh.greeting
	if err := c.out.send(false, func(dst []byte) ([]byte, error) { return c.out.enc.Object(dst, greeting) }); err != nil {
		c.doom(fmt.Errorf("the configuration cannot be sent to it: %w", err))
	}
	return c, nil
}

// spawn starts the process between three pipes.
func (c *child) spawn() (stdin *os.File, stdout *quiet, stderr *os.File, err error) {
	spec := c.sh.spec
	cmd := exec.Command(program(spec), spec.Argv[1:]...) //nolint:noctx // it is ended in order, see attend
	cmd.Dir = spec.Dir
	cmd.Env = environment(spec.Env, c.mark)
	own(cmd)
	var files []*os.File
	defer func() {
		for i, f := range files {
			if err != nil || slices.Contains([]int{0, 3, 5}, i) {
				f.Close()
			}
		}
	}()
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, nil, fmt.Errorf("pipes to %s: %w", spec.Argv[0], err)
		}
		files = append(files, r, w)
	}
	if stdout, err = newQuiet(files[2]); err != nil {
		return nil, nil, nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	if err := startProcess(cmd); err != nil {
		stdout.Close()
		return nil, nil, nil, explain(spec, err)
	}
	c.cmd = cmd
	return files[1], stdout, files[4], nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// name is the process for people.
func (c *child) name() string {
	return fmt.Sprintf("process %d (%s)", c.pid(), strings.Join(c.sh.spec.Argv, " "))
}

// doom has the process killed. The first reason is the one that is told.
func (c *child) doom(err error) {
	select {
	case c.doomed <- err:
	default:
	}
}

// read hands everything that the child says to the task, in batches of what
// was there at once.
func (c *child) read(stdout *quiet) {
	dec := c.sh.set.codec.NewDecoder(c.sh.set.maxMessage)
	for {
		n, err := stdout.Read(dec.Room(readSize))
		if n > 0 {
			dec.Wrote(n)
			now := time.Now()
			c.arrived = now.UnixNano()
			c.noise.Store(c.arrived)
			c.unheard.Add(int64(n))
			if !c.take(dec.Next) {
				// It may have more to write before it can end.
				_, _ = io.Copy(io.Discard, stdout)
				return
			}
			if d := c.pace.pause(now, n, c.out.inFlight()); d > 0 {
				stdout.pause(d)
			}
		}
		if err != nil {
			c.take(dec.Rest)
			return
		}
	}
}

// take hands over all messages that are there; false if nobody wants them.
func (c *child) take(next func(*protocol.Message) bool) bool {
	var batch []protocol.Message
	var m protocol.Message
	for next(&m) {
		if !c.sift(&m) {
			continue
		}
		if batch == nil {
			batch = c.sh.spareBatch()
		}
		batch = append(batch, m)
		if len(batch) == batchSize {
			if !c.hand(event{child: c, messages: batch}) {
				return false
			}
			batch = nil
		}
	}
	return len(batch) == 0 || c.hand(event{child: c, messages: batch})
}

// sift deals with what the task need not see; it reports whether it has to see
// the message.
func (c *child) sift(m *protocol.Message) bool {
	switch m.Kind {
	case protocol.Stray:
		c.stray(m.Text)
		return false
	case protocol.Broken:
		if c.sh.set.strict || errors.Is(m.Err, protocol.ErrTooLarge) {
			c.doom(fmt.Errorf("it sent what cannot be used: %w: %s", tooLarge(m.Err), m.Text))
		}
		return true
	case protocol.PID:
		c.hear()
		select {
		case <-c.ready:
		default:
			c.wants = slices.Clone(m.Features)
			close(c.ready)
			c.hand(event{child: c, up: true})
		}
		return false
	case protocol.Sync:
		c.hear()
		c.out.synced()
		return c.sh.syncs
	default:
		c.hear()
		c.pace.note(m)
		return true
	}
}

func tooLarge(err error) error {
	if errors.Is(err, protocol.ErrTooLarge) {
		return fmt.Errorf("%w; raise %s if it has to be that large", err, string(storm.ConfMultilangMaxMessageBytes))
	}
	return err
}

// hear notes that the child has said something, in what was read last.
func (c *child) hear() {
	if c.heard.Load() != c.arrived {
		c.heard.Store(c.arrived)
		c.unheard.Store(0)
	}
}

// behind reports whether it is this process that is late: the child has written
// what was not read yet, and it is no endless noise.
func (c *child) behind() bool {
	return !c.babbles() && c.stdout.unread()
}

// babbles reports whether the child has written more than any message has since
// its last one.
func (c *child) babbles() bool { return c.unheard.Load() > 2*int64(c.sh.set.maxMessage) }

// stray deals with text on standard output that is no message.
func (c *child) stray(text string) {
	c.sh.counters.strays.Add(1)
	if err := c.foreign(text); err != nil {
		c.doom(err)
		return
	}
	if c.sh.set.strict {
		c.doom(fmt.Errorf("it wrote what is no message to its standard output, and %s is on: %s", string(storm.ConfMultilangStrict), text))
		return
	}
	if ok, skipped := c.strays.allow(time.Now()); ok {
		c.log.Warn("a shell component wrote what is no message to its standard output", "text", text, "skipped", skipped)
	}
}

// foreign is an error if a child that has not answered the handshake speaks
// another encoding, of which only text is understood.
func (c *child) foreign(text string) error {
	if isReady(c) {
		return nil
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(text, k) })
	}
	key := string(storm.ConfTopologyMultilangSerializer)
	switch _, isJSON := c.sh.set.codec.(protocol.JSON); {
	case isJSON && has(`\xa7command`, `\xa3pid`):
		return fmt.Errorf("it speaks msgpack, and the worker JSON; set %s to msgpack, or have it speak JSON", key)
	case !isJSON && has(`{"command"`, `{"pid"`):
		return fmt.Errorf("it speaks JSON, and the worker msgpack; set %s to json, or have it speak msgpack", key)
	}
	return nil
}

// hand gives an event to the task and waits until it has room for it; false if
// it is not wanted any more.
func (c *child) hand(e event) bool {
	select {
	case c.sh.events <- e:
		c.sh.notify()
		return true
	default:
	}
	c.handing.Store(true)
	defer func() {
		c.heard.Store(time.Now().UnixNano())
		c.handing.Store(false)
	}()
	c.sh.notify()
	select {
	case c.sh.events <- e:
		c.sh.notify()
		return true
	case <-c.sh.ctx.Done():
		return false
	}
}

// readErrors logs what the child writes to standard error and keeps the last
// lines.
func (c *child) readErrors(stderr io.Reader) {
	var lines lineCutter
	var limit limiter
	say := func(line string) {
		c.words.add(line)
		c.sh.counters.errors.Add(1)
		if ok, skipped := limit.allow(time.Now()); ok {
			c.log.Warn("a shell component wrote to its standard error", "text", line, "skipped", skipped)
		}
	}
	buf := make([]byte, readSize)
	for {
		n, err := stderr.Read(buf)
		if n > 0 {
			c.noise.Store(time.Now().UnixNano())
			lines.add(buf[:n], say)
		}
		if err != nil {
			lines.end(say)
			if n := limit.left(); n > 0 {
				c.log.Warn("a shell component wrote more to its standard error than was logged", "skipped", n)
			}
			return
		}
	}
}

// pidFile is what the child is to leave in the directory that it was told.
func (c *child) pidFile() string {
	return filepath.Join(c.sh.pidDir, strconv.Itoa(c.pid()))
}

// bury ends all goroutines of a child whose process is gone and removes what it
// left. Its last messages are waited for, but not for long.
func (c *child) bury() {
	// A descendant that could not be found may hold the pipes open.
	until := time.Now().Add(c.sh.set.grace)
	_ = c.stdout.SetReadDeadline(until)
	_ = c.stderr.SetReadDeadline(until)
	c.out.abort()
	c.running.Wait()
	c.stdout.Close()
	c.stderr.Close()
	_ = os.Remove(c.pidFile()) // it may never have been there
	close(c.dead)
}

// stop ends the process in order: no more input, then a request, then force.
func (c *child) stop() {
	c.out.close()
	if c.exitsWithin(c.sh.set.grace) {
		return
	}
	_ = terminate(c.pid()) // it may have ended just now
	c.exitsWithin(c.sh.set.grace / 2)
}

func (c *child) exitsWithin(d time.Duration) bool {
	select {
	case <-c.exited:
		return true
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.exited:
		return true
	case <-t.C:
		return false
	}
}

// end says how the process ended.
func (c *child) end() string {
	if !c.exitsWithin(0) {
		return "cannot be killed"
	}
	state := c.cmd.ProcessState
	switch {
	case state == nil:
		return fmt.Sprintf("was lost: %v", c.waited)
	case state.Exited():
		return fmt.Sprintf("exited with code %d", state.ExitCode())
	default:
		return fmt.Sprintf("was ended by %v", state)
	}
}
