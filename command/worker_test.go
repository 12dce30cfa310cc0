package command

import (
	"testing"
	"time"

	"github.com/stormring/stormring/supervisor"
)

func TestDetected(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "1.500": 1500 * time.Microsecond, "61000.000": 61 * time.Second, "-1": 0, "x": 0, "NaN": 0, "Inf": 0, "1e300": 0,
	} {
		t.Setenv(supervisor.DetectEnv, text)
		if got := detected(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
