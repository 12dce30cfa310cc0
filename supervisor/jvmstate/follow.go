package jvmstate

import (
	"context"

	"github.com/stormring/stormring/worker/checkpoint"
)

// A task of Storm does not prepare all of its namespaces in each transaction: windows
// that still wait for the tuples that they had before a restart leave theirs as they
// are. On the ring the version that is committed has to be one of each. So whenever
// the task's own namespace is prepared, which it is last, the others that were not
// follow it: they are saved as they are. Their JVM is not told, and goes on to call
// them by the version that it knows.

// enrol makes k known to those of its task. It is not after the end of its
// connection, which release takes out.
func (a *Agent) enrol(k *kept) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.owners[k.owner] == k.conn {
		k.conn.kept = k
	}
}

// followers are the other namespaces of the task in the same JVM, if k is the task's
// own.
func (a *Agent) followers(k *kept) (all []*kept) {
	if k.owner.component != k.hello.component {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for o, c := range a.owners {
		if o.topology == k.owner.topology && o.task == k.owner.task && c != k.conn && c.kept != nil &&
			c.hello.component == k.hello.component && c.hello.boot == k.hello.boot {
			all = append(all, c.kept)
		}
	}
	return all
}

// lead has those that follow k saved as version v, like k after its base.
func (k *kept) lead(v checkpoint.Version) error {
	for _, f := range k.agent.followers(k) {
		base, done := k.base, make(chan error, 1)
		f.posts.post(func() { done <- f.follow(v, base) })
		_, err := ask(k.conn, func(ctx context.Context) (struct{}, error) {
			select {
			case err := <-done:
				return struct{}{}, err
			case <-f.ctx.Done():
				return struct{}{}, refuse("the connection of %s has ended", f.owner.component)
			case <-ctx.Done():
				return struct{}{}, ctx.Err()
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// follow saves the state unchanged as version v, which follows base.
func (k *kept) follow(v, base checkpoint.Version) error {
	if !k.idle {
		return refuse("transaction %d: %s is at something else", v.TxID-1, k.owner.component)
	}
	if k.followed && k.saved == base {
		k.takeUp()
	}
	switch {
	case k.saved == v:
		return nil
	case k.changed || k.base != base || k.saved != checkpoint.Version{} && !k.followed:
		return refuse("transaction %d: %s was not prepared for it, and is not as it was at version %v: it is of %v, with %v prepared",
			v.TxID-1, k.owner.component, base, k.base, k.saved)
	}
	k.idle = false
	defer func() { k.idle = true }()
	err := k.save(v)
	k.followed = err == nil
	return err
}

// stands tells whether what is committed is what was saved without changes.
func (k *kept) stands(r checkpoint.Record) bool { return k.followed && r.Committed == k.saved }
