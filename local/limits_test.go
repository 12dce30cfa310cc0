package local

import (
	"strings"
	"testing"
)

func TestTooManyWorkersAreRefused(t *testing.T) {
	if err := checkFiles(2); err != nil {
		t.Errorf("2 workers: %v", err)
	}
	if err := checkFiles(100_000); err == nil || !strings.Contains(err.Error(), "100000 workers need about 19999900064 open files") {
		t.Errorf("100,000 workers: %v", err)
	}
	if n := filesFor(20); n != 844 {
		t.Errorf("20 workers need %d files", n)
	}
}
