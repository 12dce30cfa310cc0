package worker

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
)

// loadEvery is how often workers look how full their queues are and tell each
// other, as often as Storm's do.
const loadEvery = time.Second

// loadMessage begins a control message with loads. Pairs of the first task of
// an executor, as a varint, and its load, a byte from 0 to 255, follow.
const loadMessage = 1

// loads is how busy the tasks of the topology are, as far as is known.
type loads struct {
	mu     sync.Mutex
	byTask []float64 // 0 to 1
}

// balanced is an executor with shuffle groupings that heed loads.
type balanced interface{ SetLoads(byTask []float64) }

// balance begins to tell executors and other workers how busy tasks are.
func (w *Worker) balance() {
	if w.spec.Layout.Conf.Bool(storm.ConfTopologyDisableLoadAwareMessaging) {
		return
	}
	w.loads.byTask = make([]float64, w.spec.Layout.NumTasks()+1)
	w.every(loadEvery, func(time.Time) {
		own := w.ownLoads()
		if w.links != nil {
			w.links.broadcast(own)
		}
		if err := w.learn(own); err != nil {
			w.log.Error("this worker's own loads", "error", err) // cannot be
		}
		w.loads.mu.Lock()
		known := append([]float64(nil), w.loads.byTask...)
		w.loads.mu.Unlock()
		for _, x := range w.balanced {
			x.SetLoads(known)
		}
	})
}

// ownLoads are the loads of this worker's bolts as a control message.
func (w *Worker) ownLoads() []byte {
	msg := []byte{loadMessage}
	for _, u := range w.kind(isBolt) {
		load := min(1, float64(u.tuple.Len())/float64(u.tuple.Limit()))
		msg = binary.AppendUvarint(msg, uint64(u.First))
		msg = append(msg, byte(math.Round(255*load)))
	}
	return msg
}

// learn notes the loads of a control message.
func (w *Worker) learn(msg []byte) error {
	w.loads.mu.Lock()
	defer w.loads.mu.Unlock()
	for rest := msg[1:]; len(rest) > 0; {
		first, n := binary.Uvarint(rest)
		if n <= 0 || len(rest) <= n || first > track.MaxTask {
			return fmt.Errorf("the loads of another worker are cut off at byte %d of %d", len(msg)-len(rest), len(msg))
		}
		load := float64(rest[n]) / 255
		rest = rest[n+1:]
		x := w.spec.Layout.ExecutorOf(storm.TaskID(first))
		if x < 0 || w.loads.byTask == nil {
			continue
		}
		for _, task := range w.spec.Layout.Executors[x].Tasks() {
			w.loads.byTask[task] = load
		}
	}
	return nil
}

// broadcast sends a control message to all workers that this one sends to.
func (l *links) broadcast(msg []byte) {
	for worker, p := range l.all() {
		if err := p.SendControl(msg); err != nil {
			l.w.log.Debug("loads are not told", "peer", worker, "error", err) // it is closed
		}
	}
}
