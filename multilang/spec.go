package multilang

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// Spec is a shell component: how to start its processes, and what it declares.
type Spec struct {
	// Argv is the program and its arguments.
	Argv []string
	// Dir is where it runs: the resources of the topology. "" is where the
	// worker runs.
	Dir string
	// Files, if set, are the component's own files, as an embed.FS has them. Each
	// task has them in a folder of its own while it runs, which is its Dir; so
	// Dir has to be "". Scripts can be executed: files that end in .sh or begin
	// with #!. Beside them are stormring.py, stormring.js, stormring.rb and
	// stormring.sh, the adapters of this version, unless Files has its own.
	Files fs.FS
	// Env are variables beside those of the worker, as in "NAME=value". A PATH
	// comes behind the worker's.
	Env []string
	// ShortIntegers has integers of up to 32 bits be Java's Integer, and not
	// Long; see the function ShortIntegers.
	ShortIntegers bool
	// PIDDir is where each child leaves a file named after its process id. If
	// it is "" there is one for each task while it runs.
	PIDDir string
	// Streams are what the component declares.
	Streams map[string]storm.StreamSpec
	// Conf is what the component sets beside the topology's configuration.
	Conf storm.Config
	// State makes the state of a task for children that ask for it. Nil is
	// NewMemory: a state that lives as long as the task. NewStatefulBolt keeps
	// state on the ring instead.
	State func(ctx *storm.TopologyContext) (State, error)
	// OnMetric, if set, is called with what children report as metrics, on the
	// goroutine of the task. Otherwise numbers are shown as gauges of the task,
	// and what is none is logged for debugging.
	OnMetric func(name string, value storm.Value)

	// tune is for tests.
	tune func(*settings)
}

// ShortIntegers reports whether Storm of a version, such as "2.8.8", makes the
// integers of JSON that fit 32 bits Java's Integer, so that negative ones are
// grouped by fields otherwise than Long: from 2.6 on. It is false for "", the
// topologies that no Java program has made: their own integers are Long.
func ShortIntegers(stormVersion string) bool {
	major, rest, _ := strings.Cut(stormVersion, ".")
	minor, _, _ := strings.Cut(rest, ".")
	minor, _, _ = strings.Cut(minor, "-")
	a, err := strconv.Atoi(major)
	if err != nil {
		return false
	}
	b, err := strconv.Atoi(minor)
	return a > 2 || a == 2 && err == nil && b >= 6
}

func (s *Spec) declare(d *storm.OutputFieldsDeclarer) {
	for id, stream := range s.Streams {
		if stream.Direct {
			d.DeclareDirectStream(id, stream.Fields...)
		} else {
			d.DeclareStream(id, stream.Fields...)
		}
	}
}

// settings are what the configuration says.
type settings struct {
	codec       protocol.Codec
	maxPending  int
	timeout     time.Duration // of silence
	start       time.Duration // of silence before the handshake
	heartbeat   time.Duration // between two
	maxMessage  int
	maxRestarts int
	firstTries  int // as long as no handshake was completed
	backoff     time.Duration
	maxBackoff  time.Duration
	healthy     time.Duration // after which restarts are counted anew
	grace       time.Duration // for an orderly end
	forget      time.Duration // after which an input that was not settled is; 0 is never
	checkpoint  time.Duration // without progress, while a step of a checkpoint is owed
	strict      bool
}

func readSettings(conf storm.Config) (settings, error) {
	s := settings{
		maxPending: 100, timeout: 30 * time.Second, heartbeat: time.Second, maxMessage: 64 << 20, maxRestarts: 8,
		firstTries: 3, backoff: 50 * time.Millisecond, maxBackoff: 5 * time.Second, healthy: time.Minute,
		grace: time.Second, forget: 2 * time.Minute,
	}
	var errs []error
	number(conf, storm.ConfTopologyShellboltMaxPending, 1, &s.maxPending, &errs)
	number(conf, storm.ConfMultilangMaxMessageBytes, 1024, &s.maxMessage, &errs)
	number(conf, storm.ConfMultilangMaxRestarts, 0, &s.maxRestarts, &errs)
	secs := 30
	number(conf, "supervisor.worker.timeout.secs", 1, &secs, &errs)
	number(conf, storm.ConfTopologySubprocessTimeoutSecs, 1, &secs, &errs)
	s.timeout = time.Duration(secs) * time.Second
	secs *= 4
	number(conf, storm.ConfMultilangStartTimeoutSecs, 1, &secs, &errs)
	s.start = time.Duration(secs) * time.Second
	secs = 30
	number(conf, storm.ConfTopologyMessageTimeoutSecs, 1, &secs, &errs)
	s.forget = 4 * time.Duration(secs) * time.Second
	if on, ok := storm.ConfTopologyEnableMessageTimeouts.Get(conf); ok && !on {
		s.forget = 0
	}
	secs = 60
	number(conf, storm.ConfTopologyStateSynchronizationTimeoutSecs, 1, &secs, &errs)
	s.checkpoint = time.Duration(secs) * time.Second
	s.strict, _ = storm.ConfMultilangStrict.Get(conf)
	name, _ := storm.ConfTopologyMultilangSerializer.Get(conf)
	var err error
	if s.codec, err = codecOf(name); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

// number reads a setting that must not be less than least.
func number(conf storm.Config, key storm.Key[int], least int, to *int, errs *[]error) {
	v := conf[string(key)]
	if v == nil {
		return
	}
	n, err := key.Parse(v)
	switch {
	case err != nil:
		*errs = append(*errs, err)
	case n < least:
		*errs = append(*errs, fmt.Errorf("%s is %d, has to be at least %d", string(key), n, least))
	default:
		*to = n
	}
}

// codecOf is the encoding that topology.multilang.serializer names: by the
// classes of Storm, Pyleus and streamparse, or just json or msgpack.
func codecOf(name string) (protocol.Codec, error) {
	class := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	switch {
	case class == "", strings.HasPrefix(class, "json"):
		return protocol.JSON{}, nil
	case strings.HasPrefix(class, "msgpack"), strings.HasPrefix(class, "messagepack"):
		return protocol.Msgpack{}, nil
	}
	return nil, fmt.Errorf("topology.multilang.serializer is %q; json and msgpack are known", name)
}
