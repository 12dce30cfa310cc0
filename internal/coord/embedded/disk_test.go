package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded/tree"
)

func onDisk(dir string) Config {
	cfg := testConfig()
	cfg.Dir = dir
	return cfg
}

// must ends the test if a call fails.
func must[T any](tb testing.TB) func(v T, err error) T {
	tb.Helper()
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// dump is all of a tree, a znode a line.
func dump(tb testing.TB, t *tree.Tree) string {
	tb.Helper()
	b := fmt.Sprintf("zxid %d\n", t.Zxid())
	if err := t.Snapshot(func(z tree.Znode) error {
		b += fmt.Sprintf("%s %q %d %+v\n", z.Path, z.Data, z.Creates, z.Stat)
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "anew")
	str, stat := must[string](t), must[coord.Stat](t)
	var before coord.Stat
	for round := range 3 {
		s := mustNew(t, onDisk(dir))
		c := mustOpen(t, s)
		if round == 0 {
			str(c.Create(t.Context(), "/x", []byte("0"), coord.Persistent))
		}
		wantStart := int32(round)
		data, got, err := c.Get(t.Context(), "/x")
		if err != nil || string(data) != fmt.Sprint(round) || got.Version != wantStart || got.NumChildren != 0 {
			t.Fatalf("round %d: %q %+v %v", round, data, got, err)
		}
		if round > 0 && (got.Czxid != before.Czxid || got.Mzxid != before.Mzxid || got.Ctime != before.Ctime || got.Cversion != before.Cversion+1) {
			t.Fatalf("round %d: %+v, before %+v", round, got, before)
		}
		want := fmt.Sprintf("/x/n%010d", round)
		if path := str(c.Create(t.Context(), "/x/n", nil, coord.EphemeralSequential)); path != want {
			t.Fatalf("created %s, want %s", path, want)
		}
		before = stat(c.Set(t.Context(), "/x", []byte(fmt.Sprint(round+1)), wantStart))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDirIsHeld(t *testing.T) {
	dir := t.TempDir()
	s := mustNew(t, onDisk(dir))
	if _, err := New(onDisk(dir)); err == nil || !strings.Contains(err.Error(), "another process uses the folder") {
		t.Fatalf("two stores in one folder: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustNew(t, onDisk(dir))
}

func TestCompaction(t *testing.T) {
	dir := t.TempDir()
	s := mustNew(t, onDisk(dir))
	c := mustOpen(t, s)
	s.disk.compactAfter = 1000
	longest := int64(0)
	for i := range 50 {
		must[string](t)(c.Create(t.Context(), "/n", bytes.Repeat([]byte{byte(i)}, 100), coord.Sequential))
		longest = max(longest, s.disk.logBytes)
		if s.disk.compactAfter != 1000 {
			if s.disk.compactAfter != compactBytes || s.disk.logBytes != 0 {
				t.Fatalf("after a snapshot the log has %d bytes, the next is due at %d", s.disk.logBytes, s.disk.compactAfter)
			}
			s.disk.compactAfter = 1000
		}
	}
	if longest > 1000 || longest < 500 {
		t.Errorf("the log grew to %d bytes", longest)
	}
	want := dump(t, s.tree)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := dump(t, mustNew(t, onDisk(dir)).tree); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A crash between the new snapshot and the new log leaves the old log.
func TestOldLog(t *testing.T) {
	dir := t.TempDir()
	s := mustNew(t, onDisk(dir))
	c := mustOpen(t, s)
	for range 3 {
		must[string](t)(c.Create(t.Context(), "/n", nil, coord.Sequential))
	}
	log := must[[]byte](t)(os.ReadFile(filepath.Join(dir, logName)))
	want := dump(t, s.tree)
	if err := s.disk.compact(s.tree); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, logName), log, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := dump(t, mustNew(t, onDisk(dir)).tree); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// history is a log, the lengths that it had, and what the tree was like then.
func history(t *testing.T) (log []byte, ends []int, states []string) {
	t.Helper()
	tr := tree.New(1000)
	id := tr.Open(start, 0)
	log = []byte(magic)
	note := func() {
		ends, states = append(ends, len(log)), append(states, dump(t, tr))
	}
	// A session is not logged, its number is not known to a reader of the log.
	ends, states = []int{len(log)}, []string{dump(t, tree.New(1000))}
	for _, op := range []coord.Op{
		coord.CreateOp{Path: "/a", Data: []byte("data")},
		coord.CreateOp{Path: "/a/n", Mode: coord.EphemeralSequential},
		coord.SetOp{Path: "/a", Data: bytes.Repeat([]byte{0}, 40), Version: 0},
		coord.DeleteOp{Path: "/a/n0000000000", Version: 0},
		coord.CreateOp{Path: "/b"},
	} {
		if _, _, err := tr.Apply(id, start, op); err != nil {
			t.Fatal(err)
		}
		for _, txn := range tr.Drain().Txns {
			if len(txn.Changes) > 0 {
				log = appendFrame(log, tree.AppendTxn(nil, txn))
			}
		}
		note()
	}
	return log, ends, states
}

func replay(t *testing.T, log []byte) (string, error) {
	t.Helper()
	tr := tree.New(1000)
	err := loadLog(tr, log)
	return dump(t, tr), err
}

func TestTornLog(t *testing.T) {
	log, ends, states := history(t)
	for cut := range len(log) + 1 {
		for _, zeros := range []int{0, 1, 5, 100} {
			torn := append(slices.Clone(log[:cut]), make([]byte, zeros)...)
			if cut < len(magic) && zeros > 0 {
				continue // the first bytes are written with the name
			}
			want := ""
			for i, end := range ends {
				// Zeros can be just what was cut off.
				if bytes.HasPrefix(torn, log[:end]) || i == 0 {
					want = states[i]
				}
			}
			if got, err := replay(t, torn); err != nil || got != want {
				t.Fatalf("cut at %d, %d zeros: %v\n%s\nwant\n%s", cut, zeros, err, got, want)
			}
		}
	}
}

// A flipped bit is never taken for data: it is damage, or, in the last record,
// may pass for a torn end.
func TestFlippedLog(t *testing.T) {
	log, ends, states := history(t)
	last := ends[len(ends)-2]
	for at := range log {
		for bit := range 8 {
			flipped := slices.Clone(log)
			flipped[at] ^= 1 << bit
			got, err := replay(t, flipped)
			if errors.Is(err, errCorrupt) {
				continue
			}
			if err != nil || at < last || got != states[len(states)-2] {
				t.Fatalf("bit %d of byte %d: %v\n%s", bit, at, err, got)
			}
		}
	}
}

func TestDamagedSnapshot(t *testing.T) {
	dir := t.TempDir()
	s := mustNew(t, onDisk(dir))
	must[string](t)(mustOpen(t, s).Create(t.Context(), "/x", []byte("data"), coord.Persistent))
	if err := s.disk.compact(s.tree); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, snapshotName)
	file := must[[]byte](t)(os.ReadFile(name))
	for cut := range file {
		if err := loadSnapshot(tree.New(1000), file[:cut]); !errors.Is(err, errCorrupt) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		flipped := slices.Clone(file)
		flipped[cut] ^= 4
		if err := loadSnapshot(tree.New(1000), flipped); !errors.Is(err, errCorrupt) {
			t.Fatalf("flipped at %d: %v", cut, err)
		}
	}
	if err := os.WriteFile(name, file[:len(file)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := New(onDisk(dir)); !errors.Is(err, errCorrupt) || !strings.Contains(err.Error(), name) {
		t.Fatalf("New says %v, want it to name %s", err, name)
	}
}

func TestFullDisk(t *testing.T) {
	s := mustNew(t, onDisk(t.TempDir()))
	a, b := mustOpen(t, s), mustOpen(t, s)
	_, _, events, err := b.ExistsW(t.Context(), "/x")
	if err != nil {
		t.Fatal(err)
	}
	log := s.disk.log
	s.disk.log = must[*os.File](t)(os.Open(filepath.Join(s.disk.dir, logName))) // cannot be written
	t.Cleanup(func() { log.Close() })
	if _, err := a.Create(t.Context(), "/x", nil, coord.Persistent); !errors.Is(err, coord.ErrConnectionLoss) {
		t.Fatalf("create without a disk: %v", err)
	}
	select {
	case e := <-events:
		t.Fatalf("told of what is not on disk: %v", e)
	default:
	}
	if _, _, err := b.Get(t.Context(), "/"); !errors.Is(err, coord.ErrConnectionLoss) {
		t.Fatalf("a store that is broken answers: %v", err)
	}
	if _, err := s.Open(t.Context(), 0); !errors.Is(err, coord.ErrConnectionLoss) {
		t.Fatalf("a store that is broken opens a session: %v", err)
	}
	if err := a.Close(t.Context()); !errors.Is(err, coord.ErrConnectionLoss) {
		t.Fatalf("close: %v", err)
	}
	<-a.Done()
}

func FuzzLoad(f *testing.F) {
	txn := tree.AppendTxn(nil, tree.Txn{Zxid: 1, Changes: []tree.Change{{Type: coord.EventNodeCreated, Path: "/a"}}})
	f.Add(appendFrame([]byte(magic), txn))
	f.Add(appendFrame(appendFrame([]byte(magic), make([]byte, snapshotHead)), tree.AppendZnode(nil, tree.Znode{Path: "/"})))
	f.Add([]byte(magic + "\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		// Also with checksums that hold, or little of it would be reached.
		framed := appendFrame(appendFrame([]byte(magic), file), txn)
		for _, b := range [][]byte{file, framed} {
			for _, load := range []func(*tree.Tree, []byte) error{loadLog, loadSnapshot} {
				tr := tree.New(1000)
				if load(tr, b) == nil {
					dump(t, tr)
				}
			}
		}
	})
}
