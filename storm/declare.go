package storm

import (
	"errors"
	"fmt"
	"strings"
)

// StreamSpec describes one output stream.
type StreamSpec struct {
	Fields Fields
	// Direct marks a stream whose emitter names the receiving task.
	Direct bool
}

// OutputFieldsDeclarer collects the output streams of a component.
type OutputFieldsDeclarer struct {
	streams map[string]StreamSpec
	errs    []error
}

// Declare names the fields of the default stream.
func (d *OutputFieldsDeclarer) Declare(fields ...string) {
	d.add(DefaultStream, StreamSpec{Fields: fields})
}

// DeclareStream names the fields of a further stream.
func (d *OutputFieldsDeclarer) DeclareStream(id string, fields ...string) {
	d.add(id, StreamSpec{Fields: fields})
}

// DeclareDirectStream names the fields of a stream for EmitDirect.
func (d *OutputFieldsDeclarer) DeclareDirectStream(id string, fields ...string) {
	d.add(id, StreamSpec{Fields: fields, Direct: true})
}

func (d *OutputFieldsDeclarer) add(id string, s StreamSpec) {
	if err := checkID("stream", id); err != nil {
		d.errs = append(d.errs, err)
		return
	}
	if _, ok := d.streams[id]; ok {
		d.errs = append(d.errs, fmt.Errorf("stream %q is declared twice", id))
		return
	}
	seen := map[string]bool{}
	for _, f := range s.Fields {
		if seen[f] {
			d.errs = append(d.errs, fmt.Errorf("stream %q declares field %q twice", id, f))
		}
		seen[f] = true
	}
	if d.streams == nil {
		d.streams = map[string]StreamSpec{}
	}
	d.streams[id] = s
}

func (d *OutputFieldsDeclarer) err() error { return errors.Join(d.errs...) }

// checkID refuses ids that Storm reserves.
func checkID(what, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%s id is empty", what)
	case strings.HasPrefix(id, reservedNamePrefix):
		return fmt.Errorf("%s id %q begins with %q, which is reserved for the system; choose another", what, id, reservedNamePrefix)
	}
	return nil
}
