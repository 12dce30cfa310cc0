package recovery

import (
	"math"
	"testing"
)

func TestUnits(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1<<20 - 1: "1024.0 KiB", 1 << 20: "1.0 MiB", 1 << 30: "1.0 GiB",
		10<<30 + 1<<29: "10.5 GiB", math.MaxInt64: "8589934592.0 GiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for ms, want := range map[float64]string{0: "0s", 0.124: "120µs", 9.994: "9.99ms", 12.4: "12ms", 1234: "1.234s", 10_049: "10s", 61_000: "1m1s"} {
		if got := Millis(ms); got != want {
			t.Errorf("%v ms: %s, want %s", ms, got, want)
		}
	}
}
