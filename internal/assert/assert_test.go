package assert

import (
	"errors"
	"testing"
)

// message is what f panics with, or "".
func message(f func()) (msg string) {
	defer func() {
		if p := recover(); p != nil {
			msg = p.(string)
		}
	}()
	f()
	return ""
}

func TestThat(t *testing.T) {
	if got := message(func() { That(true, "never seen") }); got != "" {
		t.Errorf("a kept invariant panics with %q", got)
	}
	got := message(func() { That(false, "task %d holds %q", 7, "x") })
	if want := `broken invariant: task 7 holds "x"`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCostly(t *testing.T) {
	ran := false
	if got := message(func() { Costly(func() error { ran = true; return nil }) }); got != "" {
		t.Errorf("a kept invariant panics with %q", got)
	}
	if ran != Thorough {
		t.Errorf("check ran: %t, want %t", ran, Thorough)
	}
	want := ""
	if Thorough {
		want = "broken invariant: table is torn"
	}
	if got := message(func() { Costly(func() error { return errors.New("table is torn") }) }); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func BenchmarkThat(b *testing.B) {
	b.ReportAllocs()
	n := 1
	for b.Loop() {
		That(n > 0, "n is not positive")
	}
}
