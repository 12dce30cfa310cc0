package records

import (
	"bytes"
	"compress/gzip"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "/some/storm"

// world is a store with sessions on it.
type world struct {
	*testing.T
	server *embedded.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	cfg := embedded.DefaultConfig()
	cfg.Clock = clock.NewFake(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	s, err := embedded.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &world{t, s}
}

// open is a store in a session of its own, with all parents.
func (w *world) open() *Store {
	w.Helper()
	c, err := w.server.Open(w.Context(), 10*time.Second)
	if err != nil {
		w.Fatal(err)
	}
	s := New(c, root)
	w.must(s.Init(w.Context()))
	return s
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) is(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error is %v, want %v", err, want)
	}
}

func (w *world) equal(got, want any) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Fatalf("got %+v, want %+v", got, want)
	}
}

// write makes whatever the content of a znode.
func (w *world) write(s *Store, path string, data []byte) {
	w.Helper()
	w.must(s.makeDir(w.Context(), root+path))
	_, err := s.s.Set(w.Context(), root+path, data, coord.AnyVersion)
	w.must(err)
}

// corrupt checks that err is about the record at path.
func (w *world) corrupt(err error, path string) {
	w.Helper()
	c, ok := errors.AsType[*CorruptError](err)
	if !ok || c.Path != root+path || c.Err == nil {
		w.Fatalf("error is %v, want a CorruptError of %s", err, root+path)
	}
}

func (w *world) event(ch <-chan coord.Event, want coord.EventType) {
	w.Helper()
	select {
	case e := <-ch:
		if e.Type != want {
			w.Fatalf("event is %v, want %v", e.Type, want)
		}
	case <-w.Context().Done():
		w.Fatalf("no event, want %v", want)
	}
}

const id = cluster.TopologyID("words-1-1893553445")

func base(workers int) cluster.Base {
	return cluster.Base{
		Name: "words", Status: cluster.StatusActive, Workers: workers,
		Executors: map[string]int{"split": 3}, LaunchedSecs: 1893553445, Owner: "ann",
	}
}

func assigned(port cluster.Port) cluster.AssignmentRecord {
	slot := cluster.Slot{Supervisor: "s1", Port: port}
	return cluster.AssignmentRecord{
		Hosts:         map[cluster.SupervisorID]string{"s1": "host1"},
		Assignment:    cluster.Assignment{{Executor: cluster.Executor{First: 1, Last: 2}, Slot: slot, StartSecs: 7}},
		Resources:     map[cluster.Slot]cluster.WorkerResources{slot: {OnHeap: 128, CPU: 50}},
		SharedOffHeap: map[cluster.SupervisorID]float64{},
	}
}

func TestInitMakesStormsLayout(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	w.must(s.Init(t.Context())) // again
	got, _, err := s.Session().Children(t.Context(), root)
	w.must(err)
	w.equal(got, []string{
		"assignments", "backpressure", "blobstore", "blobstoremaxkeysequencenumber", "credentials", "errors",
		"logconfigs", "nimbuses", "profilerconfigs", "stormring", "storms", "supervisors", "workerbeats",
	})
	got, _, err = s.Session().Children(t.Context(), root+"/stormring")
	w.must(err)
	w.equal(got, []string{"checkpoints", "lifecycle", "losses", "ring", "standings", "states"})
}

func TestRootMayBeThatOfTheStore(t *testing.T) {
	w := newWorld(t)
	s := New(w.open().Session(), "/")
	w.must(s.Init(t.Context()))
	w.must(s.CreateBase(t.Context(), id, base(1)))
	exists, _, err := s.s.Exists(t.Context(), "/storms/"+string(id))
	w.must(err)
	w.equal(exists, true)
}

func TestBase(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	_, _, err := s.Base(ctx, id)
	w.is(err, coord.ErrNoNode)
	_, err = s.SetBase(ctx, id, base(1), coord.AnyVersion)
	w.is(err, coord.ErrNoNode) // a removed topology stays removed
	w.must(s.RemoveBase(ctx, id))

	ids, ch, err := s.TopologiesW(ctx)
	w.must(err)
	w.equal(ids, []cluster.TopologyID{})
	w.must(s.CreateBase(ctx, id, base(1)))
	w.event(ch, coord.EventNodeChildrenChanged)
	w.is(s.CreateBase(ctx, id, base(1)), coord.ErrNodeExists)

	got, v, ch, err := s.BaseW(ctx, id)
	w.must(err)
	w.equal(got, base(1))
	w.equal(v, Version(0))
	v, err = s.SetBase(ctx, id, base(2), 0)
	w.must(err)
	w.equal(v, Version(1))
	w.event(ch, coord.EventNodeDataChanged)
	_, err = s.SetBase(ctx, id, base(3), 0)
	w.is(err, coord.ErrBadVersion)
	v, err = s.SetBase(ctx, id, base(4), coord.AnyVersion)
	w.must(err)
	w.equal(v, Version(2))
	got, v, err = s.Base(ctx, id)
	w.must(err)
	w.equal(got, base(4))
	w.equal(v, Version(2))

	w.must(s.RemoveBase(ctx, id))
	ids, err = s.Topologies(ctx)
	w.must(err)
	w.equal(ids, []cluster.TopologyID{})
}

func TestBaseOfWrongNameIsRefused(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	for _, id := range []cluster.TopologyID{"", "a/b", "../storms", ".", "a\x00b"} {
		w.is(s.CreateBase(t.Context(), id, base(1)), coord.ErrInvalidPath)
		_, _, err := s.Base(t.Context(), id)
		w.is(err, coord.ErrInvalidPath)
	}
}

// A leader puts the check of its latch before its writes.
func TestFencedWrites(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	fence := coord.CheckOp{Path: root + "/latch", Version: coord.AnyVersion}

	err := s.CreateBase(ctx, id, base(1), fence)
	w.is(err, coord.ErrNoNode)
	if op, ok := errors.AsType[*coord.OpError](err); !ok || op.Index != 0 {
		t.Fatalf("error is %v, want one of the fence", err)
	}
	_, err = s.PutAssignment(ctx, id, assigned(1), coord.AnyVersion, fence)
	w.is(err, coord.ErrNoNode)
	if ids, err := s.Assignments(ctx); err != nil || len(ids) != 0 {
		t.Fatalf("assignments are %v, %v, want none", ids, err)
	}

	w.write(s, "/latch", nil)
	w.must(s.CreateBase(ctx, id, base(1), fence))
	v, err := s.SetBase(ctx, id, base(2), 0, fence)
	w.must(err)
	w.equal(v, Version(1))
	v, err = s.PutAssignment(ctx, id, assigned(1), coord.AnyVersion, fence)
	w.must(err)
	w.equal(v, Version(0))
	v, err = s.PutAssignment(ctx, id, assigned(2), coord.AnyVersion, fence)
	w.must(err)
	w.equal(v, Version(1))
}

func TestAssignment(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	_, ids, err := s.AssignmentsW(ctx)
	w.must(err)
	_, _, ch, err := s.AssignmentW(ctx, id)
	w.is(err, coord.ErrNoNode)
	v, err := s.PutAssignment(ctx, id, assigned(6700), Absent)
	w.must(err)
	w.equal(v, Version(0))
	w.event(ids, coord.EventNodeChildrenChanged)
	w.event(ch, coord.EventNodeCreated)
	_, err = s.PutAssignment(ctx, id, assigned(6700), Absent)
	w.is(err, coord.ErrNodeExists)

	got, v, ch, err := s.AssignmentW(ctx, id)
	w.must(err)
	w.equal(got, assigned(6700))
	v, err = s.PutAssignment(ctx, id, assigned(6701), v)
	w.must(err)
	w.equal(v, Version(1))
	w.event(ch, coord.EventNodeDataChanged)
	_, err = s.PutAssignment(ctx, id, assigned(6702), 0)
	w.is(err, coord.ErrBadVersion)

	_, _, ch, err = s.AssignmentW(ctx, id)
	w.must(err)
	w.must(s.RemoveAssignment(ctx, id))
	w.event(ch, coord.EventNodeDeleted)
	w.must(s.RemoveAssignment(ctx, id))
	_, err = s.PutAssignment(ctx, id, assigned(6702), 1)
	w.is(err, coord.ErrNoNode)
}

// Of writers that all have seen the same version, one wins.
func TestRacingWriters(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	w.must(s.CreateBase(ctx, id, base(1)))
	const writers = 8
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		other := w.open()
		wg.Go(func() { _, errs[i] = other.SetBase(ctx, id, base(10+i), 0) })
	}
	wg.Wait()
	winner := slices.Index(errs, nil)
	got, v, err := s.Base(ctx, id)
	w.must(err)
	w.equal(v, Version(1))
	w.equal(got, base(10+winner))
	for i, err := range errs {
		if i != winner {
			w.is(err, coord.ErrBadVersion)
		}
	}
}

// Writers that take any version all succeed, whether the record is there or
// not.
func TestRacingPutsOfAnyVersion(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	const writers = 8
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		other := w.open()
		wg.Go(func() { _, errs[i] = other.PutAssignment(ctx, id, assigned(cluster.Port(i)), coord.AnyVersion) })
	}
	wg.Wait()
	w.must(errors.Join(errs...))
	_, v, err := s.Assignment(ctx, id)
	w.must(err)
	w.equal(v, Version(writers-1))
}

func TestCorruptRecordsAreNamed(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	for _, data := range corruptions(t) {
		w.write(s, "/storms/"+string(id), data)
		_, v, ch, err := s.BaseW(ctx, id)
		w.corrupt(err, "/storms/"+string(id))
		_, err = s.SetBase(ctx, id, base(1), v) // which mends it
		w.must(err)
		w.event(ch, coord.EventNodeDataChanged)

		w.write(s, "/assignments/"+string(id), data)
		_, _, err = s.Assignment(ctx, id)
		w.corrupt(err, "/assignments/"+string(id))

		w.write(s, "/credentials/"+string(id), data)
		_, err = s.Credentials(ctx, id)
		w.corrupt(err, "/credentials/"+string(id))

		w.write(s, "/logconfigs/"+string(id), data)
		if _, err = s.LogConfig(ctx, id); len(data) == 1 {
			w.must(err) // nothing in it is required
		} else {
			w.corrupt(err, "/logconfigs/"+string(id))
		}

		w.write(s, "/supervisors/s1", data)
		_, _, err = s.Supervisor(ctx, "s1")
		w.corrupt(err, "/supervisors/s1")

		w.write(s, "/stormring/lifecycle/"+string(id), data)
		_, there, err := s.Life(ctx, id)
		w.corrupt(err, "/stormring/lifecycle/"+string(id))
		w.equal(there, false)

		w.write(s, "/stormring/standings/s1", data)
		_, err = s.Standing(ctx, "s1")
		w.corrupt(err, "/stormring/standings/s1")
	}
}

// corruptions are payloads that are nothing at all.
func corruptions(t *testing.T) [][]byte {
	t.Helper()
	var empty bytes.Buffer
	z := gzip.NewWriter(&empty)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return [][]byte{
		nil,
		[]byte("nonsense"),
		{0},                                     // a struct without any field
		{0x1f, 0x8b, 8, 0},                      // the beginning of gzip
		{0x28, 0xb5, 0x2f, 0xfd, 1},             // the beginning of zstd
		{11, 0, 1, 0x7f, 0xff, 0xff, 0xff, 'a'}, // a string of 2 GiB
		{13, 0, 1, 11, 12, 0x7f, 0xff, 0xff, 0xff, 11}, // a map of 2 Gi entries
		empty.Bytes(),
	}
}

func TestCredentialsAndLogConfig(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	_, err := s.Credentials(ctx, id)
	w.is(err, coord.ErrNoNode)
	_, ch, err := s.CredentialsW(ctx, id)
	w.is(err, coord.ErrNoNode)
	c := cluster.Credentials{Values: map[string]string{"key": "secret"}, Owner: "ann"}
	w.must(s.PutCredentials(ctx, id, c))
	w.event(ch, coord.EventNodeCreated)
	got, ch, err := s.CredentialsW(ctx, id)
	w.must(err)
	w.equal(got, c)
	c.Values["more"] = "of it"
	w.must(s.PutCredentials(ctx, id, c))
	w.event(ch, coord.EventNodeDataChanged)
	got, err = s.Credentials(ctx, id)
	w.must(err)
	w.equal(got, c)
	w.must(s.RemoveCredentials(ctx, id))
	w.must(s.RemoveCredentials(ctx, id))

	_, ch, err = s.LogConfigW(ctx, id)
	w.is(err, coord.ErrNoNode)
	l := cluster.LogConfig{"ROOT": {Action: cluster.LogLevelUpdate, Target: "DEBUG", TimeoutSecs: 30, TimeoutEpochMS: 9}}
	w.must(s.PutLogConfig(ctx, id, l))
	w.event(ch, coord.EventNodeCreated)
	gotLog, err := s.LogConfig(ctx, id)
	w.must(err)
	w.equal(gotLog, l)
	w.must(s.RemoveLogConfig(ctx, id))
	_, err = s.LogConfig(ctx, id)
	w.is(err, coord.ErrNoNode)
}

func TestRemoveTopologyExtras(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	w.must(s.RemoveTopologyExtras(ctx, id))
	other := cluster.TopologyID("other-2-2")
	w.must(s.CreateBase(ctx, id, base(1)))
	for _, id := range []cluster.TopologyID{id, other} {
		w.must(s.PutCredentials(ctx, id, cluster.Credentials{}))
		w.must(s.PutLogConfig(ctx, id, nil))
		w.must(s.AddError(ctx, id, "split", cluster.ErrorRecord{Text: "x"}))
		w.write(s, "/workerbeats/"+string(id)+"/s1-6700", nil)
		w.write(s, "/profilerconfigs/"+string(id)+"/host1_6700_JSTACK_DUMP", nil)
		w.write(s, "/backpressure/"+string(id)+"/s1-6700", nil)
	}
	ids, err := s.Extras(ctx)
	w.must(err)
	w.equal(ids, []cluster.TopologyID{other, id})
	w.must(s.RemoveTopologyExtras(ctx, id))
	ids, err = s.Extras(ctx)
	w.must(err)
	w.equal(ids, []cluster.TopologyID{other})
	for _, dir := range []string{"credentials", "logconfigs", "errors", "workerbeats", "profilerconfigs", "backpressure"} {
		children, _, err := s.s.Children(ctx, root+"/"+dir)
		w.must(err)
		w.equal(children, []string{string(other)})
	}
	_, _, err = s.Base(ctx, id)
	w.must(err)
}

func TestLife(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	_, there, err := s.Life(ctx, id)
	w.must(err)
	w.equal(there, false)
	zone := time.FixedZone("east", 3600)
	w.must(s.PutLife(ctx, id, Life{Due: time.Date(2030, 1, 1, 0, 0, 0, 123456789, zone), WaitSecs: 30}))
	l, there, err := s.Life(ctx, id)
	w.must(err)
	w.equal(there, true)
	w.equal(l, Life{Due: time.Date(2029, 12, 31, 23, 0, 0, 123000000, time.UTC), WaitSecs: 30})
	data, _, err := s.s.Get(ctx, root+"/stormring/lifecycle/"+string(id))
	w.must(err)
	w.equal(string(data), `{"due_ms":1893452400123,"wait_secs":30}`)

	w.must(s.PutLife(ctx, id, Life{Removed: true}))
	l, _, err = s.Life(ctx, id)
	w.must(err)
	w.equal(l, Life{Removed: true})
	ids, err := s.Lives(ctx)
	w.must(err)
	w.equal(ids, []cluster.TopologyID{id})
	w.must(s.RemoveLife(ctx, id))
	w.must(s.RemoveLife(ctx, id))
}

func TestStandings(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	st, err := s.Standing(ctx, "s1")
	w.must(err)
	w.equal(st, cluster.Open)
	w.must(s.PutStanding(ctx, "s1", cluster.Cordoned))
	w.must(s.PutStanding(ctx, "s1", cluster.Drained))
	w.must(s.PutStanding(ctx, "s2", cluster.Cordoned))
	w.must(s.PutStanding(ctx, "s3", cluster.Cordoned))
	w.must(s.PutStanding(ctx, "s3", cluster.Open))
	w.must(s.PutStanding(ctx, "s3", cluster.Open))
	if err := s.PutStanding(ctx, "s1", 9); err == nil {
		t.Fatal("a standing that is none is kept")
	}
	st, err = s.Standing(ctx, "s1")
	w.must(err)
	w.equal(st, cluster.Drained)
	want := map[cluster.SupervisorID]cluster.Standing{"s1": cluster.Drained, "s2": cluster.Cordoned}
	all, err := s.Standings(ctx)
	w.must(err)
	w.equal(all, want)

	w.write(s, "/stormring/standings/s4", []byte(`{"standing":"asleep"}`))
	all, err = s.Standings(ctx)
	w.corrupt(err, "/stormring/standings/s4")
	w.equal(all, want)
}

// Java's URLEncoder, by its documentation.
func TestEscape(t *testing.T) {
	for component, want := range map[string]string{
		"split":      "split",
		"a b":        "a+b",
		"a+b":        "a%2Bb",
		"$spout-1":   "%24spout-1",
		"a.b-c*d_e":  "a.b-c*d_e",
		"~":          "%7E",
		"ä/é":        "%C3%A4%2F%C3%A9",
		"%2A":        "%252A",
		"__acker":    "__acker",
		"*~%2A%7E~*": "*%7E%252A%257E%7E*",
	} {
		if got := escape(component); got != want {
			t.Errorf("escape(%q) is %q, want %q", component, got, want)
		}
	}
	if got := unescape("100%"); got != "100%" {
		t.Errorf("unescape of what nobody has escaped is %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "component")
		if got := unescape(escape(s)); got != s {
			t.Fatalf("%q comes back as %q", s, got)
		}
	})
}

func FuzzOwnRecords(f *testing.F) {
	f.Add([]byte(`{"due_ms":1893452400123,"wait_secs":30}`))
	f.Add([]byte(`{"standing":"drained"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := decodeLife(data); err == nil {
			again, err := encodeLife(l)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := decodeLife(again); err != nil || back != l {
				t.Fatalf("%+v comes back as %+v, %v", l, back, err)
			}
		}
		if st, err := decodeStanding(data); err == nil && st > cluster.Drained {
			t.Fatalf("standing %d", st)
		}
	})
}
