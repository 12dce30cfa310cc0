package node

import (
	"testing"
	"time"
)

func TestRest(t *testing.T) {
	for _, c := range []struct{ kept, want time.Duration }{
		{0, 0}, {10 * time.Millisecond, 40 * time.Millisecond}, {time.Minute, longestRest},
	} {
		if got := rest(c.kept); got != c.want {
			t.Errorf("kept from the processors for %v: it rests for %v, want %v", c.kept, got, c.want)
		}
	}
}

func TestAside(t *testing.T) {
	ran := false
	began := time.Now()
	if kept := aside(func() { ran = true }); !ran || kept < 0 || kept > time.Since(began) {
		t.Errorf("ran %v, kept from the processors for %v", ran, kept)
	}
}
