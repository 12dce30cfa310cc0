package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// child is a process of the lab that answers to requests. It is used by one
// goroutine at a time, but for kill.
type child struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	to   *json.Encoder
	from *json.Decoder
	gone chan struct{} // closed when it was waited for
}

// starter says how children are started.
type starter struct {
	command []string // this program, and what makes it call Serve
	log     *os.File
}

// start starts a child; before is what goes before its command line: how to get
// into a namespace. It is killed when ctx ends.
func (s starter) start(ctx context.Context, name string, before []string, r role) (*child, reply, error) {
	line := append(before, s.command...)
	c := &child{name: name, cmd: exec.CommandContext(ctx, line[0], line[1:]...), gone: make(chan struct{})}
	if s.log != nil {
		c.cmd.Stderr = s.log
	}
	c.cmd.WaitDelay = time.Second
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, reply{}, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, reply{}, err
	}
	c.in, c.to, c.from = in, json.NewEncoder(in), json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		return nil, reply{}, fmt.Errorf("start %s: %w", name, err)
	}
	first, err := c.ask(r, nil)
	if err != nil {
		c.kill()
		return nil, first, err
	}
	return c, first, nil
}

// ask sends a request and waits for its answer; marked, if any, is called for
// word of half the way.
func (c *child) ask(request any, marked func(reply) error) (reply, error) {
	if err := c.to.Encode(request); err != nil {
		return reply{}, fmt.Errorf("%s has ended: %w", c.name, err)
	}
	for {
		var a reply
		switch err := c.from.Decode(&a); {
		case err != nil:
			return a, fmt.Errorf("%s has ended: %w", c.name, err)
		case a.Error != "":
			return a, fmt.Errorf("%s: %s", c.name, a.Error)
		case !a.Mark:
			return a, nil
		case marked != nil:
			if err := marked(a); err != nil {
				return a, err
			}
		}
	}
}

// stop has the child end by itself, which it does as its requests end.
func (c *child) stop() error {
	c.in.Close()
	return c.wait()
}

// kill ends the child at once.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	c.in.Close()
	_ = c.wait() // it was killed, which is an error
}

func (c *child) wait() error {
	select {
	case <-c.gone:
		return nil
	default:
	}
	err := c.cmd.Wait()
	close(c.gone)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%s: %w", c.name, exit)
	}
	return err
}
