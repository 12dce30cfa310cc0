package multilang_test

import (
	"bytes"
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// logLines is a log that several goroutines write.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// TestReportEveryLineNamesComponentAndTask is about children's lines in the log
// of a worker that has many.
func TestReportEveryLineNamesComponentAndTask(t *testing.T) {
	t.Parallel()
	py, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("python3 is needed: %v", err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	b := storm.NewTopologyBuilder()
	b.SetSpout("lines", func() storm.Spout { return &lines{todo: []string{"a"}} }, 1)
	b.SetBolt("noisy", func() storm.Bolt {
		return multilang.NewBolt(multilang.Spec{
			Argv: []string{py, "report_child.py", "logs"}, Dir: dir,
			Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"word"}}},
		})
	}, 1).ShuffleGrouping("lines")
	topology, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var log logLines
	top, err := local.New(local.Options{
		Name: "noise", Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Instance: &storm.Instance{Topology: topology, Conf: storm.Config{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := top.Run(ctx); err != nil || res.Partial {
		t.Fatalf("%+v, %v", res, err)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	seen := 0
	for line := range strings.Lines(log.b.String()) {
		if strings.Contains(line, "to standard error") || strings.Contains(line, "from=child") {
			seen++
			if !strings.Contains(line, " component=noisy ") || !strings.Contains(line, " task=") {
				t.Errorf("%s", line)
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d lines in\n%s", seen, log.b.String())
	}
}
