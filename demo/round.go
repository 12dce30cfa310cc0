package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/statefulwordcount"
)

// round loses the worker that counts, its host and another one, has the state come
// back, and the hosts.
func (s *show) round(ctx context.Context, mode string) error {
	if err := s.setMode(mode); err != nil {
		return err
	}
	s.timeline.add("--- %s: recoveries that begin from now on are by %s", strings.ToUpper(mode), mode)
	before, err := s.checkpoint(ctx)
	if err != nil {
		return err
	}
	victims, err := s.victims(ctx)
	if err != nil {
		return err
	}
	d := Round{Mode: mode, Words: before.Words}
	killed, err := s.kill(victims, &d)
	if err != nil {
		return err
	}
	if err := s.recover(ctx, victims[0], killed, &d); err != nil {
		return err
	}
	if err := s.mend(ctx, victims, killed, &d); err != nil {
		return err
	}
	s.result.Rounds = append(s.result.Rounds, d)
	return nil
}

// setMode has workers that start from now on recover in this way.
func (s *show) setMode(mode string) error {
	return s.cluster.configureWorkers(map[string]any{string(storm.ConfTopologySr3Recovery): mode})
}

// checkpoint waits for a checkpoint that begins from now on to be committed, and
// until no copy of the state is missing.
func (s *show) checkpoint(ctx context.Context) (e statefulwordcount.Event, err error) {
	begin := time.Now().UnixMicro()
	err = s.await(ctx, "a checkpoint is committed and all copies are there", func() (bool, error) {
		// The task notes what it is about to commit. When the next one is on its
		// way, that is committed.
		var ok bool
		e, ok = s.journal.lastButOne(statefulwordcount.EventCommit)
		ok = ok && e.AtMicros > begin
		return ok && s.whole(ctx), nil
	})
	if err == nil {
		s.timeline.add("checkpoint %d is committed, %s words, and no copy is missing", e.Transaction, count(e.Words))
	}
	return e, err
}

func (s *show) whole(ctx context.Context) bool {
	r := s.ring(ctx)
	s.timeline.show("%d copies are missing, %d objects were repaired", r.missing, r.repaired)
	return r.whole && r.missing == 0 && r.owners > 0
}

// placed is where a component's first executor is assigned.
func (s *show) placed(ctx context.Context, component string) (cluster.SupervisorID, error) {
	info, err := s.cluster.nimbus.TopologyInfo(ctx, s.id, cluster.NoErrors)
	if err != nil {
		return "", err
	}
	a, _, err := s.cluster.records.Assignment(ctx, s.id)
	if err != nil {
		return "", err
	}
	for _, e := range info.ExecutorList {
		if e.Component == component {
			for _, p := range a.Assignment {
				if p.Executor == e.Executor {
					return p.Slot.Supervisor, nil
				}
			}
		}
	}
	return "", fmt.Errorf("component %s has no executor", component)
}

// victims are the host of the worker that counts, and of the others without a
// worker the one that has most of the state.
func (s *show) victims(ctx context.Context) ([]*host, error) {
	id, err := s.placed(ctx, counting)
	if err != nil {
		return nil, err
	}
	first, err := s.hostOf(ctx, id)
	if err != nil {
		return nil, err
	}
	r, ok := s.report(ctx)
	if !ok {
		return nil, errors.New("no ring node has heard of the task that counts")
	}
	type holder struct {
		id    shard.NodeID
		bytes int64
	}
	var holders []holder
	for id, n := range r.Checkpoint.Nodes {
		holders = append(holders, holder{id, n})
	}
	slices.SortFunc(holders, func(a, b holder) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.id, b.id))
	})
	for _, x := range holders {
		h, err := s.hostOf(ctx, cluster.SupervisorID(x.id))
		if err != nil {
			return nil, err
		}
		if h != first && len(h.pids()) == 0 {
			return []*host{first, h}, nil
		}
	}
	return nil, errors.New("no host without a worker has a part of the state")
}

// kill kills hosts with all that runs on them.
func (s *show) kill(victims []*host, d *Round) (time.Time, error) {
	var what []string
	for _, h := range victims {
		d.Killed = append(d.Killed, h.spec.Host)
		d.Processes = append(append(d.Processes, h.pids()...), h.cmd.Process.Pid)
		processes := []string{fmt.Sprintf("process %d", h.cmd.Process.Pid)}
		for _, pid := range h.pids() {
			processes = append(processes, fmt.Sprintf("worker %d", pid))
		}
		what = append(what, fmt.Sprintf("host %s (%s)", h.spec.Host, strings.Join(processes, ", ")))
	}
	at := time.Now()
	for _, h := range victims {
		if err := h.kill(); err != nil {
			return at, err
		}
	}
	s.timeline.addAt(at, "kill -9: %s", strings.Join(what, " and "))
	for _, h := range victims {
		<-h.ended
	}
	return at, nil
}

// recover waits until the state is back and words are counted, and takes the times.
func (s *show) recover(ctx context.Context, lost *host, killed time.Time, d *Round) error {
	var fresh *host
	var detected time.Time
	err := s.await(ctx, "nimbus gives the work to another host", func() (bool, error) {
		id, err := s.placed(ctx, counting)
		if err != nil {
			return false, err
		}
		h, err := s.hostOf(ctx, id)
		if err != nil || h == lost {
			return false, nil //nolint:nilerr // the lost host is not registered any more
		}
		fresh, detected = h, time.Now()
		if l, ok := s.launched(fresh, killed); ok && l.at.Before(detected) {
			detected = l.at // it was faster than this look
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	s.timeline.addAt(detected, "nimbus has heard nothing of the hosts for %s and gives the work to %s", silence, fresh.spec.Host)
	var first statefulwordcount.Event
	var launched launch
	err = s.await(ctx, "words are counted again", func() (bool, error) {
		if launched.host == nil {
			if l, ok := s.launched(fresh, killed); ok {
				launched = l
				s.timeline.addAt(l.at, "%s has started worker %d", l.host.spec.Host, l.pid)
			}
		}
		var ok bool
		first, ok = s.journal.find(statefulwordcount.EventFirst, killed.UnixMicro())
		return ok && launched.host != nil, nil
	})
	if err != nil {
		return err
	}
	r, err := s.recovery(ctx, killed)
	if err != nil {
		return err
	}
	s.times(d, r, killed, detected, first)
	return nil
}

// recovery is the task's own account of its recovery.
func (s *show) recovery(ctx context.Context, since time.Time) (last protocol.Recovery, err error) {
	err = s.await(ctx, "the task reports its recovery", func() (bool, error) {
		report, ok := s.report(ctx)
		if !ok {
			return false, nil
		}
		for _, r := range report.Recoveries {
			if r.AtMillis >= since.UnixMilli() && r.Shards > 0 && !r.Running {
				last = r
				return true, nil
			}
		}
		return false, nil
	})
	return last, err
}

// times fills in the table's row and tells of it.
func (s *show) times(d *Round, r protocol.Recovery, killed, detected time.Time, first statefulwordcount.Event) {
	began := time.UnixMilli(r.AtMillis)
	d.DetectMS = millis(detected.Sub(killed))
	d.PlaceMS = millis(began.Sub(detected)) + r.PlaceMS
	d.FetchMS, d.RebuildMS = r.FetchMS, r.RebuildMS
	d.FirstMS = millis(time.UnixMicro(first.AtMicros).Sub(killed))
	d.ResumeMS = d.FirstMS - d.DetectMS - d.PlaceMS - d.FetchMS - d.RebuildMS
	if late := -d.ResumeMS; late > 0 {
		// The end was noted while the task went on already.
		rebuild := min(late, d.RebuildMS)
		d.RebuildMS, d.FetchMS, d.ResumeMS = d.RebuildMS-rebuild, d.FetchMS-(late-rebuild), 0
	}
	d.PredictedMS, d.Bytes, d.Shards, d.Reason, d.Receiver = r.PredictedMS, r.Bytes, r.Shards, r.Reason, string(r.Receiver)
	at := func(ms float64) time.Time { return began.Add(time.Duration(ms * float64(time.Millisecond))) }
	s.timeline.addAt(at(r.PlaceMS), "plan: %s, %d shards from %d senders, predicted %.2f s", r.Mode, r.Shards, len(r.Sources), r.PredictedMS/1000)
	rebuilt := at(r.PlaceMS + d.FetchMS + d.RebuildMS)
	s.timeline.addAt(rebuilt, "the state is rebuilt of %s, in %.2f s", size(r.Bytes), (d.FetchMS+d.RebuildMS)/1000)
	if e, ok := s.journal.find(statefulwordcount.EventState, killed.UnixMicro()); ok {
		d.Keys = e.Keys
		s.timeline.addAt(time.UnixMicro(e.AtMicros), "the task has its state: %s counts of %s words%s", count(e.Keys), count(e.Words), s.sameAs(e))
	}
	s.timeline.addAt(time.UnixMicro(first.AtMicros), "the first word is counted, %.2f s after the kill", d.FirstMS/1000)
}

// sameAs names the checkpoint with as many words and keys.
func (s *show) sameAs(state statefulwordcount.Event) string {
	for _, e := range slices.Backward(s.journal.events) {
		if e.Event == statefulwordcount.EventCommit && e.AtMicros < state.AtMicros && e.Words == state.Words && e.Keys == state.Keys {
			return fmt.Sprintf(", as in checkpoint %d", e.Transaction)
		}
	}
	return ""
}

// mend waits until the ring has made all copies anew that were lost, then has the
// hosts come back and waits until all is in its place.
func (s *show) mend(ctx context.Context, victims []*host, killed time.Time, d *Round) error {
	err := s.await(ctx, "the other hosts have all copies", func() (bool, error) { return s.whole(ctx), nil })
	if err != nil {
		return err
	}
	d.RepairMS = millis(time.Since(killed))
	if r, ok := s.report(ctx); ok {
		d.StateBytes = r.Bytes
	}
	s.timeline.add("the other hosts have made all lost copies anew, %.1f s after the kill", d.RepairMS/1000)
	for _, h := range victims {
		if err := h.start(); err != nil {
			return err
		}
	}
	s.timeline.add("%s are started again, with their disks", strings.Join(d.Killed, " and "))
	if err := s.await(ctx, "the hosts are on the ring again", func() (bool, error) { return s.whole(ctx), nil }); err != nil {
		return err
	}
	s.timeline.add("they are on the ring, and no copy is missing")
	return nil
}
