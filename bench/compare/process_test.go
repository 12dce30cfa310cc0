package compare

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func stat(state string) []byte {
	fields := strings.Fields("3 4 5 6 7 8 9 10 11 12 13 150 50 16 17 18 19 20 21 22 23 1000 25")
	return []byte("42 (a ) (name) " + state + " " + strings.Join(fields, " ") + "\n")
}

func TestParseStat(t *testing.T) {
	p, err := parseStat(42, stat("S"), 4096)
	if want := (process{pid: 42, parent: 3, cpu: 1630 * time.Millisecond, resident: 23 * 4096}); err != nil || p != want {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
	if _, err := parseStat(42, stat("Z"), 4096); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a zombie: %v", err)
	}
	for _, text := range []string{"", "42 (x) S 1", strings.Replace(string(stat("S")), " 3 ", " x ", 1)} {
		if _, err := parseStat(42, []byte(text), 4096); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestProcessesOf(t *testing.T) {
	own, err := processesOf(t.TempDir())
	if err != nil || len(own) != 0 {
		t.Errorf("%v, %v", own, err)
	}
}

func TestUsageSince(t *testing.T) {
	before := usage{cpu: map[int]time.Duration{1: 5, 2: 7}, all: 100}
	after := usage{cpu: map[int]time.Duration{1: 9, 3: 2}, all: 120}
	if own, others := after.since(before); own != 6 || others != 14 {
		t.Errorf("own %d, others %d", own, others)
	}
}
