package multilang

import (
	"time"

	"github.com/stormring/stormring/multilang/protocol"
)

// pace tells the reader of a child's output how long to leave it alone before
// it reads again. A child that writes message by message would wake the reader
// with each of them, and the reader the task, which costs more than all else. As
// long as the child has much to do, nobody misses what it writes in the
// meantime, and it does not run dry.
type pace struct {
	each    time.Duration // between two inputs that the child settled, smoothed
	since   time.Time     // when it last settled any
	hurry   int           // reads before which there is no pause
	settled int           // since the last read
	asked   bool          // likewise: the child waits for an answer
}

const (
	// leastInFlight is how many inputs a child has to have.
	leastInFlight = 16
	// minPause is what the system can do, maxPause what the last inputs of a
	// burst may have to wait.
	minPause, maxPause = 50 * time.Microsecond, 200 * time.Microsecond
	// share of the time for which the child has work, at most.
	share = 4
	// manyBytes is more than comes during a pause from a child that writes
	// message by message.
	manyBytes = readSize / 4
	// hurried is how many reads there is no pause once a child waited for an
	// answer.
	hurried = 64
)

// note counts a message of the child.
func (p *pace) note(m *protocol.Message) {
	switch m.Kind {
	case protocol.Ack, protocol.Fail:
		p.settled++
	default:
		p.asked = p.asked || asks(m)
	}
}

// asks reports whether a child waits for an answer to a message.
func asks(m *protocol.Message) bool {
	switch m.Kind {
	case protocol.Emit:
		return m.NeedTaskIDs && !m.Direct
	case protocol.State:
		return m.Op == protocol.StateGet
	default:
		return false
	}
}

// pause is how long to wait after a read of n bytes, with so many inputs that the
// child may not have seen to.
func (p *pace) pause(now time.Time, n, inFlight int) time.Duration {
	settled := p.settled
	p.settled = 0
	if settled > 0 {
		p.each += (now.Sub(p.since)/time.Duration(settled) - p.each) / 8
		p.since = now
	}
	if p.asked {
		p.asked, p.hurry = false, hurried
	}
	if p.hurry > 0 {
		p.hurry--
		return 0
	}
	if settled >= leastInFlight || n >= manyBytes { // it writes much at once by itself
		return 0
	}
	if inFlight < leastInFlight {
		return 0
	}
	d := min(p.each*time.Duration(inFlight)/share, maxPause)
	if d < minPause {
		return 0
	}
	return d
}
