// Package statehold holds a state of a given size, and measures how soon it is
// there again after a failure. Begin at Definition, then read Execute.
package statehold

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/throughput"
)

// keyLen is how long keys are, and how long the part of a value that is checked.
const keyLen = 8

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "statehold",
		Summary: "Hold a state of a given size, which is read over and over",
		Setup:   setup,
	}
}

// options are the topology's flags.
type options struct {
	keys    int
	size    int
	journal string // a folder; "" is none
}

func setup(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	o := &options{}
	flags.IntVar(&o.keys, "keys", 10_000, "the state has `N` keys")
	flags.IntVar(&o.size, "size", 1024, "each value has `N` bytes, at least 8")
	flags.StringVar(&o.journal, "journal", "", "the bolt writes how many values it has read and put, and when checkpoints were committed, to files in the folder `DIR`")
	return o.build
}

func (o *options) build(env storm.Env) (*storm.Instance, error) {
	switch {
	case o.keys < 1:
		return nil, fmt.Errorf("%w: --keys is %d; it must be at least 1", storm.ErrUsage, o.keys)
	case o.size < keyLen:
		return nil, fmt.Errorf("%w: --size is %d; it must be at least %d", storm.ErrUsage, o.size, keyLen)
	case o.journal != "" && !filepath.IsAbs(o.journal):
		return nil, fmt.Errorf("%w: --journal is %q; it must be an absolute path, since each worker has a working directory of its own", storm.ErrUsage, o.journal)
	case len(env.Args) > 0:
		return nil, fmt.Errorf("%w: the topology takes no arguments, but got %q", storm.ErrUsage, env.Args[0])
	}
	b := storm.NewTopologyBuilder()
	b.SetSpout("keys", func() storm.Spout { return &spout{keys: int64(o.keys)} }, 1)
	b.SetBasicBolt("hold", func() storm.BasicBolt { return &holder{options: o} }, 1).LocalOrShuffleGrouping("keys")
	t, err := b.Build()
	if err != nil {
		return nil, err
	}
	return &storm.Instance{Topology: t, Report: func(w io.Writer, _ bool) error { return nil }}, nil
}

// spout emits keys in turn.
type spout struct {
	storm.BaseSpout
	keys int64
	next int64
	out  *storm.SpoutOutputCollector
}

func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("key") }

func (s *spout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

func (s *spout) NextTuple() error {
	s.out.Emit(storm.Int(s.next))
	s.next = (s.next + 1) % s.keys
	return nil
}

// holder is the bolt with the state.
type holder struct {
	storm.BaseBasicBolt
	*options
	state   storm.State
	value   []byte
	counts  *throughput.Journal // nil if there is none
	commits *throughput.Journal

	read, put int64
}

var (
	_ storm.Stateful     = (*holder)(nil)
	_ storm.PreCommitter = (*holder)(nil)
)

// Prepare implements storm.BasicBolt.
func (b *holder) Prepare(*storm.TopologyContext) (err error) {
	b.value = make([]byte, b.size)
	if b.journal == "" {
		return nil
	}
	if b.counts, err = throughput.OpenJournal(b.journal, throughput.Counts); err != nil {
		return err
	}
	b.commits, err = throughput.OpenJournal(b.journal, throughput.Commits)
	return err
}

// InitState implements storm.Stateful.
func (b *holder) InitState(s storm.State) error {
	b.state = s
	return nil
}

// Execute puts a key that is new, and checks one that is not.
func (b *holder) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	n := uint64(t.Int(0)) //nolint:gosec // never below zero
	var key [keyLen]byte
	binary.BigEndian.PutUint64(key[:], n)
	value, ok := b.state.Get(key[:])
	switch {
	case !ok:
		copy(b.value, key[:])
		if err := b.state.Put(key[:], b.value); err != nil {
			return fmt.Errorf("statehold: put key %d: %w", n, err)
		}
		b.put++
	case len(value) != b.size || binary.BigEndian.Uint64(value) != n:
		return fmt.Errorf("statehold: key %d has the value of another", n)
	default:
		b.read++
	}
	b.counts.Tell(b.read, b.put)
	return nil
}

// PreCommit implements storm.PreCommitter.
func (b *holder) PreCommit(int64) error {
	b.commits.Tell(b.read + b.put)
	return nil
}

// Cleanup ends the journals.
func (b *holder) Cleanup() error { return errors.Join(b.counts.Close(), b.commits.Close()) }
