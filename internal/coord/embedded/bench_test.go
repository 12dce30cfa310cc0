package embedded

import (
	"fmt"
	"testing"

	"github.com/stormring/stormring/internal/coord"
)

func benchSession(b *testing.B) coord.Session {
	b.Helper()
	c := mustOpen(b, mustNew(b, DefaultConfig()))
	if _, err := c.Create(b.Context(), "/x", make([]byte, 200), coord.Persistent); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	return c
}

func BenchmarkCreateDelete(b *testing.B) {
	c, ctx, data := benchSession(b), b.Context(), make([]byte, 200)
	for b.Loop() {
		if _, err := c.Create(ctx, "/x/y", data, coord.Ephemeral); err != nil {
			b.Fatal(err)
		}
		if err := c.Delete(ctx, "/x/y", coord.AnyVersion); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	c, ctx := benchSession(b), b.Context()
	for b.Loop() {
		if _, _, err := c.Get(ctx, "/x"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	c, ctx, data := benchSession(b), b.Context(), make([]byte, 200)
	for b.Loop() {
		if _, err := c.Set(ctx, "/x", data, coord.AnyVersion); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChildren(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, ctx := benchSession(b), b.Context()
			for range n {
				if _, err := c.Create(ctx, "/x/n", nil, coord.Sequential); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, _, err := c.Children(ctx, "/x"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A round is 1000 sessions that set a watch, one change, and 1000 events.
func BenchmarkWatchers1000(b *testing.B) {
	c, ctx := benchSession(b), b.Context()
	watchers := make([]coord.Session, 1000)
	for i := range watchers {
		watchers[i] = mustOpen(b, c.(*session).server)
	}
	events := make([]<-chan coord.Event, len(watchers))
	for b.Loop() {
		for i, w := range watchers {
			var err error
			if _, _, events[i], err = w.ExistsW(ctx, "/x"); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := c.Set(ctx, "/x", nil, coord.AnyVersion); err != nil {
			b.Fatal(err)
		}
		for _, e := range events {
			if got := <-e; got.Type != coord.EventNodeDataChanged {
				b.Fatal(got)
			}
		}
	}
}
