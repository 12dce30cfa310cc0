package records

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
)

func supervisor(secs int64) cluster.SupervisorRecord {
	return cluster.SupervisorRecord{
		TimeSecs: secs, Host: "host1", Ports: []cluster.Port{6700, 6701}, UptimeSecs: 5, Version: "2.8.8",
		Resources: map[string]float64{"memory.mb": 4096}, ThriftPort: 6628,
	}
}

func TestSupervisor(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	_, _, err := s.Supervisor(ctx, "s1")
	w.is(err, coord.ErrNoNode)
	_, all, err := s.SupervisorsW(ctx)
	w.must(err)
	w.must(s.PutSupervisor(ctx, "s1", supervisor(1)))
	w.event(all, coord.EventNodeChildrenChanged)
	got, stat, ch, err := s.SupervisorW(ctx, "s1")
	w.must(err)
	w.equal(got, supervisor(1))
	w.equal(stat.EphemeralOwner, s.Session().ID())
	w.must(s.PutSupervisor(ctx, "s1", supervisor(2)))
	w.event(ch, coord.EventNodeDataChanged)
	got, stat, err = s.Supervisor(ctx, "s1")
	w.must(err)
	w.equal(got, supervisor(2))
	w.equal(stat.Version, int32(1))
	ids, err := s.Supervisors(ctx)
	w.must(err)
	w.equal(ids, []cluster.SupervisorID{"s1"})
}

// A supervisor that has restarted finds the znode of its last session, which
// must not take the new one with it when it expires.
func TestSupervisorReplacesItsLastSession(t *testing.T) {
	w := newWorld(t)
	old, ctx := w.open(), t.Context()
	w.must(old.PutSupervisor(ctx, "s1", supervisor(1)))
	w.server.Cut(old.Session().ID())
	s := w.open()
	w.must(s.PutSupervisor(ctx, "s1", supervisor(2)))
	w.server.Expire(old.Session().ID())
	got, stat, err := s.Supervisor(ctx, "s1")
	w.must(err)
	w.equal(got, supervisor(2))
	w.equal(stat.EphemeralOwner, s.Session().ID())
	w.must(s.Session().Close(ctx))
	ids, err := w.open().Supervisors(ctx)
	w.must(err)
	w.equal(ids, []cluster.SupervisorID{})
}

func TestPutSupervisorNeedsInit(t *testing.T) {
	w := newWorld(t)
	s := New(w.open().Session(), "/elsewhere")
	w.is(s.PutSupervisor(t.Context(), "s1", supervisor(1)), coord.ErrNoNode)
}

// Two that fight over one id are told so, if it does not end by itself.
func TestRacingSupervisors(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		s := w.open()
		wg.Go(func() { errs[i] = s.PutSupervisor(ctx, "s1", supervisor(int64(i))) })
	}
	wg.Wait()
	w.must(errors.Join(errs...))
	s := w.open()
	_, stat, err := s.Supervisor(ctx, "s1")
	w.must(err)
	if stat.EphemeralOwner == 0 {
		t.Fatal("the znode would stay for ever")
	}
}

func TestNimbuses(t *testing.T) {
	w := newWorld(t)
	a, b, ctx := w.open(), w.open(), t.Context()
	one := cluster.NimbusRecord{Host: "n1", Port: 6627, StartedSecs: 1893553445, Leader: true, Version: "2.8.8"}
	two := cluster.NimbusRecord{Host: "n2", Port: 6627, StartedSecs: 1893553446, Version: "2.8.8", TLSPort: 6628}
	w.must(a.PutNimbus(ctx, "n1:6627", one))
	w.must(b.PutNimbus(ctx, "n2:6627:6628", two))
	all, err := a.Nimbuses(ctx)
	w.must(err)
	w.equal(all, map[string]cluster.NimbusRecord{"n1:6627": one, "n2:6627:6628": two})

	w.write(a, "/nimbuses/n0:1", []byte("nonsense"))
	all, err = a.Nimbuses(ctx)
	w.corrupt(err, "/nimbuses/n0:1")
	w.equal(len(all), 2)
	w.must(b.Session().Close(ctx))
	all, err = a.Nimbuses(ctx)
	w.corrupt(err, "/nimbuses/n0:1")
	w.equal(all, map[string]cluster.NimbusRecord{"n1:6627": one})
}

func TestErrors(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	got, err := s.Errors(ctx, id, "split")
	w.must(err)
	w.equal(len(got), 0)
	_, there, err := s.LastError(ctx, id, "split")
	w.must(err)
	w.equal(there, false)
	components, err := s.ErrorComponents(ctx, id)
	w.must(err)
	w.equal(components, []string{})

	record := func(i int) cluster.ErrorRecord {
		return cluster.ErrorRecord{Text: fmt.Sprint("error ", i), TimeSecs: int64(i), Host: "host1", Port: 6700}
	}
	for i := range 25 {
		w.must(s.AddError(ctx, id, "split words/*", record(i)))
		w.must(s.AddError(ctx, id, "count", record(100+i)))
	}
	got, err = s.Errors(ctx, id, "split words/*")
	w.must(err)
	var want []cluster.ErrorRecord
	for i := 24; i >= 15; i-- {
		want = append(want, record(i))
	}
	w.equal(got, want)
	last, there, err := s.LastError(ctx, id, "split words/*")
	w.must(err)
	w.equal(there, true)
	w.equal(last, record(24))
	components, err = s.ErrorComponents(ctx, id)
	w.must(err)
	w.equal(components, []string{"count", "split words/*"})
	children, _, err := s.s.Children(ctx, root+"/errors/"+string(id))
	w.must(err)
	w.equal(children, []string{"count", "count-last-error", "split+words%2F*", "split+words%2F*-last-error"})
	children, _, err = s.s.Children(ctx, root+"/errors/"+string(id)+"/count")
	w.must(err)
	w.equal(len(children), MaxErrors)
	w.equal(children[0], "e0000000015")

	w.write(s, "/errors/"+string(id)+"/count/e0000000020", []byte("nonsense"))
	got, err = s.Errors(ctx, id, "count")
	w.corrupt(err, "/errors/"+string(id)+"/count/e0000000020")
	w.equal(len(got), MaxErrors-1)
	w.equal(got[0], record(124))

	w.must(s.RemoveErrors(ctx, id))
	w.must(s.RemoveErrors(ctx, id))
	components, err = s.ErrorComponents(ctx, id)
	w.must(err)
	w.equal(components, []string{})
}

func TestRacingErrors(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	errs := make([]error, 6)
	var wg sync.WaitGroup
	for i := range errs {
		s := w.open()
		wg.Go(func() {
			for n := range 5 {
				errs[i] = errors.Join(errs[i], s.AddError(ctx, id, "split", cluster.ErrorRecord{Text: fmt.Sprint(i, n)}))
			}
		})
	}
	wg.Wait()
	w.must(errors.Join(errs...))
	got, err := w.open().Errors(ctx, id, "split")
	w.must(err)
	w.equal(len(got), MaxErrors)
}

func TestBlobs(t *testing.T) {
	w := newWorld(t)
	a, b, ctx := w.open(), w.open(), t.Context()
	const key = "words-1-1-stormjar.jar"
	_, err := a.BlobHolders(ctx, key)
	w.is(err, coord.ErrNoNode)
	w.must(a.ReleaseBlob(ctx, key, "n1:6627"))
	w.must(a.RemoveBlob(ctx, key))

	for want := 1; want <= 3; want++ {
		v, err := a.NextBlobVersion(ctx, key)
		w.must(err)
		w.equal(v, want)
	}
	children, _, err := a.s.Children(ctx, root+"/blobstoremaxkeysequencenumber/"+key)
	w.must(err)
	w.equal(children, []string{"3"})

	w.must(a.HoldBlob(ctx, key, "n1:6627", 2))
	w.must(a.HoldBlob(ctx, key, "n1:6627", 3))
	w.must(a.HoldBlob(ctx, key, "n1:6627", 3))
	w.must(b.HoldBlob(ctx, key, "n1:66277:6628", 2))
	holders, err := a.BlobHolders(ctx, key)
	w.must(err)
	w.equal(holders, map[string]int{"n1:6627": 3, "n1:66277:6628": 2})
	children, _, err = a.s.Children(ctx, root+"/blobstore/"+key)
	w.must(err)
	w.equal(children, []string{"n1:6627-3", "n1:66277:6628-2"})
	keys, err := a.BlobKeys(ctx)
	w.must(err)
	w.equal(keys, []string{key})

	w.must(a.ReleaseBlob(ctx, key, "n1:6627"))
	w.must(b.HoldBlob(ctx, key, "n1:66277:6628", 9))
	v, err := a.NextBlobVersion(ctx, key)
	w.must(err)
	w.equal(v, 10)

	w.write(a, "/blobstore/"+key+"/stray", nil)
	holders, err = a.BlobHolders(ctx, key)
	w.corrupt(err, "/blobstore/"+key+"/stray")
	w.equal(holders, map[string]int{"n1:66277:6628": 9})
	v, err = a.NextBlobVersion(ctx, key)
	w.must(err)
	w.equal(v, 11)
	if err := a.HoldBlob(ctx, key, "n1:6627", -1); err == nil {
		t.Fatal("version -1 is held")
	}

	w.must(a.RemoveBlob(ctx, key))
	keys, err = a.BlobKeys(ctx)
	w.must(err)
	w.equal(keys, []string{})
}

// A nimbus that has restarted holds its blobs in its new session.
func TestHoldBlobReplacesItsLastSession(t *testing.T) {
	w := newWorld(t)
	old, ctx := w.open(), t.Context()
	w.must(old.HoldBlob(ctx, "k", "n1:6627", 1))
	w.server.Cut(old.Session().ID())
	s := w.open()
	w.must(s.HoldBlob(ctx, "k", "n1:6627", 1))
	w.server.Expire(old.Session().ID())
	holders, err := s.BlobHolders(ctx, "k")
	w.must(err)
	w.equal(holders, map[string]int{"n1:6627": 1})
}

func TestRacingBlobVersions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	got, errs := make([]int, 4), make([]error, 4)
	var wg sync.WaitGroup
	for i := range got {
		s := w.open()
		wg.Go(func() { got[i], errs[i] = s.NextBlobVersion(ctx, "k") })
	}
	wg.Wait()
	w.must(errors.Join(errs...))
	slices.Sort(got)
	w.equal(got, []int{1, 2, 3, 4})
}

func TestParseHolder(t *testing.T) {
	for name, want := range map[string]struct {
		id      string
		version int
	}{
		"n1:6627-3":       {"n1:6627", 3},
		"a-b:6627:1-0":    {"a-b:6627:1", 0},
		"n1:6627":         {},
		"-3":              {},
		"n1:6627-":        {},
		"n1:6627-x":       {},
		"n1--1":           {"n1-", 1},
		"n1:6627-9999999": {"n1:6627", 9999999},
	} {
		id, version, err := parseHolder(name)
		if id != want.id || version != want.version || (err == nil) != (want.id != "") {
			t.Errorf("parseHolder(%q) is %q, %d, %v, want %q, %d", name, id, version, err, want.id, want.version)
		}
	}
}
