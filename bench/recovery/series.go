package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	sr3 "github.com/stormring/stormring/sr3/recovery"
)

// series measures all modes with several owners, or with holders lost on the way.
func (t *trial) series(ctx context.Context, owners, killed []int) ([]Result, error) {
	var results []Result
	measure := func(mode sr3.Mode, owners, killed int) error {
		var runs []Result
		for n := range t.runs() {
			t.say("%s, %d at once, %d holders lost, run %d of %d", mode, owners, killed, n+1, t.runs())
			r, err := t.together(ctx, mode, owners, killed)
			if err != nil {
				return fmt.Errorf("%s, %d at once, %d holders lost: %w", mode, owners, killed, err)
			}
			runs = append(runs, r)
		}
		results = append(results, medianOf(runs))
		return nil
	}
	for _, mode := range []sr3.Mode{sr3.Star, sr3.Line, sr3.Tree} {
		for _, n := range owners {
			if err := measure(mode, n, 0); err != nil {
				return results, err
			}
		}
		for _, n := range killed {
			if err := measure(mode, 1, n); err != nil {
				return results, err
			}
		}
	}
	return results, nil
}

// together brings back several owners at once, and unplugs holders on the way.
// The result is that of the slowest.
func (t *trial) together(ctx context.Context, mode sr3.Mode, owners, killed int) (Result, error) {
	var workers []*child
	defer func() {
		for _, w := range workers {
			w.kill()
		}
	}()
	for i := range owners {
		w, err := t.lab.worker(ctx, t.receivers()[i])
		if err != nil {
			return Result{}, err
		}
		workers = append(workers, w)
	}
	var victims []string
	var marked func(reply) error
	if killed > 0 {
		marked = func(word reply) error {
			var err error
			victims = t.victims(word.Sent, killed)
			for _, name := range victims {
				err = errors.Join(err, t.lab.net.unplug(ctx, name))
			}
			return err
		}
	}
	got := make([]Result, owners)
	var g errgroup.Group
	first := t.epoch
	for i, w := range workers {
		one := *t // it counts epochs
		one.epoch = first + int64(i)
		g.Go(func() (err error) {
			got[i], err = one.recover(w, t.states[i], mode, marked)
			return err
		})
	}
	err := g.Wait()
	t.epoch += int64(owners)
	for _, name := range victims {
		err = errors.Join(err, t.lab.net.plug(ctx, name))
		t.lab.kill(name)
	}
	if err != nil {
		return Result{}, err
	}
	if len(victims) > 0 {
		if err := t.up(ctx, victims...); err != nil {
			return Result{}, err
		}
	}
	r := slices.MaxFunc(got, func(a, b Result) int {
		if a.Seconds < b.Seconds {
			return -1
		}
		return 1
	})
	r.Owners, r.Killed, r.Cold, r.Floor = owners, killed, true, t.floor(r.Stored, owners)
	return r, nil
}

// victims are so many holders, those who sent first.
func (t *trial) victims(sent []string, n int) []string {
	var all []string
	for _, name := range append(slices.Clone(sent), t.holders()...) {
		if slices.Contains(t.holders(), name) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all[:n]
}
