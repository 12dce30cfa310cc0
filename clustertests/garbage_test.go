package clustertests

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// door is something that listens, with the process behind it and its log.
type door struct {
	name, network, addr, log string
	pid                      int
}

// garbage is what strangers send, each a connection of its own.
func garbage(random *rand.Rand) map[string][]byte {
	noise := make([]byte, 4<<20)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	long := func(n uint32) []byte { return append(binary.BigEndian.AppendUint32(nil, n), noise[:1<<20]...) }
	little := func(n uint32) []byte { return append(binary.LittleEndian.AppendUint32(nil, n), noise[:1<<20]...) }
	return map[string][]byte{
		"nothing":             {},
		"a byte":              {1},
		"noise":               noise,
		"a huge frame":        long(0x7fffffff),
		"a negative frame":    long(0xfffffff0),
		"a frame of nothing":  long(0),
		"a huge frame turned": little(0x7fffffff),
		"a large frame":       long(64 << 20),
		"a small frame":       append([]byte{0, 0, 0, 32}, noise[:32]...),
		"strict, huge name":   {0, 0, 0, 40, 0x80, 1, 0, 1, 0x7f, 0xff, 0xff, 0xff},
		"HTTP":                []byte("GET / HTTP/1.1\r\nHost: nimbus\r\n\r\n"),
		"zeros":               make([]byte, 1<<20),
		"ones":                bytes.Repeat([]byte{0xff}, 1<<20),
	}
}

// TestGarbage: whatever strangers send to the ports, daemons and workers live,
// take no more memory, say little of it, and serve everyone else.
func TestGarbage(t *testing.T) {
	random := seeded(t)
	r := startCluster(t, options{nimbuses: 1, supervisors: 1, slots: 2})
	c := r.countWords("words", newText(t, 20000), "--workers", "2")
	c.flows(200)
	doors := r.doors()
	before, lines := map[string]int{}, map[string]int{}
	for _, d := range doors {
		before[d.name], lines[d.name] = memoryMB(t, d.pid), countLines(d.log)
	}
	parcels := garbage(random)
	var loris []net.Conn
	defer func() {
		for _, conn := range loris {
			conn.Close()
		}
	}()
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			for range 100 {
				if conn, err := net.DialTimeout(d.network, d.addr, 5*time.Second); err == nil {
					_, _ = conn.Write([]byte{0, 0, 1}) // and no more
					loris = append(loris, conn)
				}
			}
			var senders sync.WaitGroup
			for range 20 {
				senders.Go(func() {
					for _, parcel := range parcels {
						d.throw(parcel)
					}
					d.greet()
				})
			}
			senders.Wait()
			// All others are served, with the slow ones still there.
			from := c.progress()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := r.client.Topologies(ctx); err != nil {
				t.Errorf("a proper client: %v", err)
			}
			if _, ok := watch(t, 20*time.Second, func() bool { return c.progress() > from+100 }); !ok {
				t.Errorf("tuples do not flow: %d blocks, %d before", c.progress(), from)
			}
		})
	}
	for i, d := range r.doors() {
		if d.pid != doors[i].pid {
			t.Errorf("%s: process %d is %d now", d.name, doors[i].pid, d.pid)
			continue
		}
		peak, said := peakMB(t, d.pid), countLines(d.log)-lines[d.name]
		t.Logf("%s: %d MiB of memory at most, %d before; %d lines in its log", d.name, peak, before[d.name], said)
		if peak > before[d.name]+100 {
			t.Errorf("%s: %d MiB of memory, %d before", d.name, peak, before[d.name])
		}
		// Some 280 connections were refused.
		if said > 20 {
			t.Errorf("%s: %d lines in its log:\n%s", d.name, said, tail(d.log))
		}
	}
	for _, d := range r.all() {
		if !d.alive() {
			t.Errorf("%s has ended", d.name)
		}
	}
}

// doors are all that listens in a cluster of one nimbus and one supervisor.
func (r *rig) doors() []door {
	n, s := r.nimbus[0], r.supervisor[0]
	out := []door{
		{"nimbus", "tcp", n.addr(), n.logFile(), n.pid()},
		{"supervisor", "tcp", s.addr(), s.logFile(), s.pid()},
		{"link", "unix", filepath.Join(s.dir, "supervisor", "link"), s.logFile(), s.pid()},
	}
	pids := r.workerPIDs()
	for i, port := range s.slots {
		logs, _ := filepath.Glob(filepath.Join(s.dir, "logs", "workers-artifacts", "*", strconv.Itoa(port), "worker.log"))
		out = append(out, door{fmt.Sprintf("worker %d", i+1), "tcp", net.JoinHostPort(s.host, strconv.Itoa(port)), strings.Join(logs, ""), pids[port]})
	}
	return out
}

// throw sends something to a door and waits until that closes the connection,
// or a second has passed: what is incomplete may be waited for.
func (d door) throw(parcel []byte) {
	conn, err := net.DialTimeout(d.network, d.addr, 5*time.Second)
	if err != nil {
		return // full; so be it
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write(parcel); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = conn.Read(make([]byte, 4096))
}

// greet begins to speak TLS.
func (d door) greet() {
	conn, err := net.DialTimeout(d.network, d.addr, 5*time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	//nolint:gosec // nobody is to be trusted here, and there is a deadline
	_ = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).Handshake()
}

func countLines(path string) int {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return -1
	}
	return bytes.Count(text, []byte{'\n'})
}
