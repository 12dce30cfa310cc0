package client

import (
	"context"
	"errors"
	"fmt"
)

// repeat says whether a call that broke may be made again.
type repeat bool

const (
	// again: to do it twice is to do it once.
	again repeat = true
	// once: it must not be done twice.
	once repeat = false
)

// do makes a call. It is made again, for as long as there is patience, if it
// cannot have reached a leader, or if it broke and may be repeated.
func (c *Client) do(ctx context.Context, r repeat, call func(context.Context, *conn) error) error {
	p := c.patience()
	for {
		x, err := c.take(ctx, p)
		if err != nil {
			return err
		}
		asked := false
		if err = c.wake(ctx, x, r); err == nil {
			asked = true
			err = call(ctx, x)
		}
		answer, answered := refusal(err)
		moved := errors.Is(err, errMoved) || answered && sendsElsewhere(answer)
		if moved || broken(err) || errors.Is(err, context.DeadlineExceeded) {
			c.forget(x.addr)
		}
		c.give(x, err == nil || answered && !moved)
		switch {
		case err == nil:
			return nil
		case answered && !moved:
			return answer
		case moved, broken(err) && (!asked || r == again || unsent(err)):
			if p.wait(ctx, moved) {
				continue
			}
		}
		return c.failure(ctx, asked && r == once, moved, err)
	}
}

// errMoved: a nimbus that led does so no more.
var errMoved = errors.New("this nimbus is not the leader any more")

// wake finds out whether a connection that was idle is still one to the leader,
// where a call must not be lost on it.
func (c *Client) wake(ctx context.Context, x *conn, r repeat) error {
	if r == again || !x.used {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	leader, err := x.askLeader(bounded)
	switch {
	case errors.Is(err, errNoLeader), err == nil && addressOf(leader) != x.addr:
		return errMoved
	default:
		return err
	}
}

// failure is, as the caller sees it, an err that is no answer. May it have had
// an effect?
func (c *Client) failure(ctx context.Context, effect, moved bool, err error) error {
	_, sure := errors.AsType[final](err)
	over := c.over(ctx)
	switch {
	case effect && !sure && !moved && !unsent(err) && (broken(err) || late(err)):
		return fmt.Errorf("%w (%w)", ErrUncertain, err)
	case over != nil && !errors.Is(err, over):
		return fmt.Errorf("%w, after: %w", over, err)
	case moved || broken(err):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	default:
		return err
	}
}

// ask makes a call that only asks.
func ask[T any](ctx context.Context, c *Client, call func(*conn, context.Context) (T, error)) (T, error) {
	var out T
	err := c.do(ctx, again, func(ctx context.Context, x *conn) (err error) {
		out, err = call(x, ctx)
		return err
	})
	return out, err
}

// ask1 makes a call that only asks, with one argument.
func ask1[T, A any](ctx context.Context, c *Client, call func(*conn, context.Context, A) (T, error), a A) (T, error) {
	return ask(ctx, c, func(x *conn, ctx context.Context) (T, error) { return call(x, ctx, a) })
}

// ask2 makes a call that only asks, with two arguments.
func ask2[T, A, B any](ctx context.Context, c *Client, call func(*conn, context.Context, A, B) (T, error), a A, b B) (T, error) {
	return ask(ctx, c, func(x *conn, ctx context.Context) (T, error) { return call(x, ctx, a, b) })
}
