package wordcount

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

// blockEmitter keeps the blocks that a spout emits.
type blockEmitter struct {
	storm.SpoutEmitter
	got []string
}

func (f *blockEmitter) Emit(_ int, id storm.Value, t *storm.Tuple) []storm.TaskID {
	f.got = append(f.got, fmt.Sprintf("%v %v %s", id, t.Value(1), t.String(0)))
	return nil
}

func (f *blockEmitter) ReportError(err error) { f.got = append(f.got, err.Error()) }

// openLedgerSpout opens the second of three spout tasks.
func openLedgerSpout(t *testing.T, l *ledger) (*ledgerSpout, *blockEmitter) {
	t.Helper()
	s, f := &ledgerSpout{ledger: l}, &blockEmitter{}
	out := storm.NewSpoutOutputCollector(f, "read", map[string]int{storm.DefaultStream: 0})
	ctx := storm.NewTopologyContext(storm.ContextSpec{
		Component: "read", Task: 5, Tasks: map[string][]storm.TaskID{"read": {4, 5, 6}, storm.AckerComponent: {1}},
	})
	if err := s.Open(ctx, out); err != nil {
		t.Fatal(err)
	}
	return s, f
}

// take lets the spout emit until there is nothing more, and returns what it
// emitted.
func take(t *testing.T, s *ledgerSpout, f *blockEmitter) string {
	t.Helper()
	before := -1
	for before != len(f.got) {
		before = len(f.got)
		if err := s.NextTuple(); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.Join(f.got, "|")
	f.got = nil
	return got
}

func TestLedgerSpout(t *testing.T) {
	dir, ledgerDir := t.TempDir(), t.TempDir()
	// Blocks 0 to 9; block 4 lies in a long word.
	path := writeFile(t, dir, "f", "aa bb cc dddddd ee ff gg hh ii")
	l := newLedger(ledgerDir, newBlockList([]input{{path: path, size: 30}}, 3), false)
	s, f := openLedgerSpout(t, l)
	if got, want := take(t, s, f), "1 1 bb |7 7 hh "; got != strings.ReplaceAll(want, "hh", "gg") {
		t.Fatalf("emitted %q", got)
	}
	s.Fail(storm.Int(7))
	s.Ack(storm.Int(1))
	s.Ack(storm.Int(1))
	s.Fail(storm.Int(1)) // settled
	if got := take(t, s, f); got != "7 7 gg " || s.low != 2 || s.Exhausted() {
		t.Fatalf("emitted %q, low %d, exhausted %t", got, s.low, s.Exhausted())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// A new task goes on where the old one was.
	s, f = openLedgerSpout(t, newLedger(ledgerDir, l.blocks, false))
	if got := take(t, s, f); got != "7 7 gg " || s.low != 2 {
		t.Fatalf("emitted %q, low %d", got, s.low)
	}
	writeFile(t, ledgerDir, "progress-1-of-3", "1x")
	again, f2 := openLedgerSpout(t, newLedger(ledgerDir, l.blocks, false))
	if len(f2.got) != 1 || !strings.Contains(f2.got[0], "progress-1-of-3 of the ledger") || again.low != 0 {
		t.Errorf("with damaged progress: %q, low %d", f2.got, again.low)
	}
	s.Ack(storm.Int(7))
	if got := take(t, s, f); got != "" || !s.Exhausted() {
		t.Errorf("emitted %q, exhausted %t", got, s.Exhausted())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(ledgerDir, "*"))
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	if want := []string{"done-1-of-3", jobFile, "progress-1-of-3"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("files %q, %v", files, err)
	}
	// A task without blocks of its own is done at once.
	s, f = openLedgerSpout(t, newLedger(t.TempDir(), newBlockList([]input{{path: path, size: 1}}, 3), false))
	if got := take(t, s, f); got != "" || !s.Exhausted() {
		t.Errorf("without blocks: emitted %q, exhausted %t", got, s.Exhausted())
	}
}

func TestLedgerSpoutNeedsAckers(t *testing.T) {
	s := &ledgerSpout{ledger: newLedger(t.TempDir(), newBlockList(nil, 1), false)}
	err := s.Open(storm.NewTopologyContext(storm.ContextSpec{}), nil)
	if want := "wordcount: --ledger needs ackers, but topology.acker.executors is 0"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
