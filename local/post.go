package local

import (
	"fmt"
	"sync"
	"time"

	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/monitor"
)

// post is the place of one worker after the other.
type post struct {
	mu      sync.Mutex
	past    counts // of workers that are gone
	current *worker.Worker
	running bool // current is
	active  bool
	port    int
}

// begin puts a worker in place of the last.
func (p *post) begin(w *worker.Worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.past.add(p.current)
	}
	p.current, p.running = w, true
}

// setPort says where its workers listen.
func (p *post) setPort(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.port = port
}

// end tells that the worker does not run any more.
func (p *post) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = false
}

// setActive holds for the present worker and those that come.
func (p *post) setActive(active bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active = active
	if p.current != nil {
		p.current.SetActive(active)
	}
}

// isActive is what the next worker begins with.
func (p *post) isActive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active
}

// worker is the present worker, or the last one while there is none.
func (p *post) worker() *worker.Worker {
	w, _ := p.state()
	return w
}

func (p *post) state() (w *worker.Worker, running bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current, p.running
}

// history is the present worker, or the last one, and what those before it
// did.
func (p *post) history() (*worker.Worker, counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current, p.past
}

// snapshots are the present worker's numbers for monitoring.
func (p *post) snapshots() []monitor.Labeled {
	p.mu.Lock()
	w, port := p.current, p.port
	p.mu.Unlock()
	if w == nil {
		return nil
	}
	return w.Snapshots(fmt.Sprintf("local:%d", port), time.Now())
}
