package node

import (
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
)

func TestToldLinks(t *testing.T) {
	var told toldLinks
	start := time.UnixMilli(1_000_000_000).Truncate(time.Minute)
	told.hear(start, protocol.Link{Up: 90, Down: 10})
	told.hear(start.Add(time.Second), protocol.Link{Up: 10, UpLeast: 5, Down: 40})
	told.hear(start.Add(2*time.Second), protocol.Link{})
	want := protocol.Link{Up: 90, UpLeast: 5, Down: 40}
	if got := told.best(start.Add(10 * time.Minute)); got != want {
		t.Errorf("ten minutes later: %+v, want %+v", got, want)
	}
	if got := told.best(start.Add(10*time.Minute + 1)); got != (protocol.Link{}) {
		t.Errorf("later: %+v", got)
	}
	for i := range 20 {
		told.hear(start.Add(time.Duration(i)*time.Hour), protocol.Link{Up: 1})
	}
	if n := len(told.minutes); n != linkMinutes {
		t.Errorf("keeps %d minutes", n)
	}
}

func TestFoldRate(t *testing.T) {
	var f foldRate
	if got := f.get(); got != 0 {
		t.Errorf("before any: %d", got)
	}
	f.learn(100, time.Second)
	if got := f.get(); got != 100 {
		t.Errorf("one: %d, want 100", got)
	}
	f.learn(510, time.Second)
	// 90 + 510 bytes in 0.9 + 1 seconds.
	if got := f.get(); got != 315 {
		t.Errorf("two: %d, want 315", got)
	}
}

// TestWord: a node says of its host what a worker told, to whoever asks what it has
// and for its status.
func TestWord(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	k := r.task("c")
	m := k.save(1)
	a := r.nodes["a"]
	link := protocol.Link{Up: 1 << 50, UpLeast: 1 << 50, Down: 1 << 51, Fold: 1 << 52}
	q := protocol.TaskReport{Owner: k.owner, AtMillis: time.Now().UnixMilli(), Link: link}
	if _, err := call[nothing](r, a, protocol.PutReport, q); err != nil {
		t.Fatal(err)
	}
	// A later report of a worker that has measured nothing does not undo it.
	q.AtMillis, q.Link = q.AtMillis+1, protocol.Link{}
	if _, err := call[nothing](r, a, protocol.PutReport, q); err != nil {
		t.Fatal(err)
	}
	have, err := call[protocol.HaveAnswer](r, a, protocol.Have, protocol.VersionRequest{Owner: k.owner, Version: m.Version})
	if err != nil || have.Link != link || have.Streams != 0 {
		t.Errorf("have: %+v, %v", have, err)
	}
	status, err := call[protocol.NodeStatus](r, a, protocol.GetStatus, nothing{})
	if err != nil || status.Link != link {
		t.Errorf("status: %+v, %v", status.Link, err)
	}
	if got := r.nodes["b"].word(); got.Up >= link.Up {
		t.Errorf("b knows of a's link: %+v", got)
	}
}

// TestOlderNodes: what they do not say is unknown.
func TestOlderNodes(t *testing.T) {
	var have protocol.HaveAnswer
	if err := protocol.Decode([]byte(`{"spans":[{"shard":1,"first":0,"until":2}]}`), &have); err != nil || have.Link != (protocol.Link{}) {
		t.Errorf("%+v, %v", have, err)
	}
	if got := string(protocol.Encode(protocol.HaveAnswer{Spans: []protocol.Span{}})); got != `{"spans":[]}` {
		t.Errorf("with nothing known it says %s", got)
	}
	got := string(protocol.Encode(protocol.HaveAnswer{Spans: []protocol.Span{}, Streams: 2, Link: protocol.Link{Up: 1, UpLeast: 2, Down: 3, Fold: 4}}))
	if want := `{"spans":[],"streams":2,"link":{"up":1,"upLeast":2,"down":3,"fold":4}}`; got != want {
		t.Errorf("it says %s, want %s", got, want)
	}
}
