package adapters_test

import (
	"strconv"
	"strings"
	"testing"
)

// TestSpout has every adapter do the same.
func TestSpout(t *testing.T) {
	each(t, languages, func(t *testing.T, l language) {
		p := connect(t, l, "spout", "")
		emits := func(n int) string {
			s := strconv.Itoa(n)
			return `{"command":"emit","tuple":["n",` + s + `],"id":{"n":` + s + `},"need_task_ids":false}`
		}
		p.send(`{"command":"activate"}`)
		p.expect(logs("active", 2), syncs)
		p.send(`{"command":"next"}`)
		p.expect(emits(1), syncs)
		p.send(`{"command":"ack","id":{"n":1}}`)
		p.expect(logs("acked 1", 2), syncs)
		// One piece; each has its own answer.
		p.send(`{"command":"next"}`, `{"command":"fail","id":{"n":2}}`, `{"command":"next"}`, `{"command":"deactivate"}`)
		p.expect(emits(2), syncs, logs("failed 2", 2), syncs, emits(3), syncs, logs("inactive", 2), syncs)
		if l.name == posix.name {
			p.end(0, true)
			return
		}
		p.send(`{"command":"next"}`)
		p.expect(reports("on purpose"))
		if got := p.end(1, false); !strings.Contains(got, "on purpose") {
			t.Errorf("stderr: %s", got)
		}
	})
}

// TestExtensions says which a component asks for.
func TestExtensions(t *testing.T) {
	for component, want := range map[string]string{"bolt": `["state"]`, "spout": `["pipeline"]`} {
		t.Run(component, func(t *testing.T) {
			each(t, full, func(t *testing.T, l language) {
				p := start(t, l, component, "")
				p.send(`{"pidDir":"","conf":{"greeting":1},"context":{"taskid":5},"stormring":["pipeline","state","other"]}`)
				if got := p.next(); !strings.HasSuffix(got, `,"stormring":`+want+"}\n") {
					t.Errorf("the answer to the handshake is %s", got)
				}
			})
		})
	}
}
