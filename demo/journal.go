package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/stormring/stormring/topologies/statefulwordcount"
)

// journal reads what the topology notes, as it is written.
type journal struct {
	path string
	file *os.File
	rest []byte // of a line that is not whole

	events []statefulwordcount.Event
}

// poll takes what is new.
func (j *journal) poll() error {
	if j.file == nil {
		f, err := os.Open(j.path)
		if errors.Is(err, os.ErrNotExist) {
			return nil // no worker has begun
		}
		if err != nil {
			return fmt.Errorf("the topology's journal: %w", err)
		}
		j.file = f
	}
	more, err := io.ReadAll(j.file)
	if err != nil {
		return fmt.Errorf("the topology's journal: %w", err)
	}
	j.rest = append(j.rest, more...)
	for {
		line, rest, ok := bytes.Cut(j.rest, []byte{'\n'})
		if !ok {
			return nil
		}
		j.rest = rest
		var e statefulwordcount.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("the topology's journal: %q: %w", line, err)
		}
		j.events = append(j.events, e)
	}
}

func (j *journal) close() {
	if j.file != nil {
		j.file.Close()
	}
}

// find is the first event of a kind since after, in microseconds.
func (j *journal) find(kind string, after int64) (statefulwordcount.Event, bool) {
	for _, e := range j.events {
		if e.Event == kind && e.AtMicros > after {
			return e, true
		}
	}
	return statefulwordcount.Event{}, false
}

// last is the last event of a kind.
func (j *journal) last(kind string) (last statefulwordcount.Event, ok bool) {
	for _, e := range j.events {
		if e.Event == kind {
			last, ok = e, true
		}
	}
	return last, ok
}

// lastButOne is the event of a kind before the last one.
func (j *journal) lastButOne(kind string) (e statefulwordcount.Event, ok bool) {
	seen := 0
	for _, x := range slices.Backward(j.events) {
		if x.Event != kind {
			continue
		}
		if seen++; seen == 2 {
			return x, true
		}
	}
	return e, false
}
