// Package words has what the topologies that count words share, whatever splits
// the lines: the text, Load, and the bolt that counts, NewCounter.
package words

import (
	_ "embed"
	"fmt"
	"os"
	"strings"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/throughput"
)

// text is what is read if no file is named.
//
//go:embed text.txt
var text string

// Load reads the lines of a file that have a word; the path "" stands for a small
// text that is built in.
func Load(path string) ([]string, error) {
	all := text
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		all = string(data)
	}
	var lines []string
	for line := range strings.Lines(all) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("--file %s has no words", path)
	}
	return lines, nil
}

// NewCounter makes a bolt that counts words, and tells the meter.
func NewCounter(m *throughput.Meter) storm.BasicBolt { return &counter{meter: m} }

// counter counts words.
type counter struct {
	storm.BaseBasicBolt
	meter  *throughput.Meter
	gauge  throughput.Gauge
	counts map[string]*int64
}

func (b *counter) Prepare(*storm.TopologyContext) error {
	b.counts = map[string]*int64{}
	b.gauge = b.meter.Gauge()
	return b.gauge.Err()
}

func (b *counter) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	word := t.String(0)
	n := b.counts[word]
	if n == nil {
		n = new(int64)
		b.counts[word] = n
	}
	*n++
	b.gauge.Count()
	return nil
}

func (b *counter) Cleanup() error {
	return b.gauge.Close()
}
