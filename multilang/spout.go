package multilang

import (
	"fmt"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// ShellSpout is a spout in another language.
type ShellSpout struct {
	task
	out    *storm.SpoutOutputCollector
	queue  []order     // not sent yet
	sent   []sentOrder // not answered yet
	asked  bool        // "next" is sent or queued, and not answered
	active bool
	life   int // counts children
	unsaid int // answers that are not waited for any more
	timer  *time.Timer
}

var (
	_ storm.Spout      = (*ShellSpout)(nil)
	_ storm.Activator  = (*ShellSpout)(nil)
	_ storm.Configured = (*ShellSpout)(nil)
)

// order is a command to a spout.
type order struct{ name, id string }

// sentOrder is a command that a spout has.
type sentOrder struct {
	next bool
	// courtesy is when it was sent if the child need not answer: it may not know
	// activate and deactivate, which came with Storm 1.1.
	courtesy time.Time
}

// spoutID is the id of a tree: what the child calls it, and which child that
// was.
type spoutID struct {
	life int
	id   string
}

const (
	nextOrder = "next"
	// patience is how long NextTuple waits for the child before it lets the
	// executor see to the acks.
	patience = 5 * time.Millisecond
	// courtesyWait is how long an answer to what the child may not know is
	// waited for.
	courtesyWait = time.Second
	// pipelined is how many commands a child gets that asked for that.
	pipelined = 128
)

// NewSpout makes a spout whose tasks run the processes that s describes.
func NewSpout(s Spec) *ShellSpout {
	p := &ShellSpout{}
	p.sh.spec = s
	p.sh.syncs = true
	return p
}

// DeclareOutputFields implements storm.Spout.
func (s *ShellSpout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { s.sh.spec.declare(d) }

// ComponentConfiguration implements storm.Configured.
func (s *ShellSpout) ComponentConfiguration() storm.Config { return s.sh.spec.Conf }

// Open implements storm.Spout. It returns when the first process has answered
// the handshake; the error is that of a process that cannot be started.
func (s *ShellSpout) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	s.timer = time.NewTimer(time.Hour)
	s.timer.Stop()
	return s.begin(ctx, s, out.Do, out.ReportError)
}

// NextTuple implements storm.Spout.
func (s *ShellSpout) NextTuple() error {
	if err := s.look(); err != nil {
		return err
	}
	if s.child == nil {
		return nil
	}
	if !s.asked {
		s.asked = true
		s.order(nextOrder, "")
	}
	s.timer.Reset(patience)
	defer s.timer.Stop()
	for s.asked && s.child != nil {
		select {
		case e := <-s.sh.events:
			if err := s.on(e); err != nil {
				return err
			}
		case <-s.timer.C:
			return nil
		case <-s.sh.ctx.Done():
			return nil
		}
	}
	return nil
}

// Ack implements storm.Spout.
func (s *ShellSpout) Ack(id storm.Value) { s.ended("ack", id) }

// Fail implements storm.Spout.
func (s *ShellSpout) Fail(id storm.Value) { s.ended("fail", id) }

// ended tells the child that a tree has. Another child than the one that
// emitted it is not told: it would take the id for one of its own.
func (s *ShellSpout) ended(how string, id storm.Value) {
	if own, ok := id.Interface().(spoutID); ok && own.life == s.life {
		s.order(how, own.id)
	}
}

// Activate implements storm.Activator.
func (s *ShellSpout) Activate() {
	s.active = true
	s.order("activate", "")
}

// Deactivate implements storm.Activator.
func (s *ShellSpout) Deactivate() {
	s.active = false
	s.order("deactivate", "")
}

// Close implements storm.Spout. It returns when the process is gone.
func (s *ShellSpout) Close() error {
	s.sh.close()
	return nil
}

// order has the child do something, once it has done what it was told before.
func (s *ShellSpout) order(name, id string) {
	if s.child == nil {
		return // the next one begins anew
	}
	s.queue = append(s.queue, order{name, id})
	s.pump()
}

// pump sends what may be sent.
func (s *ShellSpout) pump() {
	limit := 1
	if s.child.has(featurePipeline) {
		limit = pipelined
	}
	n := 0
	for ; n < len(s.queue) && len(s.sent) < limit; n++ {
		o := s.queue[n]
		sent := sentOrder{next: o.name == nextOrder}
		courtesy := limit == 1 && (o.name == "activate" || o.name == "deactivate")
		if courtesy {
			sent.courtesy = time.Now()
		}
		s.sent = append(s.sent, sent)
		s.child.out.command(o.name, o.id, !courtesy)
	}
	s.queue = s.queue[n:]
}

// message implements speaker.
func (s *ShellSpout) message(m *protocol.Message) {
	switch m.Kind {
	case protocol.Emit:
		s.emit(m)
	case protocol.Sync:
		switch {
		case len(s.sent) > 0:
			s.answered()
		case s.unsaid > 0:
			s.unsaid-- // late
		default:
			s.complain(fmt.Errorf("the child sent sync, though it was told nothing"))
		}
	default:
		s.common(m)
	}
}

// answered goes on behind the oldest command.
func (s *ShellSpout) answered() {
	if s.sent[0].next {
		s.asked = false
	}
	s.sent = s.sent[:copy(s.sent, s.sent[1:])]
	s.pump()
}

// excuse stops waiting for an answer that may never come: storm.js before Storm
// 1.2 does not know activate, and a spout of a later one answers only if it has
// a method for it. If it comes after all, the child has a command more at once.
func (s *ShellSpout) excuse() {
	if s.child == nil || len(s.sent) == 0 {
		return
	}
	if since := s.sent[0].courtesy; since.IsZero() || time.Since(since) < courtesyWait {
		return
	}
	s.log.Info("a shell spout does not answer activate or deactivate, so its answer is not waited for")
	s.unsaid++
	s.answered()
}

func (s *ShellSpout) emit(m *protocol.Message) {
	err := m.Err
	var tasks []storm.TaskID
	if err == nil {
		tasks, err = s.tryEmit(m)
	} else {
		err = s.nameOutput(err, m.Stream)
	}
	if err != nil {
		s.complain(fmt.Errorf("the child's tuple for stream %q cannot be emitted: %w", m.Stream, err))
		if m.ID != "" {
			s.order("fail", m.ID)
		}
	}
	if m.NeedTaskIDs && !m.Direct {
		s.answerTasks(tasks)
	}
}

func (s *ShellSpout) tryEmit(m *protocol.Message) (tasks []storm.TaskID, err error) {
	defer func() { err = usage(recover(), err) }()
	var id storm.Value
	if m.ID != "" {
		id = storm.Any(spoutID{life: s.life, id: m.ID})
	}
	if m.Direct {
		s.out.EmitDirect(m.Task, m.Stream, id, m.Tuple...)
		return nil, nil
	}
	return s.out.EmitStream(m.Stream, id, m.Tuple...), nil
}

// started implements speaker.
func (s *ShellSpout) started() error {
	s.life++
	if s.active {
		s.order("activate", "")
	}
	return nil
}

// lost implements speaker. The trees in flight end as they will; their ids mean
// nothing to the next child.
func (s *ShellSpout) lost(error) {
	s.queue, s.sent, s.asked, s.unsaid = nil, nil, false, 0
}

// turned implements speaker.
func (s *ShellSpout) turned() { s.excuse() }
