package node

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
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

func TestFoldingRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{mendAfter: time.Now().Add(time.Second)}
		began := time.Now()
		if err := n.rested(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("rested after %v: %v", time.Since(began), err)
		}
		if err := n.rested(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("rested again after %v: %v", time.Since(began), err)
		}
		n.mendAfter = time.Now().Add(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := n.rested(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a rest that nobody waits for: %v", err)
		}
	})
}
