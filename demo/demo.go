// Package demo is the demonstration of recoveries, stormring demo: it counts the
// words of a real text as state on the ring, kills the worker that has the state
// and two hosts while it counts, lets the state come back by star, line and tree
// in turn, and proves in the end that every count is right.
//
// Begin at Run. One process, the caller's, has nimbus and the coordination store
// (cluster.go), and serves the latter to others through a socket (storeserver.go,
// storeclient.go, wire.go). Each host is a process of its own, the same daemon as
// on a real host: a supervisor with its ring node (host.go, hostprocess.go).
// Workers are processes of hosts. So what is killed is real; only the network is
// not, as all hosts are addresses of this machine.
//
// The text is written to a file that grows (text.go), which the sample topology
// statefulwordcount follows. What is written is counted here too, in another way
// (ledger.go). A round is one mode (round.go); what happens is a line of the
// timeline (timeline.go), and in the end a row of a table (result.go).
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Options say what to demonstrate. The zero value of a field that has a default is
// that.
type Options struct {
	// Hosts is how many hosts there are; 8.
	Hosts int
	// StateBytes is the size of the state when the first worker is killed; 256 MiB.
	StateBytes int64
	// Rate is how many lines a second are written once the state is that large; 2000.
	Rate int
	// Modes are recovered by in turn; star, line and tree.
	Modes []string
	// Replicas is on how many hosts each shard lies; 3.
	Replicas int
	// Input is a folder whose text is counted; "" takes the sources of Go if they
	// are there, else a text that is built in.
	Input string
	// Dir keeps everything; "" is a temporary folder.
	Dir string
	// Host is the command that calls RunHost, Env its environment, and that of
	// workers, which are the same program; nil is the caller's.
	Host, Env []string
	// Environment is wanted for workers, by name.
	Environment map[string]string
	// Version is what hosts tell of this release.
	Version string
	// Timeline gets what happens, as lines; nil for nothing. Live tells that it is
	// a terminal, where one line may change.
	Timeline io.Writer
	Live     bool
}

// What is left out of Options.
const (
	DefaultHosts      = 8
	DefaultStateBytes = 256 << 20
	DefaultReplicas   = 3
	DefaultRate       = 2000
)

// minHosts is how many hosts are left when two are lost: enough for two workers.
const minHosts = 4

// DefaultModes are star, line and tree.
func DefaultModes() []string { return []string{"star", "line", "tree"} }

func (o *Options) complete() error {
	if o.Hosts == 0 {
		o.Hosts = DefaultHosts
	}
	if o.StateBytes == 0 {
		o.StateBytes = DefaultStateBytes
	}
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.Replicas == 0 {
		o.Replicas = DefaultReplicas
	}
	if o.Modes == nil {
		o.Modes = DefaultModes()
	}
	switch {
	case o.Hosts < minHosts || o.Hosts > 64:
		return fmt.Errorf("%d hosts; from %d to 64 are possible, since two are killed", o.Hosts, minHosts)
	case o.Replicas < 3 || o.Replicas > o.Hosts:
		return fmt.Errorf("%d replicas; there must be 3, since two hosts are killed at once, and at most one for each host", o.Replicas)
	case o.StateBytes < 1<<20:
		return fmt.Errorf("a state of %d bytes is none to see anything with; take 1 MiB or more", o.StateBytes)
	case o.Rate < portions:
		return fmt.Errorf("%d lines a second are too few; take %d or more", o.Rate, portions)
	case len(o.Host) == 0:
		return errors.New("demo: no command that is a host")
	}
	if o.Timeline == nil {
		o.Timeline = io.Discard
	}
	return nil
}

// ErrWrong says that a count was wrong.
var ErrWrong = errors.New("counts are wrong")

// Run runs the demonstration. The result is what is known when it ends, be it with
// an error; ErrWrong is one.
func Run(ctx context.Context, o Options) (Result, error) {
	begin := time.Now()
	if err := o.complete(); err != nil {
		return Result{}, err
	}
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "stormring-demo-"); err != nil {
			return Result{}, fmt.Errorf("demo: %w", err)
		}
		defer os.RemoveAll(dir) // what a process still writes there is of no use
	} else if err := emptyFolder(dir); err != nil {
		return Result{}, err
	}
	log, err := os.Create(filepath.Join(dir, "demo.log"))
	if err != nil {
		return Result{}, fmt.Errorf("demo: %w", err)
	}
	defer log.Close()
	t := newTimeline(o.Timeline, o.Live, begin)
	defer t.close()
	s := &show{Options: o, dir: dir, timeline: t, log: slog.New(slog.NewTextHandler(log, nil))}
	err = s.run(ctx)
	s.result.TookMS = millis(time.Since(begin))
	return s.result, err
}

// emptyFolder makes a folder, which must not have anything in it: what a
// demonstration has left would be taken for this one's.
func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty; name a new one", dir)
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
