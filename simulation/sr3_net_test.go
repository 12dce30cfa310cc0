package simulation

import "time"

// reach tells whether what one host sends comes to the other.
func (w *ringWorld) reach(from, to *ringHost) bool {
	if from == to {
		return true
	}
	return (w.parts == nil || w.parts[from.index] == w.parts[to.index]) && !w.cut[[2]int{from.index, to.index}]
}

// delay is how long a message takes.
func (w *ringWorld) delay(from, to *ringHost) time.Duration {
	if from == to {
		return time.Duration(w.rng.IntN(500)) * time.Microsecond
	}
	if w.fault(60) {
		return w.millis(20, 1500)
	}
	return w.millis(1, 10)
}

// post sends a message from a host to the node of another; it may be lost, late,
// doubled, and overtaken by others.
func (w *ringWorld) post(from, to *ringHost, do func()) {
	if !w.reach(from, to) || from != to && w.fault(80) {
		return
	}
	copies := 1
	if from != to && w.fault(80) {
		copies = 2
	}
	for range copies {
		w.after(w.delay(from, to), func() { w.arrive(from, to, do) })
	}
}

func (w *ringWorld) arrive(from, to *ringHost, do func()) {
	if to.node == nil || !w.reach(from, to) {
		return
	}
	w.on(to.node, 0, do)
}

// ask sends a request of a process at from to the node of another host. serve
// gives what the answer does; failed is called if there is none in time.
func (w *ringWorld) ask(l *life, from, to *ringHost, limit time.Duration, serve func() func(), failed func()) {
	open := true
	w.post(from, to, func() {
		w.serve(l, from, to, serve, func(answer func()) {
			if open {
				open = false
				answer()
			}
		})
	})
	w.on(l, limit, func() {
		if open {
			open = false
			failed()
		}
	})
}

// serve does what was asked for and sends the answer. Who is slow takes its time.
func (w *ringWorld) serve(l *life, from, to *ringHost, serve func() func(), heard func(func())) {
	w.on(to.node, to.slow, func() {
		answer := serve()
		if answer == nil || !w.reach(to, from) || from != to && w.fault(80) {
			return
		}
		w.on(l, w.delay(to, from), func() {
			if w.reach(to, from) {
				heard(answer)
			}
		})
	})
}
