package multilang

import (
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
)

// TestPace plays a child that settles one input in each read, so many
// microseconds after the last.
func TestPace(t *testing.T) {
	ack := protocol.Message{Kind: protocol.Ack}
	for name, c := range map[string]struct {
		each     time.Duration
		perRead  int
		inFlight int
		with     *protocol.Message
		want     time.Duration
		bytes    int
	}{
		"one by one":                   {20 * time.Microsecond, 1, 100, nil, maxPause, 0},
		"no more than a quarter":       {12 * time.Microsecond, 1, 20, nil, 60 * time.Microsecond, 0},
		"one in flight":                {20 * time.Microsecond, 1, 1, nil, 0, 0},
		"few in flight":                {20 * time.Microsecond, 1, leastInFlight - 1, nil, 0, 0},
		"it would run dry":             {time.Microsecond, 1, 100, nil, 0, 0},
		"it writes many at once":       {200 * time.Microsecond, leastInFlight, 100, nil, 0, 0},
		"it writes large messages":     {20 * time.Microsecond, 1, 100, nil, 0, manyBytes},
		"it waits for task ids":        {20 * time.Microsecond, 1, 100, &protocol.Message{Kind: protocol.Emit, NeedTaskIDs: true}, 0, 0},
		"it waits for no task ids":     {20 * time.Microsecond, 1, 100, &protocol.Message{Kind: protocol.Emit}, maxPause, 0},
		"it knows the task":            {20 * time.Microsecond, 1, 100, &protocol.Message{Kind: protocol.Emit, NeedTaskIDs: true, Direct: true}, maxPause, 0},
		"it waits for a value":         {20 * time.Microsecond, 1, 100, &protocol.Message{Kind: protocol.State, Op: protocol.StateGet}, 0, 0},
		"it does not wait for a value": {20 * time.Microsecond, 1, 100, &protocol.Message{Kind: protocol.State, Op: protocol.StatePut}, maxPause, 0},
	} {
		now := time.Unix(1, 0)
		p := pace{since: now}
		var got time.Duration
		for range 200 {
			now = now.Add(c.each)
			for range c.perRead {
				p.note(&ack)
			}
			if c.with != nil {
				p.note(c.with)
			}
			got = p.pause(now, max(c.bytes, 150), c.inFlight)
		}
		if got.Round(time.Microsecond) != c.want && got.Round(time.Microsecond)+time.Microsecond != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestPaceAfterAQuestion: once a child has waited for an answer there is no
// pause for a while.
func TestPaceAfterAQuestion(t *testing.T) {
	now := time.Unix(1, 0)
	p := pace{since: now, each: 20 * time.Microsecond}
	p.note(&protocol.Message{Kind: protocol.Emit, NeedTaskIDs: true})
	for i := range hurried + 1 {
		now = now.Add(20 * time.Microsecond)
		p.note(&protocol.Message{Kind: protocol.Fail})
		if got, want := p.pause(now, 150, 100), maxPause; (got != 0) != (i == hurried) || got != 0 && got != want {
			t.Fatalf("read %d: a pause of %v", i, got)
		}
	}
}

// TestQuietPipeLosesNoWake: a write at any moment around the end of a pause wakes
// the reader.
func TestQuietPipeLosesNoWake(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	q, err := newQuiet(r)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	again := make(chan struct{}, 1)
	var writing sync.WaitGroup
	writing.Go(func() {
		defer w.Close()
		n := 0
		for range again {
			n++
			for start := time.Now(); time.Since(start) < time.Duration(n%97)*time.Microsecond; {
				continue // it has to be more exact than a timer
			}
			if _, err := w.WriteString("x"); err != nil {
				t.Error(err)
			}
		}
	})
	buf := make([]byte, 1)
	for range 3000 {
		again <- struct{}{}
		q.pause(time.Microsecond)
		if err := q.SetReadDeadline(time.Now().Add(patient)); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	close(again)
	writing.Wait()
}

// TestQuietPipe: what comes during a pause is read after it, and so is the end.
func TestQuietPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	q, err := newQuiet(r)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	buf := make([]byte, 10)
	expect := func(want string, wantErr error) {
		t.Helper()
		if n, err := q.Read(buf); string(buf[:n]) != want || !errors.Is(err, wantErr) {
			t.Fatalf("read %q, %v", buf[:n], err)
		}
	}
	write := func(s string) {
		if _, err := w.WriteString(s); err != nil {
			t.Error(err)
		}
	}
	for range 100 {
		write("before")
		if !q.unread() {
			t.Fatal("there is nothing to read")
		}
		expect("before", nil)
		if q.unread() {
			t.Fatal("there is something to read")
		}
		var writing sync.WaitGroup
		writing.Go(func() { write("x") })
		start := time.Now()
		q.pause(maxPause)
		if took := time.Since(start); took < maxPause {
			t.Errorf("the pause took %v", took)
		}
		expect("x", nil)
		writing.Wait()
		// Of a pause without anything to read the reader waits as before.
		q.pause(minPause)
		writing.Go(func() { <-time.After(time.Millisecond); write("later") })
		expect("later", nil)
		writing.Wait()
	}
	q.pause(minPause)
	if err := q.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	expect("", os.ErrDeadlineExceeded)
	if err := q.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	var closing sync.WaitGroup
	closing.Go(func() { w.Close() })
	q.pause(minPause)
	expect("", io.EOF)
	closing.Wait()
}
