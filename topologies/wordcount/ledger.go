package wordcount

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/stormring/stormring/storm"
)

// ledgerBlock is the size of a block with --ledger, in bytes. The larger it is,
// the fewer different words there are to note.
const ledgerBlock = 64 << 10

// buildLedger is build with --ledger. It only reads: each worker process calls
// it, and so does whoever submits the topology.
func (o *options) buildLedger(paths []string) (*storm.Instance, error) {
	b := storm.NewTopologyBuilder()
	if o.reportOnly {
		b.SetSpout("nothing", func() storm.Spout { return nothing{} }, 1)
		t, err := b.Build()
		if err != nil {
			return nil, err
		}
		return &storm.Instance{Topology: t, Report: o.report}, nil
	}
	inputs, err := resolveFiles(paths)
	if err != nil {
		return nil, fmt.Errorf("wordcount: %w", err)
	}
	l := newLedger(o.ledger, newBlockList(inputs, o.blockBytes), o.sync)
	// The folder may well be missing where the topology is submitted.
	if err := l.check(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("wordcount: %w", err)
	}
	b.SetSpout("read", func() storm.Spout { return &ledgerSpout{ledger: l} }, o.spouts)
	b.SetBasicBolt("split", func() storm.BasicBolt { return &ledgerSplitter{} }, o.splitters).ShuffleGrouping("read")
	b.SetBolt("count", func() storm.Bolt { return &ledgerCounter{ledger: l} }, o.counters).FieldsGrouping("split", "word")
	t, err := b.Build()
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	conf.SetMaxSpoutPending(maxPending)
	// What is lost with a worker must come again, and may.
	storm.ConfTopologyEnableMessageTimeouts.Set(conf, true)
	return &storm.Instance{Topology: t, Conf: conf, Report: o.report, Progress: l.progress}, nil
}

// resolveFiles is resolve for inputs that can be read again, at any place.
func resolveFiles(paths []string) ([]input, error) {
	const why = "--ledger reads inputs in blocks, and again after a failure, so they must be regular files"
	if slices.Contains(paths, stdinPath) {
		return nil, fmt.Errorf("%w: %s, not standard input", storm.ErrUsage, why)
	}
	inputs, err := resolve(paths, nil)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		if in.waits {
			return nil, fmt.Errorf("%w: %s; %q is none", storm.ErrUsage, why, in.path)
		}
		if in.size > 0 {
			continue
		}
		if more, err := hasBytes(in.path); err != nil {
			return nil, err
		} else if more {
			return nil, fmt.Errorf("%w: %s; %q does not tell its size", storm.ErrUsage, why, in.path)
		}
	}
	return inputs, nil
}

// hasBytes looks into a file that claims to be empty, as those of /proc do.
func hasBytes(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, unreadable(path, err)
	}
	defer f.Close()
	n, err := f.Read(make([]byte, 1))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, unreadable(path, err)
	}
	return n > 0, nil
}

// report prints what is in a ledger. If it ought to be complete and is not,
// that is an error.
func (o *options) report(w io.Writer, partial bool) error {
	byWord, complete, err := ReadLedger(o.ledger)
	if err != nil {
		return fmt.Errorf("wordcount: %w", err)
	}
	counts := make([]count, 0, len(byWord))
	for word, n := range byWord {
		counts = append(counts, count{word, n})
	}
	if err := write(w, most(counts, o.top), string(o.format)); err != nil {
		return err
	}
	if !complete && !partial {
		return fmt.Errorf("wordcount: the ledger %s is not complete yet; these are the counts so far", o.ledger)
	}
	return nil
}
