package jvmstate

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/worker/checkpoint"
)

// writeTime is how long a JVM may take to take a frame.
const writeTime = time.Minute

// framesAhead is how many frames are read before they are asked for.
const framesAhead = 2

// conn is one connection. All but its reader is its task's goroutine.
type conn struct {
	agent  *Agent
	net    net.Conn
	log    *slog.Logger
	ctx    context.Context //nolint:containedctx // of all that is done for it; ends with it
	cancel context.CancelFunc
	gone   chan struct{} // closed when nothing of it is left
	frames chan frame    // closed by the reader at the end
	posts  posts
	hello  hello
	owner  owner
	store  Store
	kept   *kept // what it serves; nil for a checkpoint spout. The agent's mu guards it.
}

// errGone is the end of a connection, which nobody needs to be told.
var errGone = errors.New("the connection has ended")

// posts is what runs on the task's goroutine, soon.
type posts struct {
	mu    sync.Mutex
	queue []func()
	bell  chan struct{}
}

func (p *posts) post(f func()) {
	p.mu.Lock()
	p.queue = append(p.queue, f) // a keeper has at most one
	p.mu.Unlock()
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

func (p *posts) run() {
	p.mu.Lock()
	queue := p.queue
	p.queue = nil
	p.mu.Unlock()
	for _, f := range queue {
		f()
	}
}

// serve is the life of a connection.
func (a *Agent) serve(ctx context.Context, nc net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	c := &conn{
		agent: a, net: nc, log: a.cfg.Logger, ctx: ctx, cancel: cancel, gone: make(chan struct{}),
		frames: make(chan frame, framesAhead), posts: posts{bell: make(chan struct{}, 1)},
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer func() {
		if stop() {
			_ = nc.Close()
		}
	}()
	err := c.greet()
	if err == nil {
		c.log = c.log.With("topology", c.owner.topology, "component", c.owner.component, "task", c.owner.task)
		reading.Go(c.read)
		err = c.live()
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, errGone) && !errors.Is(err, io.EOF) {
		c.log.Warn("a JVM's state: the connection ends", "error", err)
	}
}

// greet reads who it is.
func (c *conn) greet() error {
	if err := c.net.SetReadDeadline(time.Now().Add(helloTime)); err != nil {
		return err
	}
	f, err := readFrame(c.net, maxOpen)
	if err != nil {
		return err
	}
	if f.kind != open {
		return fmt.Errorf("its first message is of kind %d", f.kind)
	}
	if c.hello, err = decodeHello(f.body); err != nil {
		return c.fail(err)
	}
	h := c.hello
	if subtle.ConstantTimeCompare([]byte(h.token), []byte(c.agent.token)) != 1 {
		return c.fail(&failure{code: stranger, text: "the token is not that of this supervisor: read the file again"})
	}
	c.owner = owner{topology: cluster.TopologyID(h.topology), component: ownerOf(h.component, h.task, h.namespace), task: h.task}
	return c.net.SetReadDeadline(time.Time{})
}

// ownerOf is the name under which a namespace is on the ring, beside the task.
func ownerOf(component string, task int32, namespace string) string {
	if rest, ok := strings.CutPrefix(namespace, component+"-"+strconv.Itoa(int(task))); ok && (rest == "" || rest[0] == '-') {
		return component + rest
	}
	return namespace
}

// fail tells the JVM and gives the error back.
func (c *conn) fail(err error) error {
	return errors.Join(err, c.send(failed, describe(err)))
}

// describe is an error as JVMs are told it.
func describe(err error) []byte {
	code := refused
	if f, ok := errors.AsType[*failure](err); ok {
		code = f.code
	}
	return appendText([]byte{byte(code)}, err.Error())
}

func (c *conn) send(k kind, body []byte) error {
	if err := c.net.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err := c.net.Write(appendFrame(make([]byte, 0, len(body)+5), k, body))
	return err
}

// read is the reader.
func (c *conn) read() {
	defer c.cancel()
	defer close(c.frames)
	r := bufio.NewReaderSize(c.net, 64<<10)
	for {
		f, err := readFrame(r, maxFrame)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && c.ctx.Err() == nil {
				c.log.Warn("a JVM's state: the connection breaks", "error", err)
			}
			return
		}
		select {
		case c.frames <- f:
		case <-c.ctx.Done():
			return
		}
	}
}

// live serves one who is known.
func (c *conn) live() (err error) {
	if err := c.agent.claim(c); err != nil {
		return c.fail(err)
	}
	defer c.agent.release(c)
	if c.store, err = c.agent.store(c.owner.topology, c.hello.settings); err != nil {
		return c.fail(err)
	}
	defer c.agent.put(c.owner.topology)
	if c.hello.spout {
		return c.leads()
	}
	return c.keeps()
}

// leads serves a checkpoint spout.
func (c *conn) leads() error {
	r, err := ask(c, c.store.Record)
	if err != nil {
		return c.fail(err)
	}
	for {
		if err := c.answer(record, appendRecord(nil, r), err); err != nil {
			return err
		}
		f, next := c.next()
		if next != nil {
			return next
		}
		if f.kind != step {
			return fmt.Errorf("a checkpoint spout sends a message of kind %d", f.kind)
		}
		m, wrong := decodeMove(f.body)
		if wrong != nil {
			return wrong
		}
		r, err = ask(c, func(ctx context.Context) (checkpoint.Record, error) { return m.make(ctx, c.store, c.agent.cfg.Saving) })
	}
}

// answer sends an answer, or the failure; the error is that of a connection that has
// to end.
func (c *conn) answer(k kind, body []byte, err error) error {
	if err == nil {
		return c.send(k, body)
	}
	if errors.Is(err, errGone) || c.ctx.Err() != nil {
		return errGone
	}
	c.log.Warn("a JVM's state: refused", "error", err)
	return c.send(failed, describe(err))
}

// next is the next frame, while posts run.
func (c *conn) next() (frame, error) {
	for {
		select {
		case f, ok := <-c.frames:
			if !ok {
				return f, errGone
			}
			return f, nil
		case <-c.posts.bell:
			c.posts.run()
		case <-c.ctx.Done():
			return frame{}, errGone
		}
	}
}

// await waits for done, while posts run and the JVM hears that it goes on.
func (c *conn) await(done <-chan error) error {
	beat := time.NewTicker(c.agent.cfg.Beat)
	defer beat.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-c.posts.bell:
			c.posts.run()
		case <-beat.C:
			if err := c.send(wait, nil); err != nil {
				c.cancel()
				return errGone
			}
		case <-c.ctx.Done():
			return errGone
		}
	}
}

// ask calls f, which waits for others, beside the task's goroutine.
func ask[T any](c *conn, f func(context.Context) (T, error)) (v T, err error) {
	var running sync.WaitGroup
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	var got T
	running.Go(func() {
		var err error
		got, err = f(ctx)
		done <- err
	})
	err = c.await(done)
	cancel()
	running.Wait()
	return got, err
}
