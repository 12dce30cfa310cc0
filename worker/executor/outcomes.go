package executor

import (
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// outcomeOutbox collects outcomes for one spout executor.
type outcomeOutbox struct {
	lane  Lane[*OutcomeBatch]
	batch *OutcomeBatch
	dirty bool
}

// outcomes is the way from an acker or a bolt to the spouts.
type outcomes struct {
	batchSize int
	byTask    []*outcomeOutbox // by spout task; nil for other tasks
	dirty     []*outcomeOutbox
}

func (o *outcomes) init(batchSize int, spouts map[storm.TaskID]Lane[*OutcomeBatch]) {
	o.batchSize = max(batchSize, 1)
	boxes := map[Lane[*OutcomeBatch]]*outcomeOutbox{}
	for task, lane := range spouts {
		for len(o.byTask) <= int(task) {
			o.byTask = append(o.byTask, nil)
		}
		if boxes[lane] == nil {
			boxes[lane] = &outcomeOutbox{lane: lane, batch: o.newBatch()}
		}
		o.byTask[task] = boxes[lane]
	}
}

func (o *outcomes) newBatch() *OutcomeBatch {
	return &OutcomeBatch{Outcomes: make([]acker.Outcome, 0, o.batchSize)}
}

// box is the outbox for a tree's spout, or nil if there is no such spout.
func (o *outcomes) box(root track.Root) *outcomeOutbox {
	if task := int(root.Task()); task < len(o.byTask) {
		return o.byTask[task]
	}
	return nil
}

// put adds outcomes for one spout executor.
func (o *outcomes) put(box *outcomeOutbox, list ...acker.Outcome) {
	b := box.batch
	b.Outcomes = append(b.Outcomes, list...)
	if len(b.Outcomes) >= o.batchSize {
		o.send(box)
		return
	}
	if !box.dirty {
		box.dirty = true
		o.dirty = append(o.dirty, box)
	}
}

func (o *outcomes) send(box *outcomeOutbox) {
	n := len(box.batch.Outcomes)
	if n == 0 {
		return
	}
	empty, err := box.lane.Send(box.batch, n)
	if err != nil {
		panic(stopped{err})
	}
	if empty == nil {
		empty = o.newBatch()
	}
	box.batch = empty
}

// flush sends what is collected.
func (o *outcomes) flush() {
	for _, box := range o.dirty {
		box.dirty = false
		o.send(box)
	}
	o.dirty = o.dirty[:0]
}
