package nimbus

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/blobstore"
)

// peers fetches from the other stores of the test.
type peers struct {
	*records.Store
	stores map[string]*blobstore.Store
}

func (p peers) Fetch(ctx context.Context, nimbus, key string, w io.Writer) (int64, blobstore.Meta, error) {
	r, m, err := p.stores[nimbus].Get(ctx, key)
	if err != nil {
		return 0, blobstore.Meta{}, err
	}
	_, err = io.Copy(w, r)
	return m.Version, m.Meta, errors.Join(err, r.Close())
}

// startWithDisk runs a nimbus with a blob store of its own, and puts that into
// stores, from which the others fetch.
func (r *rig) startWithDisk(host string, stores map[string]*blobstore.Store) *master {
	r.t.Helper()
	store, err := blobstore.Open(blobstore.Config{Dir: r.t.TempDir(), Clock: clock.Real{}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			r.t.Error(err)
		}
	})
	stores[host+":6627"] = store
	return r.startWith(host, NewBlobs(store, clock.Real{}), func(s *records.Store) Replicator {
		return blobstore.NewReplicator(store, peers{s, stores}, host+":6627")
	})
}

// TestTheOtherHasTheCode runs two nimbuses with a disk each.
func TestTheOtherHasTheCode(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		stores := map[string]*blobstore.Store{}
		m1, m2 := r.startWithDisk("n1", stores), r.startWithDisk("n2", stores)
		a := r.supervisor("a", 6700, 6701)
		location, err := stores["n1:6627"].BeginFileUpload()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(stores["n1:6627"].UploadFileChunk(location, []byte("PK jar")), stores["n1:6627"].FinishFileUpload(location)); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		err = m1.Submit(t.Context(), Submission{Name: "words", JarLocation: location, Topology: words(1), ConfJSON: `{"topology.min.replication.count": 2}`, Who: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if d := time.Since(before); d > time.Second {
			t.Errorf("it took %v until the other had the code", d)
		}
		s, err := m1.TopologySummaryByName(t.Context(), "words")
		if err != nil || s.Replication != 2 {
			t.Fatalf("%+v, %v", s, err)
		}
		for _, key := range blobKeys(s.ID) {
			if !stores["n2:6627"].Exists(key) {
				t.Errorf("the other has no %s", key)
			}
		}
		if err := m1.CheckDelete(t.Context(), string(s.ID)+jarEnd); !errors.Is(err, ErrIllegalState) {
			t.Errorf("error %v", err)
		}
		m1.stop()
		synctest.Wait()
		if err := m2.Rebalance(t.Context(), "words", cluster.RebalanceOptions{WaitSecs: new(0), Workers: new(2)}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second, a.beat)
		if got := show(r.assignment(s.ID)); got != "a:6700=2 a:6701=1" {
			t.Errorf("placed %s", got)
		}
		if err := m2.Kill(t.Context(), "words", cluster.KillOptions{WaitSecs: new(0)}); err != nil {
			t.Fatal(err)
		}
		r.pass(302*time.Second, a.beat)
		if keys := stores["n2:6627"].Keys(""); len(keys) != 0 {
			t.Errorf("left %v", keys)
		}
		if got := r.traces("words"); len(got) != 0 {
			t.Errorf("left %v", got)
		}
		_, err = m2.code(t.Context(), s.ID)
		if !errors.Is(err, ErrNotAlive) || !strings.HasSuffix(err.Error(), "is not alive") {
			t.Errorf("error %v", err)
		}
	})
}
