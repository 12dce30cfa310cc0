package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/checkpoint"
	"github.com/stormring/stormring/worker/executor"
	"github.com/stormring/stormring/worker/process"
)

// StateOptions say what state to measure checkpoints of.
type StateOptions struct {
	Options
	// Keys is how many words there are, Interval the time between checkpoints.
	Keys     int
	Interval time.Duration
	// Words are the kinds to run, "zipf" and "uniform"; none means both.
	Words []string
	// Ring starts a ring.
	Ring func(ctx context.Context) (StateRing, error)
}

// StateResult is what a word count with state showed.
type StateResult struct {
	Result
	// Words are "uniform" or "zipf": how often each one comes.
	Words string `json:"words"`
	// Kept is "memory": never saved, or "ring", with so many Replicas.
	Kept     string `json:"kept"`
	Replicas int    `json:"replicas"`
	// Cost is the part of the throughput of the row in memory that is lost: the median
	// of what each round lost, since a machine's speed changes from round to round.
	Cost float64 `json:"cost"`
	// Checkpoints were committed. The last one took so long, stopped the bolt for
	// FreezeMS, and wrote so many bytes once a replica. MaxNanos of Result is the
	// longest pause of the bolt, whatever it was for.
	Checkpoints int     `json:"checkpoints"`
	TookMS      float64 `json:"took_ms"`
	FreezeMS    float64 `json:"freeze_ms"`
	Bytes       int64   `json:"bytes"`
}

// StateReport is what RunState returns.
type StateReport struct {
	Machine  Machine       `json:"machine"`
	Settings Settings      `json:"settings"`
	Keys     int           `json:"keys"`
	Results  []StateResult `json:"results"`
}

// RunState measures a word count whose counts are state, with checkpoints and
// without, in turn.
func RunState(ctx context.Context, o StateOptions) (StateReport, error) {
	o.Runs = max(o.Runs, 1)
	report := StateReport{
		Machine: ReadMachine(), Keys: o.Keys, Results: []StateResult{},
		Settings: Settings{Seconds: o.Time.Seconds(), WarmUpSeconds: o.WarmUp.Seconds(), Runs: o.Runs, Conf: o.Conf},
	}
	rows := stateRows(o.Words)
	runs := make([][]StateResult, len(rows))
	for i := range o.Runs {
		base := 0.0
		for r, row := range rows {
			if o.Begin != nil {
				o.Begin(row.name(), i)
			}
			got, err := runState(ctx, row, o)
			if err != nil {
				return report, fmt.Errorf("state %s: %w", row.name(), err)
			}
			if got.Kept == "memory" {
				base = got.TuplesPerSec
			}
			got.Cost = 1 - got.TuplesPerSec/base
			runs[r] = append(runs[r], got)
		}
	}
	for r := range rows {
		report.Results = append(report.Results, medianState(runs[r]))
	}
	return report, nil
}

// stateRows are what is measured; each kind begins with its row in memory.
func stateRows(kinds []string) (rows []StateResult) {
	if len(kinds) == 0 {
		kinds = []string{"zipf", "uniform"}
	}
	for _, words := range kinds {
		rows = append(rows, StateResult{Words: words, Kept: "memory"},
			StateResult{Words: words, Kept: "ring", Replicas: 1}, StateResult{Words: words, Kept: "ring", Replicas: 3})
	}
	return rows
}

func (r StateResult) name() string {
	if r.Kept == "memory" {
		return r.Words + " in memory"
	}
	return fmt.Sprintf("%s on the ring, %d replicas", r.Words, r.Replicas)
}

// medianState has the medians of everything that differs from run to run.
func medianState(runs []StateResult) StateResult {
	m := runs[0]
	var plain []Result
	var cost, took, freeze, bytes []float64
	for _, r := range runs {
		plain = append(plain, r.Result)
		cost, took, freeze, bytes = append(cost, r.Cost), append(took, r.TookMS), append(freeze, r.FreezeMS), append(bytes, float64(r.Bytes))
	}
	m.Result = median(plain)
	m.Cost, m.TookMS, m.FreezeMS, m.Bytes = middle(cost), middle(took), middle(freeze), int64(middle(bytes))
	return m
}

// runState is one run.
func runState(ctx context.Context, row StateResult, o StateOptions) (StateResult, error) {
	var states worker.States = &unsaved{}
	m := newMeter()
	var lab *stateLab
	if row.Kept == "ring" {
		ring, err := o.Ring(ctx)
		if err != nil {
			return row, err
		}
		defer ring.Close()
		if lab, err = newStateLab(ring, row.Replicas); err != nil {
			return row, err
		}
		defer lab.client.Close()
		states = lab.client
		m.children = func() (sum time.Duration) {
			for _, pid := range ring.PIDs() {
				sum += processCPU(pid)
			}
			return sum
		}
	}
	b := storm.NewTopologyBuilder()
	b.SetSpout("words", func() storm.Spout { return &words{keys: o.Keys, zipf: row.Words == "zipf"} }, 1)
	b.SetBolt("count", func() storm.Bolt { return &counter{meter: m} }, 1).FieldsGrouping("words", "word")
	t, err := b.Build()
	if err != nil {
		return row, err
	}
	settings := storm.Config{
		"topology.state.checkpoint.interval.ms": int(o.Interval.Milliseconds()), "topology.sr3.replicas": max(row.Replicas, 1),
		"topology.acker.executors": 1, "topology.max.spout.pending": 8 << 20,
	}
	o.Conf = merged(settings, o.Conf)
	row.Result, err = m.runWith(ctx, "bench-state", &storm.Instance{Topology: t}, o.Options, states)
	if lab != nil && err == nil {
		err = lab.read(ctx, &row)
	}
	return row, err
}

func merged(under, over storm.Config) storm.Config {
	maps.Copy(under, over)
	return under
}

// words emits words.
type words struct {
	storm.BaseSpout
	keys int
	zipf bool
	out  *storm.SpoutOutputCollector
	all  []string
	next func() int
	n    int64
}

func (s *words) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word") }

func (s *words) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	s.all = make([]string, s.keys)
	for i := range s.all {
		s.all[i] = fmt.Sprintf("word%012d", i)
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same words each time
	s.next = func() int { return random.IntN(s.keys) }
	if s.zipf {
		z := rand.NewZipf(random, 1.07, 1, uint64(s.keys-1))
		s.next = func() int { return int(z.Uint64()) }
	}
	return nil
}

func (s *words) NextTuple() error {
	s.n++
	s.out.EmitTracked(storm.Int(s.n), storm.String(s.all[s.next()]))
	return nil
}

// pauseEvery is how many executions share a look at the clock.
const pauseEvery = 64

// counter counts words in its state.
type counter struct {
	storm.BaseBolt
	meter *meter
	out   *storm.OutputCollector
	state *storm.KeyValueState[string, int64]
	n     int64
	last  time.Time
}

func (c *counter) Prepare(_ *storm.TopologyContext, out *storm.OutputCollector) error {
	c.out = out
	return nil
}

func (c *counter) InitState(s storm.State) error {
	c.state = storm.NewKeyValueState(s, storm.StringCodec, storm.IntCodec)
	return nil
}

func (c *counter) Execute(t storm.Tuple) error {
	n, err := c.state.GetOr(t.String(0), 0)
	if err != nil {
		return err
	}
	if err := c.state.Put(t.String(0), n+1); err != nil {
		return err
	}
	c.out.Ack(&t)
	if c.n++; c.n%pauseEvery == 0 {
		now := time.Now()
		if l := c.meter.latency.Load(); l != nil && !c.last.IsZero() {
			l.add(int64(now.Sub(c.last)))
		}
		c.last = now
		c.meter.count.Add(pauseEvery)
	}
	return nil
}

func (c *counter) DeclareOutputFields(*storm.OutputFieldsDeclarer) {}

// unsaved are states that say they are saved, and are not.
type unsaved struct{ worker.MemoryStates }

// Keep implements worker.States.
func (u *unsaved) Keep(worker.KeepSpec) (executor.Keeper, error) {
	return &unsavedKeeper{tableState{shard.NewTable(shard.Options{})}}, nil
}

type unsavedKeeper struct{ state tableState }

func (k *unsavedKeeper) State() storm.State { return k.state }

func (k *unsavedKeeper) Load(_ checkpoint.Version, _ checkpoint.Era, done func(error)) { done(nil) }

func (k *unsavedKeeper) Save(_, _ checkpoint.Version, done func(error)) { done(nil) }

func (k *unsavedKeeper) Thaw(int64) {}

func (k *unsavedKeeper) Committed(checkpoint.Version) {}

func (k *unsavedKeeper) Close() {}

// tableState is a table as a storm.State.
type tableState struct{ *shard.Table }

// All implements storm.State.
func (s tableState) All(prefix []byte) iter.Seq2[[]byte, []byte] { return s.Table.All(prefix) }

// StateRing is a ring of nodes that checkpoints are saved on.
type StateRing interface {
	// Addr is the address of one node, PIDs are the processes of all.
	Addr() string
	PIDs() []int
	// Record is a topology's commit record.
	Record(ctx context.Context, topology string) (protocol.Record, error)
	Close()
}

const stateTopology = "bench-state-1-1"

// stateLab is a client of a ring.
type stateLab struct {
	ring   StateRing
	client process.States
}

func newStateLab(r StateRing, replicas int) (*stateLab, error) {
	c, err := conf.Defaults().Topology(map[string]any{"topology.sr3.replicas": replicas})
	if err != nil {
		return nil, err
	}
	states, err := daemon.States(process.StatesSpec{
		Topology: cluster.TopologyID(stateTopology), Conf: c, Ring: r.Addr, Logger: slog.New(slog.DiscardHandler),
	})
	return &stateLab{r, states}, err
}

// read adds what the worker reported of its checkpoints.
func (l *stateLab) read(ctx context.Context, row *StateResult) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	caller, err := transport.Listen(transport.Config{}, "", nil)
	if err != nil {
		return err
	}
	defer caller.Close()
	request, err := json.Marshal(protocol.TopologyRequest{Topology: stateTopology})
	if err != nil {
		return err
	}
	answer, err := caller.Call(ctx, l.ring.Addr(), protocol.GetReports, request)
	if err != nil {
		return fmt.Errorf("what the worker reports: %w", err)
	}
	var reports protocol.Reports
	if err := json.Unmarshal(answer, &reports); err != nil {
		return err
	}
	for _, r := range reports.Reports {
		row.TookMS, row.FreezeMS, row.Bytes = r.Checkpoint.DurationMS, r.Checkpoint.FreezeMS, r.Checkpoint.Bytes
	}
	record, err := l.ring.Record(ctx, stateTopology)
	row.Checkpoints = int(record.Committed.Number())
	return err
}
