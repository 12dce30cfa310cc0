package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/nimbus"
	"github.com/stormring/stormring/sr3/transport"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/statefulwordcount"
)

const (
	// topologyName is the topology's, counting its component that has the state.
	topologyName = "words"
	counting     = "count"
	// workers are the topology's.
	workers = 2
	// patience is how long anything may take that has no bound of its own.
	patience = 90 * time.Second
)

// show is a demonstration under way. All of it runs in one goroutine, but the
// hosts' news and the feed.
type show struct {
	Options
	dir      string
	timeline *timeline
	log      *slog.Logger
	result   Result

	feed    *feed
	cluster *clusterOf
	end     *transport.Endpoint
	journal journal
	id      cluster.TopologyID

	mu       sync.Mutex
	launches []launch
}

// launch is a worker that a host has started.
type launch struct {
	host *host
	pid  int
	at   time.Time
}

func (s *show) onNews(h *host, n hostNews, at time.Time) {
	if n.Worker == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.launches = append(s.launches, launch{h, n.Worker, at})
}

// launched is the first worker that a host has started since a moment.
func (s *show) launched(h *host, since time.Time) (launch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.launches {
		if l.host == h && !l.at.Before(since) {
			return l, true
		}
	}
	return launch{}, false
}

func (s *show) run(ctx context.Context) (err error) {
	c, err := findCorpus(s.Input)
	if err != nil {
		return err
	}
	s.result.Hosts, s.result.Replicas, s.result.Corpus = s.Hosts, s.Replicas, c.label
	if s.feed, err = newFeed(c, filepath.Join(s.dir, "text")); err != nil {
		return err
	}
	if s.end, err = transport.Listen(transport.Config{Log: s.log}, "", nil); err != nil {
		return err
	}
	defer s.end.Close()
	s.journal.path = filepath.Join(s.dir, "journal")
	defer s.journal.close()
	s.timeline.add("starting %d hosts, a process each: a supervisor with its ring node; nimbus and the coordination store are in this process, %d", s.Hosts, os.Getpid())
	if s.cluster, err = startCluster(ctx, s.Options, s.dir, s.log, s.onNews); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cluster.close()) }()
	if err := s.await(ctx, "all hosts are on the ring", func() (bool, error) { return s.ring(ctx).whole, nil }); err != nil {
		return err
	}
	s.timeline.add("all hosts are on the ring")
	if err := s.setMode(s.Modes[0]); err != nil {
		return err
	}
	if err := s.submit(ctx); err != nil {
		return err
	}
	feeding := startFeeding(s.feed, s.StateBytes, s.Rate)
	defer func() { err = errors.Join(err, feeding.stop()) }()
	if err := s.load(ctx, feeding); err != nil {
		return err
	}
	for _, mode := range s.Modes {
		if err := s.round(ctx, mode); err != nil {
			return fmt.Errorf("recovery by %s: %w", mode, err)
		}
	}
	if err := feeding.stop(); err != nil {
		return err
	}
	return s.prove(ctx)
}

func (s *show) submit(ctx context.Context) error {
	args := []string{
		"--input", s.feed.path, "--follow", "--page-lines", strconv.Itoa(pageLines),
		"--output", filepath.Join(s.dir, "counts"), "--journal", s.journal.path,
	}
	definition := statefulwordcount.Definition()
	instance, err := definition.Instance(storm.Env{Args: args})
	if err != nil {
		return err
	}
	topology, err := layout.Describe(instance.Topology, definition.Name)
	if err != nil {
		return err
	}
	settings := instance.Conf
	conf.TopologyArgs.Set(settings, args)
	settings.SetNumWorkers(workers)
	settings.SetMessageTimeoutSecs(60)
	settings[string(storm.ConfTopologySr3Replicas)] = s.Replicas
	if len(s.Environment) > 0 {
		settings.SetEnvironment(s.Environment)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("the topology's configuration: %w", err)
	}
	if err := s.cluster.submit(ctx, nimbus.Submission{Name: topologyName, ConfJSON: string(text), Topology: topology}); err != nil {
		return err
	}
	summary, err := s.cluster.nimbus.TopologySummaryByName(ctx, topologyName)
	if err != nil {
		return err
	}
	s.id = summary.ID
	s.timeline.add("submitted: count each word of each page (%d lines) of %s, in %d workers, %d copies of the state", pageLines, s.result.Corpus, workers, s.Replicas)
	return nil
}

// await waits until something has come about, and takes what the journal says
// meanwhile.
func (s *show) await(ctx context.Context, what string, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err := s.journal.poll(); err != nil {
			return err
		}
		done, err := ask()
		if done || err != nil {
			return err
		}
		if err := s.cluster.rest(ctx); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("waited %s in vain for this: %s; the logs are in the folder of --dir, if you name one", patience, what)
			}
			return err
		}
	}
}

// load waits until the state is as large as wanted, and committed.
func (s *show) load(ctx context.Context, f *feeding) error {
	begin := time.Now()
	err := s.await(ctx, "the state is filled", func() (bool, error) {
		words, full, err := f.filled()
		e, ok := s.journal.last(statefulwordcount.EventCommit)
		if ok {
			s.timeline.show("%s words counted, %s counts in the state", count(e.Words), count(e.Keys))
		}
		return full && ok && e.Words >= words, err
	})
	if err != nil {
		return err
	}
	r, ok := s.report(ctx)
	if !ok {
		return errors.New("no ring node has heard of the task that counts")
	}
	s.result.StateBytes, s.result.Keys = r.Bytes, r.Keys
	s.timeline.add("the state is %s, %s counts, filled in %.1f s; %s at rest in %d shards on %d hosts; %d lines a second go on",
		size(r.Bytes), count(r.Keys), time.Since(begin).Seconds(), size(r.Checkpoint.Stored), r.Checkpoint.Shards, len(r.Checkpoint.Nodes), s.Rate)
	return nil
}

// prove compares what was counted with what was written.
func (s *show) prove(ctx context.Context) error {
	s.timeline.add("the text is at its end: %s words; waiting for the topology to write down its counts", count(s.feed.ledger.words))
	counts := filepath.Join(s.dir, "counts")
	err := s.await(ctx, "the topology writes its counts", func() (bool, error) {
		all, err := filepath.Glob(filepath.Join(counts, "counts-*.tsv"))
		return len(all) == 1, err
	})
	if err != nil {
		return err
	}
	wrong, total, err := s.feed.ledger.compare(counts)
	if err != nil {
		return err
	}
	p := &s.result.Proof
	p.Keys, p.Words, p.Wrong, p.Examples = int64(len(s.feed.ledger.entries)), s.feed.ledger.words, int64(total), wrong
	p.Made = true
	if total > 0 {
		s.timeline.add("%d of %s counts are wrong", total, count(p.Keys))
		return fmt.Errorf("%w: %d of %d, such as: %s", ErrWrong, total, p.Keys, wrong[0])
	}
	s.timeline.add("%s keys, all counts right", count(p.Keys))
	return nil
}
