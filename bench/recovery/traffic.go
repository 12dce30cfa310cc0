package recovery

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	sr3 "github.com/stormring/stormring/sr3/recovery"
)

const (
	// trafficBytes is what a worker of each host saves, to three holders, rebuiltBytes
	// on hosts where it is brought back, trafficTask the number of the first of these
	// tasks.
	trafficBytes = 8 << 20
	rebuiltBytes = 32 << 20
	trafficTask  = 1000
	// savingAtOnce are so few hosts that the machine's processors are not the limit.
	savingAtOnce = 3
)

// traffic is what goes over the links of a cluster at work, by which its hosts get
// to know them: a task on each host saves its state, and one comes back to each
// host that is to rebuild.
func (t *trial) traffic(ctx context.Context) error {
	t.say("each host saves once")
	hosts := slices.Concat(t.receivers(), t.holders())
	states := make([]saved, len(hosts))
	g, one := errgroup.WithContext(ctx)
	g.SetLimit(savingAtOnce)
	for i, host := range hosts {
		g.Go(func() error {
			s := state{Task: int32(trafficTask + i), Bytes: trafficBytes, Seed: 1}
			if i < len(t.receivers()) {
				s.Bytes = rebuiltBytes
			}
			w, err := t.lab.worker(one, host)
			if err != nil {
				return err
			}
			defer w.kill()
			a, err := w.ask(request{Fill: &fillRequest{state: s, Version: 1, Share: 1, Replicas: 3, ShardKiB: 256}}, nil)
			states[i] = saved{state: s, version: 1, digest: a.Digest, stored: a.Stored}
			return errorsOf("the save of "+host, err, w.stop())
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, host := range t.receivers() {
		w, err := t.lab.worker(ctx, host)
		if err != nil {
			return err
		}
		_, err = t.recover(w, states[i], sr3.Star, nil)
		if err := errorsOf("the recovery on "+host, err, w.stop()); err != nil {
			return err
		}
	}
	return nil
}

// errorsOf is the first error, with what it is of.
func errorsOf(what string, errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}
