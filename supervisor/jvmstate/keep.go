package jvmstate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/stormring/stormring/worker/checkpoint"
)

// kept is the state of one namespace.
type kept struct {
	*conn
	keeper Keeper
	// base is the committed version that the state is made of, saved what is safe
	// beyond it; zero for nothing.
	base, saved checkpoint.Version
	// known is what the JVM takes for base. It is an older version if nothing has
	// changed since, which the JVM need not know: see follow.go. followed tells that
	// saved has no changes, changed that the state has some that are not saved.
	known             checkpoint.Version
	followed, changed bool
	joined            bool
	// idle tells that nothing is being done for the JVM.
	idle bool
}

// keeps serves a task.
func (c *conn) keeps() error {
	n := Namespace{Component: c.owner.component, Task: c.owner.task, Settings: c.hello.settings, Post: c.posts.post}
	if c.hello.noticed > 0 {
		n.Noticed, n.Detect = time.UnixMilli(c.hello.noticed), time.Duration(max(0, c.hello.detect))*time.Microsecond
	}
	keeper, err := c.store.Keep(n)
	if err != nil {
		return c.fail(err)
	}
	defer keeper.Close()
	k := &kept{conn: c, keeper: keeper}
	if err := k.back(nil); err != nil {
		return err
	}
	c.agent.enrol(k)
	for {
		k.idle = true
		f, err := c.next()
		k.idle = false
		if err != nil {
			return err
		}
		switch f.kind {
		case contents:
			err = k.stream()
		case prepare:
			err = k.prepare(f.body)
		case commit:
			err = k.commit(f.body)
		case rollback:
			err = k.back(f.body)
		default:
			err = fmt.Errorf("a message of kind %d comes out of turn", f.kind)
		}
		if err != nil {
			return err
		}
	}
}

// load makes the state what the record has committed.
func (k *kept) load(r checkpoint.Record) error {
	done := make(chan error, 1)
	k.keeper.Load(r.Committed, r.Last, func(err error) { done <- err })
	if err := k.await(done); err != nil {
		return err
	}
	if r.Committed != k.base && !k.stands(r) {
		k.known = r.Committed
	}
	k.base, k.saved, k.followed, k.changed = r.Committed, checkpoint.Version{}, false, false
	return nil
}

// tell says which version the state is made of, and the era in which nothing will be
// committed any more if this is a rollback; 0 for none.
func (k *kept) tell(r checkpoint.Record, err error) error {
	var over checkpoint.Era
	if phase(r) == preparing {
		over = r.Last
	}
	return k.answer(base, appendLongs(appendVersion(nil, k.known), int64(over)), err) //nolint:gosec // as it is read
}

// back goes to the committed version.
func (k *kept) back(body []byte) error {
	if len(body) > 0 {
		return fmt.Errorf("a message has %d bytes too many", len(body))
	}
	r, err := k.record(func(r checkpoint.Record) bool { return !less(r.Committed, k.base) })
	if err != nil {
		return k.tell(r, err)
	}
	if err := k.load(r); err != nil {
		return k.fail(err) // nobody knows what the state is now
	}
	return k.tell(r, nil)
}

// less orders versions.
func less(v, w checkpoint.Version) bool {
	return cmp.Or(cmp.Compare(v.Era, w.Era), cmp.Compare(v.TxID, w.TxID)) < 0
}

func (k *kept) record(good func(checkpoint.Record) bool) (checkpoint.Record, error) {
	return ask(k.conn, func(ctx context.Context) (checkpoint.Record, error) {
		return settle(ctx, k.store, k.agent.cfg.Patience, good)
	})
}

// stream sends all entries.
func (k *kept) stream() error {
	var b []byte
	for key, value := range k.keeper.State().All(nil) {
		b = appendEntry(b, key, value)
		rest := b
		for ; len(rest) >= maxChunk; rest = rest[maxChunk:] {
			if err := k.send(chunk, rest[:maxChunk]); err != nil {
				return err
			}
		}
		if len(rest) < len(b) {
			b = append(b[:0], rest...)
		}
	}
	if len(b) > 0 {
		if err := k.send(chunk, b); err != nil {
			return err
		}
	}
	return k.send(over, nil)
}

// commit takes up what is committed.
func (k *kept) commit(body []byte) error {
	f := fields{b: body}
	tx := f.long() + 1
	if err := f.end(); err != nil {
		return err
	}
	r, err := k.record(func(r checkpoint.Record) bool { return r.Committed.TxID >= tx && !less(r.Committed, k.base) })
	switch {
	case err != nil:
	case r.Committed.TxID < tx:
		err = refuse("commit of transaction %d: the checkpoint spout has committed %d", tx-1, r.Committed.TxID-1)
	case r.Committed == k.base:
	case r.Committed == k.saved:
		k.takeUp()
	default:
		k.log.Warn("a JVM's state: what is committed is not what was prepared here; it is loaded", "prepared", k.saved, "committed", r.Committed)
		if err := k.load(r); err != nil {
			return k.fail(err)
		}
	}
	return k.tell(r, err)
}

// takeUp makes what is saved, and committed, the base.
func (k *kept) takeUp() {
	k.keeper.Committed(k.saved)
	if !k.followed {
		k.known = k.saved
	}
	k.base, k.saved, k.followed = k.saved, checkpoint.Version{}, false
}

// prepare saves a version: what follows are the changes since base.
func (k *kept) prepare(body []byte) error {
	f := fields{b: body}
	tx, from, after := f.long()+1, f.version(), checkpoint.Era(f.long()) //nolint:gosec // as it was written
	if err := f.end(); err != nil {
		return err
	}
	v, err := k.name(tx, from, after)
	again := err == nil && v == k.saved
	k.changed = k.changed || err == nil && !again
	changed, streamErr := k.take(err == nil, again)
	switch {
	case streamErr.end != nil:
		return streamErr.end
	case err != nil:
	case streamErr.put != nil:
		err = refuse("prepare transaction %d: %v", tx-1, streamErr.put)
	case again && changed:
		err = refuse("transaction %d was prepared already, and the state has changed since", tx-1)
	default:
		if err = k.lead(v); err == nil && !again {
			err = k.save(v)
		}
		k.followed = k.followed && !again // the JVM knows it now
	}
	return k.answer(prepared, appendVersion(nil, v), err)
}

// name is the version that is being prepared.
func (k *kept) name(tx int64, from checkpoint.Version, after checkpoint.Era) (v checkpoint.Version, err error) {
	if from != k.known {
		return v, refuse("prepare transaction %d: the changes are to version %v, and the state here is of version %v", tx-1, from, k.known)
	}
	r, err := k.record(func(r checkpoint.Record) bool {
		if r.Committed == k.base || k.stands(r) {
			return phase(r) == preparing && r.Last > after
		}
		return less(k.base, r.Committed)
	})
	if err == nil && k.stands(r) {
		k.takeUp()
	}
	switch {
	case err != nil:
		return v, err
	case r.Committed == k.base && phase(r) == preparing && r.Last > after && tx == k.base.TxID+1:
		return checkpoint.Version{TxID: tx, Era: r.Last}, nil
	case less(k.base, r.Committed) && r.Committed.TxID == tx && k.base.TxID == tx-1:
		// The marker was late, and the spout did not wait for it. Nobody else has
		// saved this version, or the nodes of the ring refuse it.
		return r.Committed, nil
	default:
		return v, refuse("prepare transaction %d: the state here is of version %v; committed is %v, and the checkpoint spout is in phase %d of era %d, which has to be above %d",
			tx-1, k.base, r.Committed, phase(r), r.Last, after)
	}
}

// streamErr is what was wrong with the changes: with an entry, or the connection.
type streamErr struct{ put, end error }

// take reads the changes and applies them if they are wanted. Compare asks whether
// any of them is one.
func (k *kept) take(wanted, compare bool) (changed bool, failed streamErr) {
	var parts entries
	state := k.keeper.State()
	put := func(key, value []byte, gone bool) error {
		if !wanted || failed.put != nil {
			return nil //nolint:nilerr // the rest of the stream is read all the same
		}
		if compare {
			now, ok := state.Get(key)
			changed = changed || ok == gone || !gone && !bytes.Equal(now, value)
		}
		if gone {
			failed.put = state.Delete(key)
		} else {
			failed.put = state.Put(key, value)
		}
		return nil
	}
	for {
		f, err := k.next()
		switch {
		case err != nil:
			failed.end = err
			return changed, failed
		case f.kind == end && len(f.body) == 0:
			failed.end = parts.end()
			return changed, failed
		case f.kind != changes:
			failed.end = fmt.Errorf("a message of kind %d comes between changes", f.kind)
			return changed, failed
		}
		if failed.end = parts.feed(f.body, put); failed.end != nil {
			return changed, failed
		}
	}
}

// join says once that from now on nothing may be committed that is not saved here.
func (k *kept) join() error {
	if k.joined {
		return nil
	}
	_, err := ask(k.conn, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.store.Join(ctx, k.owner.component, k.owner.task)
	})
	k.joined = err == nil
	return err
}

// save makes the state as it is now safe as version v.
func (k *kept) save(v checkpoint.Version) error {
	if err := k.join(); err != nil {
		return err
	}
	done := make(chan error, 1)
	k.saved, k.followed = checkpoint.Version{}, false
	k.keeper.Save(v, k.base, func(err error) { done <- err })
	if err := k.await(done); err != nil {
		return err
	}
	k.saved, k.changed = v, false
	return nil
}
