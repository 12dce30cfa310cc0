package nimbus

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/submit"
	"github.com/stormring/stormring/storm"
)

// elfHeader is how much of a program tells what it was built for.
const elfHeader = 64

// checkProgram refuses a Go program that was built for a machine of which there
// is none. A jar of Java is left alone.
func (n *Nimbus) checkProgram(ctx context.Context, key string) error {
	r, _, err := n.cfg.Blobs.Get(ctx, key)
	if err != nil {
		return err
	}
	head := make([]byte, elfHeader)
	got, err := io.ReadFull(r, head)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	return program(head[:got])
}

// isProgram tells a Go program from an archive by its first bytes.
func isProgram(head []byte) bool { return bytes.HasPrefix(head, []byte(elf.ELFMAG)) }

// program checks the first bytes of a jar.
func program(head []byte) error {
	if !isProgram(head) {
		for _, foreign := range []struct{ magic, what string }{
			{"MZ", "Windows"}, {"\xcf\xfa\xed\xfe", "macOS"}, {"\xca\xfe\xba\xbe", "macOS"},
		} {
			if bytes.HasPrefix(head, []byte(foreign.magic)) {
				return asf(ErrInvalidTopology, "the submitted program was built for %s; supervisors run Linux: build it with GOOS=linux", foreign.what)
			}
		}
		return nil
	}
	if len(head) < elfHeader {
		return asf(ErrInvalidTopology, "the submitted program has only %d bytes: it was cut off", len(head))
	}
	machine := elf.Machine(uint16(head[18]) | uint16(head[19])<<8)
	if elf.Class(head[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2LSB ||
		machine != elf.EM_X86_64 && machine != elf.EM_AARCH64 {
		return asf(ErrInvalidTopology, "the submitted program was built for a %v, %v machine; build it with GOOS=linux and GOARCH=amd64 or arm64", machine, elf.Class(head[elf.EI_CLASS]))
	}
	return nil
}

// copies waits until as many nimbuses have a topology's code as it wants, but
// not for longer than it says.
func (n *Nimbus) copies(ctx context.Context, r *reign, id cluster.TopologyID, ready *submit.Ready, jar bool) error {
	if err := r.term.announceBlobs(ctx, id, true, true, jar); err != nil {
		return err
	}
	want := ready.Layout.Conf.Int(storm.ConfTopologyMinReplicationCount)
	if r.term.copies == nil || want <= 1 {
		return nil
	}
	limit := ready.Layout.Conf.Duration(storm.ConfTopologyMaxReplicationWaitTimeSec)
	end := n.cfg.Clock.Now().Add(limit)
	for {
		have, err := n.replicas(ctx, r, id)
		if err != nil || have >= want {
			return err
		}
		if limit >= 0 && !n.cfg.Clock.Now().Before(end) {
			n.cfg.Logger.Warn("a topology starts with fewer copies of its code than it wants", "topology", id, "copies", have, "wanted", want)
			return nil
		}
		if err := n.wait(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("while waiting for copies of the code: %w", err)
		}
	}
}

// replicas is how many nimbuses have all of a topology's code.
func (n *Nimbus) replicas(ctx context.Context, r *reign, id cluster.TopologyID) (int, error) {
	least := -1
	for _, key := range []string{string(id) + codeEnd, string(id) + confEnd} {
		holders, err := r.store.BlobHolders(ctx, key)
		if err != nil {
			return 0, err
		}
		if least < 0 || len(holders) < least {
			least = len(holders)
		}
	}
	return max(least, 1), nil
}
