package multilang

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// markVariable is in the environment of a child and all its descendants.
const markVariable = "STORMRING_SHELL"

func newMark() string { return rand.Text() }

// event is what the goroutine of the task is told. Exactly one of up, messages
// and err is set.
type event struct {
	child    *child
	up       bool
	messages []protocol.Message
	err      error // the child is gone, or there is none
	final    bool  // and no other will come
}

// shell is the processes of one task, one after the other. run owns them; the
// task gets its events from the channel, in order, and is told by notify that
// there are some.
type shell struct {
	spec     Spec
	set      settings
	ctx      context.Context //nolint:containedctx // of the task; the shell lives as long
	stop     context.CancelFunc
	log      *slog.Logger
	greeting map[string]storm.Value
	pidDir   string
	folders  []string // to be removed at the end
	// do has a function called on the goroutine of the task, and drain is that
	// function.
	do    func(ctx context.Context, f func()) error
	drain func()
	// syncs tells that the task wants to see Sync messages.
	syncs  bool
	beats  bool // heartbeats are sent
	events chan event
	spare  chan []protocol.Message
	called atomic.Bool // drain is queued
	// held has the task not listen: the state that the child may ask for is not
	// there.
	held atomic.Bool
	gone chan struct{}
	// current is the process that runs, for those who watch.
	current  atomic.Pointer[child]
	counters counters
}

// maxEvents is how many batches of messages wait for the task.
const maxEvents = 4

// open makes a shell and starts its first process.
func (sh *shell) open(ctx *storm.TopologyContext) error {
	if len(sh.spec.Argv) == 0 || sh.spec.Argv[0] == "" {
		return errors.New("a shell component names no program")
	}
	var err error
	if sh.set, err = readSettings(ctx.Conf()); err != nil {
		return err
	}
	if j, ok := sh.set.codec.(protocol.JSON); ok {
		j.ShortIntegers = sh.spec.ShortIntegers
		sh.set.codec = j
	}
	if sh.spec.tune != nil {
		sh.spec.tune(&sh.set)
	}
	sh.log = ctx.Logger()
	sh.show(ctx)
	sh.events = make(chan event, maxEvents)
	sh.spare = make(chan []protocol.Message, maxEvents)
	sh.gone = make(chan struct{})
	if err := sh.makeFolders(); err != nil {
		sh.removeFolders()
		return err
	}
	sh.greeting = handshake(ctx, sh.pidDir)
	sh.ctx, sh.stop = context.WithCancel(ctx.Context())
	go func() {
		defer close(sh.gone)
		sh.run()
		sh.removeFolders()
	}()
	return nil
}

// makeFolders makes what the processes need on the disk.
func (sh *shell) makeFolders() (err error) {
	sh.pidDir = sh.spec.PIDDir
	if sh.pidDir == "" {
		if sh.pidDir, err = os.MkdirTemp("", "stormring-shell-"); err != nil {
			return fmt.Errorf("a directory for process ids: %w", err)
		}
		sh.folders = append(sh.folders, sh.pidDir)
	} else if err := os.MkdirAll(sh.pidDir, 0o750); err != nil {
		return fmt.Errorf("the directory for process ids: %w", err)
	}
	if sh.spec.Files == nil {
		return nil
	}
	if sh.spec.Dir != "" {
		return fmt.Errorf("a shell component has files of its own and is to run in %s; give it only one of Files and Dir", sh.spec.Dir)
	}
	if sh.spec.Dir, err = writeFiles(sh.spec.Files); err != nil {
		return err
	}
	sh.folders = append(sh.folders, sh.spec.Dir)
	return nil
}

func (sh *shell) removeFolders() {
	for _, dir := range sh.folders {
		if err := os.RemoveAll(dir); err != nil {
			sh.log.Warn("a folder of a shell component cannot be removed; remove it by hand", "err", err)
		}
	}
}

// close ends the process and waits for that.
func (sh *shell) close() {
	if sh.stop == nil {
		return // it was never opened
	}
	sh.stop()
	<-sh.gone
}

// notify has the task look at its events. At most one call of a task is queued
// at any time, so that the queue is never full of them: a task that is waiting
// for its child runs none.
func (sh *shell) notify() {
	if !sh.called.Swap(true) {
		// An error means that the task is stopping, and so is the shell.
		_ = sh.do(sh.ctx, sh.drain)
	}
}

// tell gives an event to the task.
func (sh *shell) tell(e event) {
	for {
		select {
		case sh.events <- e:
			sh.notify()
			return
		default:
			sh.notify()
		}
		select {
		case sh.events <- e:
			sh.notify()
			return
		case <-sh.ctx.Done():
			return
		}
	}
}

// spareBatch is room for messages.
func (sh *shell) spareBatch() []protocol.Message {
	select {
	case b := <-sh.spare:
		return b
	default:
		return make([]protocol.Message, 0, batchSize)
	}
}

// giveBack takes a batch back whose messages are done with.
func (sh *shell) giveBack(b []protocol.Message) {
	clear(b)
	select {
	case sh.spare <- b[:0]:
	default:
	}
}

// run starts processes until one cannot be, or too many have ended, or the task
// stops. It keeps its thread, to which the life of the processes is tied.
func (sh *shell) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var t tries
	for sh.ctx.Err() == nil {
		c, err := sh.start()
		if err != nil {
			sh.tell(event{err: err, final: true})
			return
		}
		err = sh.attend(c)
		if sh.ctx.Err() != nil {
			return
		}
		wait, again := t.next(sh.set, time.Since(c.began), isReady(c))
		if !again {
			sh.tell(event{child: c, final: true, err: fmt.Errorf("%w; it has been started %s%s", err, t.why(sh.set), c.words.String())})
			return
		}
		sh.tell(event{child: c, err: fmt.Errorf("%w; it is started again in %v%s", err, wait, c.words.String())})
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-sh.ctx.Done():
			timer.Stop()
		}
	}
}

// tries counts the processes that ended too soon.
type tries struct {
	n     int
	proud bool // one has completed its handshake
}

// next is how long to wait before the next process is started, if it may be.
func (t *tries) next(set settings, lived time.Duration, ready bool) (wait time.Duration, again bool) {
	if ready {
		t.proud = true
		if lived >= set.healthy {
			t.n = 0
		}
	}
	t.n++
	limit := set.maxRestarts
	if !t.proud {
		limit = min(limit, set.firstTries-1)
	}
	return min(set.backoff<<min(t.n-1, 20), set.maxBackoff), t.n <= limit
}

// why says why no other process is started.
func (t *tries) why(set settings) string {
	if !t.proud && set.maxRestarts >= set.firstTries {
		return fmt.Sprintf("%d times and has never answered the handshake", t.n)
	}
	return fmt.Sprintf("%d times, which is all that %s allows", t.n, string(storm.ConfMultilangMaxRestarts))
}

func isReady(c *child) bool {
	select {
	case <-c.ready:
		return true
	default:
		return false
	}
}

// attend watches a process until it has ended and nothing of it is left. The
// error says why it did.
func (sh *shell) attend(c *child) error {
	sh.current.Store(c)
	defer sh.current.Store(nil)
	tick := time.NewTicker(sh.set.heartbeat)
	defer tick.Stop()
	last := time.Now()
	var why error
	for why == nil {
		select {
		case <-c.exited:
			why = errExited
		case why = <-c.doomed:
		case <-sh.ctx.Done():
			c.stop()
			why = sh.ctx.Err()
		case now := <-tick.C:
			if now.Sub(last) > sh.set.heartbeat+sh.set.timeout/2 {
				// It was this process that did not run.
				c.pardon(now, now.Sub(last))
			}
			last = now
			why = sh.look(c, now)
		}
	}
	if !errors.Is(why, errExited) {
		why = fmt.Errorf("%s was killed: %w", c.name(), why)
	}
	sh.kill(c)
	c.bury()
	if errors.Is(why, errExited) {
		when := ""
		if !isReady(c) {
			when = " before it had answered the handshake"
		}
		why = fmt.Errorf("%s %s%s", c.name(), c.end(), when)
		select {
		case err := <-c.doomed:
			why = fmt.Errorf("%w: %w", why, err)
		default:
		}
	}
	return why
}

var errExited = errors.New("exited")

// look sends a heartbeat and checks whether the process is alive; the error
// says why it is not.
func (sh *shell) look(c *child, now time.Time) error {
	if c.handing.Load() {
		return nil // it may have said something; nobody could listen
	}
	if sh.held.Load() {
		c.pardon(now, 0)
		return nil
	}
	if !isReady(c) {
		if quiet := now.Sub(time.Unix(0, c.noise.Load())); quiet > sh.set.start {
			return fmt.Errorf("it did not answer the handshake and was silent for %v (it is %s); raise %s if it takes long to start", round(quiet), doing(c.pid()), string(storm.ConfMultilangStartTimeoutSecs))
		}
		return nil
	}
	if sh.beats {
		c.out.heartbeat()
	}
	if sh.syncs {
		sh.notify() // a spout may find that it need not wait for an answer
	}
	if due := c.due.Load(); due != 0 && now.UnixNano() > due && len(sh.events) == 0 {
		return fmt.Errorf("it was asked for a step of a checkpoint, and for %v has neither answered nor got on with its tuples; raise %s or lower %s if they take that long, and see that it answers each checkpoint with checkpointed", sh.set.checkpoint, string(storm.ConfTopologyStateSynchronizationTimeoutSecs), string(storm.ConfTopologyShellboltMaxPending))
	}
	if quiet := c.silent(now); quiet > sh.set.timeout && !c.behind() {
		return fmt.Errorf("it did not answer for %v (it is %s), so it hangs; raise %s if it may be busy for that long%s", round(quiet), doing(c.pid()), string(storm.ConfTopologySubprocessTimeoutSecs), c.mumbling())
	}
	return nil
}

// pardon forgives a child the time until now, and gives it longer for what it
// owes by the time that was lost.
func (c *child) pardon(now time.Time, lost time.Duration) {
	c.heard.Store(now.UnixNano())
	c.noise.Store(now.UnixNano())
	if due := c.due.Load(); due != 0 {
		c.due.CompareAndSwap(due, due+int64(lost)) // else it has just moved on
	}
}

// mumbling tells of what the child wrote that is no whole message.
func (c *child) mumbling() string {
	if n := c.unheard.Load(); n > 0 {
		return fmt.Sprintf("; it has written %d bytes that are no message: a message has a line \"end\" behind it, and has to be flushed", n)
	}
	return ""
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// kill ends a process and all its descendants, and waits for it.
func (sh *shell) kill(c *child) {
	const (
		rounds = 20 // against what forks faster than it is found
		pause  = 5 * time.Millisecond
		limit  = 10 * time.Second // for a process in the depths of the system
	)
	for i := range rounds {
		if err := killGroup(c.pid()); err != nil {
			sh.log.Error("a shell component's process group cannot be killed", "pid", c.pid(), "err", err)
		}
		exited := c.exitsWithin(limit)
		if !killMarked(c.mark) && exited {
			return
		}
		if !exited {
			break
		}
		<-time.After(time.Duration(i) * pause) // what is killed does not go at once
	}
	sh.log.Error("a shell component left processes that cannot be killed; see what they wait for", "pid", c.pid())
}
