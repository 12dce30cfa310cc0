package jvmstate

import (
	"context"
	"fmt"
	"time"

	"github.com/stormring/stormring/worker/checkpoint"
)

// The phases of the checkpoint spout, in the lowest byte of a record's epoch. Above
// them is which spout it was: a number that each draws for itself, so that no two
// ever write the same record.
const (
	nothing    = 0 // it has never been there
	preparing  = 1
	committing = 2
	settled    = 3 // COMMITTED
)

const phaseBits = 8

func phase(r checkpoint.Record) uint64 { return r.Epoch & (1<<phaseBits - 1) }

func claim(r checkpoint.Record) uint64 { return r.Epoch >> phaseBits }

// move is what the checkpoint spout does.
type move struct {
	phase byte
	tx    int64 // ours
	claim uint64
	// fresh asks for a new era.
	fresh bool
	// expect is the record as the spout knows it.
	expect checkpoint.Record
}

func decodeMove(body []byte) (move, error) {
	f := fields{b: body}
	m := move{phase: f.byte(), tx: f.long() + 1, claim: uint64(f.int()) & 0x7fffffff, fresh: f.byte() != 0, expect: f.record()} //nolint:gosec // masked
	return m, f.end()
}

// next is the record after the move.
func (m move) next() (checkpoint.Record, error) {
	r := m.expect
	switch was := phase(r); {
	case m.phase == preparing && m.tx == r.Committed.TxID+1 && was != committing:
		if m.fresh || r.Last == 0 {
			r.Last++
		}
	case m.phase == committing && m.tx == r.Committed.TxID+1 && was == preparing && claim(r) == m.claim:
		r.Committed = checkpoint.Version{TxID: m.tx, Era: r.Last}
	case m.phase == settled && m.tx == r.Committed.TxID:
	default:
		return r, refuse("the checkpoint spout goes to phase %d of transaction %d, but %d is committed and it was in phase %d: "+
			"its worker has to start anew", m.phase, m.tx-1, r.Committed.TxID-1, was)
	}
	r.Epoch = m.claim<<phaseBits | uint64(m.phase)
	return r, nil
}

const (
	// swaps is how often a record is tried to be written, if it is not known whether
	// it was.
	swaps = 5
	// pause is between looks at the record.
	pause = 50 * time.Millisecond
)

// make makes the move.
func (m move) make(ctx context.Context, s Store, saving time.Duration) (checkpoint.Record, error) {
	next, err := m.next()
	if err != nil {
		return next, err
	}
	if m.phase == committing {
		if err := saved(ctx, s, next.Committed, saving); err != nil {
			return next, err
		}
	}
	for range swaps {
		if s.Swap(ctx, m.expect, next) == checkpoint.Written {
			return next, nil
		}
		now, err := s.Record(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return next, err
		case err != nil: // try again
		case now == next:
			return next, nil
		case now != m.expect:
			return next, refuse("another checkpoint spout of this topology is at work: the commit record has %v, era %d, epoch %#x and not %v, era %d, epoch %#x",
				now.Committed, now.Last, now.Epoch, m.expect.Committed, m.expect.Last, m.expect.Epoch)
		}
		if err := sleep(ctx, pause); err != nil {
			return next, err
		}
	}
	return next, refuse("the commit record could not be written; is the coordination store away?")
}

// saved waits until all have saved a version. Storm has told the spout that they have;
// but its word for a marker has the transaction only, and may be that for an earlier
// try, which has saved another version.
func saved(ctx context.Context, s Store, v checkpoint.Version, patience time.Duration) error {
	begun := time.Now()
	for {
		unsaved, err := s.Unsaved(ctx, v)
		switch {
		case err == nil && len(unsaved) == 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(begun) < patience:
		case err != nil:
			return refuse("commit of transaction %d: it is not known whether all have saved it: %v", v.TxID-1, err)
		default:
			return refuse("commit of transaction %d: after %v %d have not saved version %v, %s for one: the worker of the checkpoint spout has to start anew",
				v.TxID-1, patience, len(unsaved), v, unsaved[0])
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// settle reads the record until it is as it should be, for a while: the coordination
// store may be behind. It gives what was read last.
func settle(ctx context.Context, s Store, patience time.Duration, good func(checkpoint.Record) bool) (r checkpoint.Record, err error) {
	begun := time.Now()
	for {
		r, err = s.Record(ctx)
		if err == nil && good(r) {
			return r, nil
		}
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		if time.Since(begun) >= patience {
			if err != nil {
				err = &failure{code: refused, text: fmt.Sprintf("the commit record cannot be read: %v", err)}
			}
			return r, err
		}
		if err := sleep(ctx, pause); err != nil {
			return r, err
		}
	}
}
