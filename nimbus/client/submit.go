package client

import (
	"context"
	"fmt"
	"io"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// Submission is a topology to run.
type Submission struct {
	Name string
	// Conf is the topology's own configuration as JSON text.
	Conf     string
	Topology cluster.Topology
	// Inactive: its spouts are silent until it is activated.
	Inactive    bool
	Credentials map[string]string
	// Jar is what its workers run; nil if they need nothing. When another
	// nimbus comes to lead during an upload, a Jar that is an io.Seeker is read
	// again from where it was, and any other ends the submission.
	Jar io.Reader
}

// parts is s in the interface's words.
func (s Submission) parts() (*gen.StormTopology, *gen.SubmitOptions, error) {
	topology, err := wire.TopologyToThrift(s.Topology)
	if err != nil {
		return nil, nil, fmt.Errorf("topology %s cannot be sent: %w", s.Name, err)
	}
	status := cluster.StatusActive
	if s.Inactive {
		status = cluster.StatusInactive
	}
	var creds *cluster.Credentials
	if len(s.Credentials) > 0 {
		creds = &cluster.Credentials{Values: s.Credentials}
	}
	options, err := wire.SubmitOptionsToThrift(status, creds)
	return topology, options, err
}

// Submit uploads the jar and submits the topology. Errors: ErrAlreadyAlive,
// ErrInvalidTopology, ErrUncertain.
func (c *Client) Submit(ctx context.Context, s Submission) error {
	topology, options, err := s.parts()
	if err != nil {
		return err
	}
	jar := source{r: s.Jar}
	return c.do(ctx, once, func(ctx context.Context, x *conn) error {
		location := ""
		if s.Jar != nil {
			if err := jar.rewind(); err != nil {
				return err
			}
			if location, err = c.uploadJar(ctx, x, &jar); err != nil {
				return fmt.Errorf("upload of the jar of topology %s: %w", s.Name, err)
			}
		}
		return x.SubmitTopologyWithOpts(ctx, s.Name, location, s.Conf, topology, options)
	})
}

func (c *Client) uploadJar(ctx context.Context, x *conn, jar io.Reader) (string, error) {
	location, err := x.BeginFileUpload(ctx)
	if err != nil {
		return "", harmless(err)
	}
	err = c.chunks(jar, func(chunk []byte) error { return x.UploadChunk(ctx, location, chunk) })
	if err != nil {
		return "", harmless(err)
	}
	return location, harmless(x.FinishFileUpload(ctx, location))
}

// source is what is uploaded, maybe more than once.
type source struct {
	r     io.Reader
	begun bool
	start int64
}

func (s *source) Read(p []byte) (int, error) {
	s.begun = true
	return s.r.Read(p)
}

// rewind makes s ready for another upload.
func (s *source) rewind() (err error) {
	seeker, ok := s.r.(io.Seeker)
	switch {
	case !s.begun && !ok:
		return nil
	case !s.begun:
		if s.start, err = seeker.Seek(0, io.SeekCurrent); err != nil {
			s.r = struct{ io.Reader }{s.r} // such as a pipe
		}
		return nil
	case !ok:
		return final{fmt.Errorf("%w: another nimbus came to lead during an upload that cannot be read twice: try again", ErrUnreachable)}
	}
	if _, err = seeker.Seek(s.start, io.SeekStart); err != nil {
		return final{fmt.Errorf("another nimbus came to lead during an upload, which cannot be read again: %w", err)}
	}
	return nil
}

// chunks reads r to its end in pieces that fit into a message.
func (c *Client) chunks(r io.Reader, send func([]byte) error) error {
	const usual = 307200 // as Storm's clients send
	buf := make([]byte, min(usual, max(c.cfg.MaxFrame/2, 1)))
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if err := send(buf[:n]); err != nil {
				return err
			}
		}
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return nil
		default:
			return final{err}
		}
	}
}

// harmless is err in a step of which nothing stays, so that the outcome is not
// uncertain.
func harmless(err error) error {
	if _, ok := refusal(err); ok || err == nil {
		return err
	}
	return final{err}
}

// PlanSubmit tells, for people, where the topology would run if it was
// submitted now; its jar is not read. Errors are those of Submit.
func (c *Client) PlanSubmit(ctx context.Context, s Submission) (string, error) {
	topology, options, err := s.parts()
	if err != nil {
		return "", err
	}
	return ask(ctx, c, func(x *conn, ctx context.Context) (string, error) {
		return x.PlanSubmit(ctx, s.Name, s.Conf, topology, options)
	})
}

// NameAllowed reports whether a topology may be submitted under this name: it
// is well formed and no topology has it.
func (c *Client) NameAllowed(ctx context.Context, name string) (bool, error) {
	return ask(ctx, c, func(x *conn, ctx context.Context) (bool, error) { return x.IsTopologyNameAllowed(ctx, name) })
}
