package advertising

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/stormring/stormring/storm"
)

// countsPattern are the names of the files of --output.
const countsPattern = "counts-*.jsonl"

// publisher brings what a task has counted out of it: to the job when the run
// ends in order, and to a file in the folder of --output before each commit that
// changes something. The file is of the task's present state, which may be ahead
// of the commit; when nothing more comes in they are the same.
type publisher struct {
	dir string // "" is none
	job *job

	topology, name string
	collect        func(Counts) error
	begun          bool // there is a state
	dirty          bool // the file is not of the state
}

func (p *publisher) prepare(ctx *storm.TopologyContext, collect func(Counts) error) {
	p.topology = ctx.TopologyID()
	p.name = fmt.Sprintf("%s-%d", ctx.Component(), ctx.TaskIndex())
	p.collect = collect
}

// begin notes that the state is there, or another than before.
func (p *publisher) begin() { p.begun, p.dirty = true, true }

// write brings the file up to date.
func (p *publisher) write() error {
	if p.dir == "" || !p.dirty {
		return nil
	}
	c := NewCounts()
	if err := p.collect(c); err != nil {
		return fmt.Errorf("advertising: %w", err)
	}
	if err := p.replace(c); err != nil {
		return fmt.Errorf("advertising: write counts to the folder of --output: %w", err)
	}
	p.dirty = false
	return nil
}

// replace writes a new file and puts it in the place of the old one, so that
// nobody ever sees half of it.
func (p *publisher) replace(c Counts) error {
	if err := os.MkdirAll(p.dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(p.dir, p.name+".*.tmp")
	if err != nil {
		return err
	}
	err = writeLines(f, &header{Topology: p.topology}, c)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(p.dir, "counts-"+p.name+".jsonl"))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// handOver gives the job what was counted; call it when the task ends in order.
func (p *publisher) handOver() error {
	if !p.begun {
		return nil
	}
	c := NewCounts()
	if err := p.collect(c); err != nil {
		return fmt.Errorf("advertising: %w", err)
	}
	p.job.handOver(p.name, c)
	return p.write()
}

// header is the first line of a file.
type header struct {
	Topology string `json:"topology"`
}

// line is any other line: views of a campaign in a window or of a user, late
// views of a campaign, or rejected lines.
type line struct {
	Campaign string    `json:"campaign,omitempty"`
	Window   time.Time `json:"window,omitzero"`
	User     string    `json:"user,omitempty"`
	Views    int64     `json:"views,omitempty"`
	Late     int64     `json:"late,omitempty"`
	Reason   string    `json:"rejected,omitempty"`
	Lines    int64     `json:"lines,omitempty"`
}

// writeLines writes counts as lines of JSON, sorted, below a header if it is not
// nil.
func writeLines(w io.Writer, h *header, c Counts) error {
	b := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(b)
	if h != nil {
		if err := enc.Encode(h); err != nil {
			return err
		}
	}
	for _, win := range c.windows() {
		if err := enc.Encode(line{Campaign: win.Campaign, Window: time.UnixMilli(win.Start).UTC(), Views: c.Views[win]}); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		counts map[string]int64
		line   func(key string, n int64) line
	}{
		{c.Late, func(k string, n int64) line { return line{Campaign: k, Late: n} }},
		{c.Users, func(k string, n int64) line { return line{User: k, Views: n} }},
		{c.Rejected, func(k string, n int64) line { return line{Reason: k, Lines: n} }},
	} {
		for _, key := range sorted(part.counts) {
			if err := enc.Encode(part.line(key, part.counts[key])); err != nil {
				return err
			}
		}
	}
	return b.Flush()
}

// ReadCounts adds up what the tasks of a topology have written to the folder of
// --output, at any time; none is no error, since none may be there yet. It
// refuses files of several topologies, and damaged ones, by name.
func ReadCounts(dir string) (Counts, error) {
	c := NewCounts()
	paths, err := filepath.Glob(filepath.Join(dir, countsPattern))
	if err != nil {
		return Counts{}, fmt.Errorf("advertising: look for counts: %w", err)
	}
	topology := ""
	for i, path := range paths {
		h, err := readFile(path, c)
		if err != nil {
			return Counts{}, fmt.Errorf("advertising: read %s: %w", path, err)
		}
		if i > 0 && h.Topology != topology {
			return Counts{}, fmt.Errorf("advertising: %s has counts of topology %q, other files beside it of %q; give each topology a folder of its own", path, h.Topology, topology)
		}
		topology = h.Topology
	}
	return c, nil
}

func readFile(path string, into Counts) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, err
	}
	defer f.Close()
	return readLines(f, into)
}

// readLines adds the counts of a file to into.
func readLines(r io.Reader, into Counts) (h header, err error) {
	dec := json.NewDecoder(bufio.NewReaderSize(r, 64<<10))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&h); err != nil {
		return h, fmt.Errorf("the first line does not name the topology: %w", err)
	}
	for n := 2; ; n++ {
		var l line
		switch err := dec.Decode(&l); {
		case errors.Is(err, io.EOF):
			return h, nil
		case err != nil:
			return h, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case l.Reason != "":
			into.Rejected[l.Reason] += l.Lines
		case l.User != "":
			into.Users[l.User] += l.Views
		case l.Campaign != "" && !l.Window.IsZero():
			start := l.Window.UnixMilli()
			if start < 0 || start > maxTime {
				return h, fmt.Errorf("line %d: a window begins at %v; it must be in the years 1970 to 9999", n, l.Window)
			}
			into.Views[Window{l.Campaign, start}] += l.Views
		case l.Campaign != "":
			into.Late[l.Campaign] += l.Late
		default:
			return h, fmt.Errorf("line %d counts neither a campaign nor a user nor rejected lines", n)
		}
	}
}
