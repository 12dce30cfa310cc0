package jvmstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type values map[string]string

// ring is what is safe, whoever dies.
type ring struct {
	mu     sync.Mutex
	record checkpoint.Record
	saved  map[string]map[checkpoint.Version]values // by owner
	joined map[string]bool                          // owners
	// What goes wrong; nil for nothing.
	swap   func(expect, next checkpoint.Record) (checkpoint.Outcome, bool)
	save   func(checkpoint.Version) error
	saveOf func(owner string) error
	load   func(checkpoint.Version) error
	join   func() error
	// asked is told that Unsaved was called; nil for nobody.
	asked chan struct{}
	// open and kept count stores and keepers.
	open, kept int
	settings   []string      // of stores
	namespaces []Namespace   // of keepers
	changed    chan struct{} // closed and made anew
}

func newRing() *ring {
	return &ring{saved: map[string]map[checkpoint.Version]values{}, joined: map[string]bool{}, changed: make(chan struct{})}
}

// until waits for a condition of the ring's.
func (r *ring) until(t *testing.T, what string, good func() bool) {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		r.mu.Lock()
		ok, changed := good(), r.changed
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func (r *ring) count(stores, keepers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open += stores
	r.kept += keepers
	close(r.changed)
	r.changed = make(chan struct{})
}

// set changes how it behaves.
func (r *ring) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// store is the ring as an agent has it.
type store struct{ *ring }

func (s store) Record(context.Context) (checkpoint.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record, nil
}

func (s store) Swap(_ context.Context, expect, next checkpoint.Record) checkpoint.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swap != nil {
		outcome, write := s.swap(expect, next)
		if write {
			s.record = next
		}
		return outcome
	}
	if s.record != expect {
		return checkpoint.Refused
	}
	s.record = next
	return checkpoint.Written
}

func (s store) Join(_ context.Context, component string, task int32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.join != nil {
		if err := s.join(); err != nil {
			return err
		}
	}
	s.joined[fmt.Sprintf("%s/%d", component, task)] = true
	return nil
}

func (s store) Unsaved(_ context.Context, v checkpoint.Version) (unsaved []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for owner := range s.joined {
		if _, ok := s.saved[owner][v]; !ok {
			unsaved = append(unsaved, owner)
		}
	}
	if s.asked != nil {
		s.asked <- struct{}{}
	}
	return unsaved, nil
}

func (s store) Keep(n Namespace) (Keeper, error) {
	s.count(0, 1)
	s.set(func() { s.namespaces = append(s.namespaces, n) })
	return &keeper{ring: s.ring, owner: fmt.Sprintf("%s/%d", n.Component, n.Task), post: n.Post, state: storm.NewMapState()}, nil
}

func (s store) Close() { s.count(-1, 0) }

// keeper is that of one owner. Load answers through post, Save on another goroutine.
type keeper struct {
	*ring
	owner   string
	post    func(func())
	state   *storm.MapState
	base    checkpoint.Version
	waiting sync.WaitGroup
}

func (k *keeper) State() storm.State { return k.state }

var errHang = errors.New("it takes for ever")

func (k *keeper) Load(v checkpoint.Version, _ checkpoint.Era, done func(error)) {
	k.mu.Lock()
	found, ok := k.saved[k.owner][v]
	var err error
	if k.load != nil {
		err = k.load(v)
	}
	k.mu.Unlock()
	switch {
	case errors.Is(err, errHang):
		return
	case err == nil && !ok && v.TxID != 0:
		err = fmt.Errorf("nothing has version %v of %s", v, k.owner)
	}
	k.base = v
	var keys [][]byte
	for key := range k.state.All(nil) {
		keys = append(keys, bytes.Clone(key))
	}
	for _, key := range keys {
		_ = k.state.Delete(key)
	}
	for key, value := range found {
		_ = k.state.Put([]byte(key), []byte(value))
	}
	k.post(func() { done(err) })
}

func (k *keeper) Save(v, base checkpoint.Version, done func(error)) {
	now := values{}
	for key, value := range k.state.All(nil) {
		now[string(key)] = string(value)
	}
	wrong := base != k.base
	k.waiting.Go(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.saved[k.owner] == nil {
			k.saved[k.owner] = map[checkpoint.Version]values{}
		}
		var err error
		if k.save != nil {
			err = k.save(v)
		}
		if k.saveOf != nil {
			err = k.saveOf(k.owner)
		}
		switch _, there := k.saved[k.owner][v]; {
		case err != nil:
		case wrong:
			err = fmt.Errorf("version %v is based on %v", v, base)
		case there:
			err = fmt.Errorf("version %v is there", v)
		default:
			k.saved[k.owner][v] = now
		}
		done(err)
	})
}

func (k *keeper) Committed(v checkpoint.Version) { k.base = v }

func (k *keeper) Close() {
	k.waiting.Wait()
	k.count(0, -1)
}

// rig is an agent over a ring.
type rig struct {
	t    *testing.T
	ring *ring
	file string
	stop func()
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, ring: newRing(), file: filepath.Join(t.TempDir(), "agent")}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *rig) start() {
	r.t.Helper()
	a, err := New(Config{
		File: r.file, Logger: slog.New(slog.NewTextHandler(r.t.Output(), nil)), Beat: 20 * time.Millisecond, Patience: 120 * time.Millisecond,
		Saving: 150 * time.Millisecond,
		Open: func(_ cluster.TopologyID, settings string) (Store, error) {
			if settings == "bad" {
				return nil, errors.New("settings are bad")
			}
			r.ring.count(1, 0)
			r.ring.set(func() { r.ring.settings = append(r.ring.settings, settings) })
			return store{r.ring}, nil
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.Run(ctx); err != nil {
			r.t.Errorf("run: %v", err)
		}
	})
	r.stop = func() { cancel(); running.Wait() }
}

func (r *rig) restart() {
	r.stop()
	r.start()
}

// jvm is one namespace's connection.
type jvm struct {
	t   *testing.T
	net net.Conn
	// beats counts what came while it waited.
	beats int
}

func (r *rig) hello() hello {
	text, err := os.ReadFile(r.file)
	if err != nil {
		r.t.Fatal(err)
	}
	return hello{token: strings.Fields(string(text))[2], topology: "t-1", component: "sum", task: 5, namespace: "sum-5", boot: 1, serial: 1, settings: "{}"}
}

func (r *rig) dial() net.Conn {
	r.t.Helper()
	text, err := os.ReadFile(r.file)
	if err != nil {
		r.t.Fatal(err)
	}
	words := strings.Fields(string(text))
	c, err := net.Dial("tcp", net.JoinHostPort(words[0], words[1]))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// say connects as h, and does not wait for an answer.
func (r *rig) say(h hello) *jvm {
	r.t.Helper()
	j := &jvm{t: r.t, net: r.dial()}
	j.send(open, helloBody(h, format))
	return j
}

func helloBody(h hello, version uint32) []byte {
	b := []byte{byte(version >> 24), byte(version >> 16), byte(version >> 8), byte(version)}
	b = appendText(appendText(appendText(b, h.token), h.topology), h.component)
	b = append(b, byte(h.task>>24), byte(h.task>>16), byte(h.task>>8), byte(h.task)) //nolint:gosec // as it is read
	b = appendLongs(appendText(b, h.namespace), h.boot, h.serial)
	spout := byte(0)
	if h.spout {
		spout = 1
	}
	return appendLongs(appendText(append(b, spout), h.settings), h.noticed, h.detect)
}

func (j *jvm) send(k kind, body []byte) {
	j.t.Helper()
	if _, err := j.net.Write(appendFrame(nil, k, body)); err != nil {
		j.t.Fatal(err)
	}
}

func (j *jvm) receive() frame {
	j.t.Helper()
	for {
		f, err := readFrame(j.net, maxFrame)
		if err != nil {
			j.t.Fatal(err)
		}
		if f.kind != wait {
			return f
		}
		j.beats++
	}
}

// ended tells that the agent has ended it.
func (j *jvm) ended() bool {
	for {
		if _, err := readFrame(j.net, maxFrame); err != nil {
			var timeout net.Error
			return !errors.As(err, &timeout) || !timeout.Timeout() || errors.Is(err, io.EOF)
		}
	}
}

// wantFailure expects a failure that has these words.
func (j *jvm) wantFailure(c code, words string) {
	j.t.Helper()
	f := j.receive()
	if f.kind != failed {
		j.t.Fatalf("a message of kind %d, and no failure with %q", f.kind, words)
	}
	r := fields{b: f.body}
	if got, text := code(r.byte()), r.text(); got != c || !strings.Contains(text, words) {
		j.t.Fatalf("failure %d: %q; want %d with %q", got, text, c, words)
	}
}

func (j *jvm) wantVersion(k kind, want checkpoint.Version) checkpoint.Era {
	j.t.Helper()
	f := j.receive()
	r := fields{b: f.body}
	if f.kind == failed {
		r.byte()
		j.t.Fatalf("failed: %s", r.text())
	}
	if f.kind != k {
		j.t.Fatalf("a message of kind %d, and not %d", f.kind, k)
	}
	if got := r.version(); got != want {
		j.t.Fatalf("version %v, and not %v", got, want)
	}
	if k == base {
		return checkpoint.Era(r.long()) //nolint:gosec // as it was written
	}
	return 0
}

// opened connects as h, which has to be at a version.
func (r *rig) opened(h hello, want checkpoint.Version) *jvm {
	r.t.Helper()
	j := r.say(h)
	j.wantVersion(base, want)
	return j
}

// prepare sends changes, of which a value "-" stands for a deletion.
func (j *jvm) prepare(tx int64, from checkpoint.Version, after checkpoint.Era, changed values) {
	j.t.Helper()
	j.send(prepare, appendLongs(appendVersion(appendLongs(nil, tx), from), int64(after)))
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if changed[key] == "-" {
			b = append(appendText(b, key), 0xff, 0xff, 0xff, 0xff)
		} else {
			b = appendEntry(b, []byte(key), []byte(changed[key]))
		}
	}
	for part := range slices.Chunk(b, maxChunk) {
		j.send(changes, part)
	}
	j.send(end, nil)
}

func (j *jvm) commit(tx int64) { j.t.Helper(); j.send(commit, appendLongs(nil, tx)) }

// contents are all entries.
func (j *jvm) contents() values {
	j.t.Helper()
	j.send(contents, nil)
	got := values{}
	var parts entries
	for {
		f := j.receive()
		if f.kind == over {
			if err := parts.end(); err != nil {
				j.t.Fatal(err)
			}
			return got
		}
		if f.kind != chunk {
			j.t.Fatalf("a message of kind %d comes between entries", f.kind)
		}
		if err := parts.feed(f.body, func(key, value []byte, _ bool) error { got[string(key)] = string(value); return nil }); err != nil {
			j.t.Fatal(err)
		}
	}
}

// spout is the checkpoint spout.
type spout struct {
	*jvm
	record checkpoint.Record
	claim  uint32
}

func (r *rig) spout(claim uint32) *spout {
	r.t.Helper()
	h := r.hello()
	h.component, h.task, h.namespace, h.spout, h.serial = "$checkpointspout", 1, "$checkpointspout-1", true, int64(claim)
	s := &spout{jvm: r.say(h), claim: claim}
	s.take()
	return s
}

func (s *spout) take() {
	s.t.Helper()
	f := s.receive()
	r := fields{b: f.body}
	if f.kind != record {
		r.byte()
		s.t.Fatalf("a message of kind %d: %s", f.kind, r.text())
	}
	s.record = r.record()
}

func (s *spout) say(phase byte, tx int64, fresh bool) {
	s.t.Helper()
	b := appendLongs([]byte{phase}, tx)
	b = append(b, byte(s.claim>>24), byte(s.claim>>16), byte(s.claim>>8), byte(s.claim), 0)
	if fresh {
		b[len(b)-1] = 1
	}
	s.send(step, appendRecord(b, s.record))
}

func (s *spout) saves(phase byte, tx int64, fresh bool) {
	s.t.Helper()
	s.say(phase, tx, fresh)
	s.take()
}
