package throughput

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

// written is the only journal of a folder.
func written(t *testing.T, dir, kind string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("%s-%d-*", kind, os.Getpid())))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%q, %v", paths, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTell(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		j, err := OpenJournal(dir, Counts)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now().UnixMicro()
		j.Tell(1, 7)
		j.Tell(2, 7) // too soon
		<-time.After(pause)
		j.Tell(3, 7)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := written(t, dir, Counts), fmt.Sprintf("%d 1 7\n%d 3 7\n", begin, begin+pause.Microseconds()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestNote(t *testing.T) {
	dir := t.TempDir()
	j, err := OpenJournal(dir, Latencies)
	if err != nil {
		t.Fatal(err)
	}
	j.Note(5) // written at once: nothing was for long
	if got := written(t, dir, Latencies); !regexp.MustCompile(`^\d+ 5\n$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j.Note(6)
	j.last = time.Time{}
	j.Note(7)
	if err := j.Close(); err == nil {
		t.Error("what could not be written was not told")
	}
}

func TestNoJournal(t *testing.T) {
	var j *Journal
	j.Tell(1)
	j.Note(1)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if _, err := OpenJournal(filepath.Join(t.TempDir(), "none"), Counts); err == nil {
		t.Error("a journal in no folder")
	}
}

func TestGaugeWrites(t *testing.T) {
	dir := t.TempDir()
	m := (&Flags{Journal: dir}).Meter()
	g := m.Gauge()
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	g.Count()
	if got := written(t, dir, Counts); !regexp.MustCompile(`^\d+ 1\n$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	m = (&Flags{Journal: filepath.Join(dir, "none")}).Meter()
	if g := m.Gauge(); g.Err() == nil {
		t.Error("a gauge with a journal in no folder")
	}
}
