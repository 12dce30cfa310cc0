package adapters_test

import (
	"strings"
	"testing"
)

// TestAsStorm uses the adapters under the name of Storm's own.
func TestAsStorm(t *testing.T) {
	each(t, full, func(t *testing.T, l language) {
		p := connect(t, l, "bolt", "storm")
		p.send(tuple(`["echo",1]`))
		p.expect(emits(`[1]`, ""), acks)
		p.end(0, true)
	})
}

// TestPython is what only Python does.
func TestPython(t *testing.T) {
	python.require(t)
	p := connect(t, python, "bolt", "")
	// Task ids that somebody keeps are asked for, others not.
	p.send(tuple(`["held"]`))
	p.expect(`{"command":"emit","tuple":["held"],"anchors":["7"]}`, emits(`["free"]`, ""), acks)
	p.send(`[4]`, tuple(`["shown"]`))
	p.expect(emits(`[[4]]`, ""), acks)

	p.send(tuple(`["thread"]`))
	p.expect(acks, logs("from a thread", 2), logs("only the thread that called run() can emit, ack and fail", 2))
	p.send(heartbeat)
	p.expect(syncs)
	p.send(tuple(`["fork"]`))
	p.expect(acks)
	if got := p.end(0, true); got != "a log line of a copy\na forked process cannot speak to the parent\n" {
		t.Errorf("stderr: %s", got)
	}
}

// TestNode is what only JavaScript does.
func TestNode(t *testing.T) {
	node.require(t)
	p := connect(t, node, "bolt", "")
	p.send(tuple(`["float"]`))
	p.expect(emits(`[1.0,1e+30]`, ""), acks)
	p.send(tuple(`["rejected"]`))
	p.expect(reports("on purpose"), fails)
	// With state one tuple after the other.
	p.send(tuple(`["remember"]`), tuple(`["remember"]`))
	get, put, del := `{"command":"state","op":"get","key":"k"}`, `{"command":"state","op":"put","key":"k","value":{"n":1}}`, `{"command":"state","op":"delete","key":"old"}`
	p.expect(get)
	p.send(`{"state":"k","found":false,"value":null}`)
	p.expect(put, del, emits(`[null]`, ""), acks, get)
	p.send(`{"state":"k","found":true,"value":{"n":1}}`)
	p.expect(put, del, emits(`[{"n":1}]`, ""), acks)
	p.end(0, true)
}

// TestRuby is what only Ruby does.
func TestRuby(t *testing.T) {
	ruby.require(t)
	p := connect(t, ruby, "bolt", "")
	p.send(tuple(`["wanted"]`))
	p.expect(`{"command":"emit","tuple":["x"],"anchors":["7"]}`, acks)
	p.send(`[4]`, tuple(`["shown"]`))
	p.expect(emits(`[[4]]`, ""), acks)
	// Too late to ask: an error instead of a wrong list, and the process goes on
	// no further, for it cannot know what it was worth.
	p.send(tuple(`["late"]`))
	p.expect(emits(`["x"]`, ""), reports("say need_task_ids: true"))
	if got := p.end(1, false); !strings.Contains(got, "ProtocolError") {
		t.Errorf("stderr: %s", got)
	}
}
