package nimbus

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/blobstore"
)

// TestNamelessSubmittersTopologies: they belong to the user that nimbus runs as,
// but nobody is their principal.
func TestNamelessSubmittersTopologies(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		m := r.start("n1")
		m.cfg.User = "storm"
		if err := m.Submit(t.Context(), Submission{Name: "words", ConfJSON: "{}", Topology: words(1)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s, err := m.TopologySummaryByName(t.Context(), "words")
		if err != nil || s.Owner != "storm" {
			t.Errorf("owner %q, %v", s.Owner, err)
		}
		base, _, err := r.admin.Base(t.Context(), s.ID)
		if err != nil || base.Principal != "" {
			t.Errorf("principal %q, %v", base.Principal, err)
		}
		settings, err := m.TopologyConf(t.Context(), s.ID)
		if err != nil || !strings.Contains(settings, `"topology.submitter.user":"storm"`) || !strings.Contains(settings, `"topology.submitter.principal":""`) {
			t.Errorf("conf %s, %v", settings, err)
		}
		for owner, want := range map[string]error{"storm": nil, "": nil, "eve": ErrAuthorization} {
			err := m.UploadCredentials(t.Context(), "words", cluster.Credentials{Values: map[string]string{"a": "b"}, Owner: owner})
			if !errors.Is(err, want) {
				t.Errorf("credentials of %q: %v", owner, err)
			}
		}
	})
}

// TestDependenciesGoWithTheTopology: jars do, unless another needs them;
// artifacts stay.
func TestDependenciesGoWithTheTopology(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		m := r.start("n1", "nimbus.topology.blobstore.deletion.delay.ms=1000")
		for _, key := range []string{"dep-own.jar", "dep-both.jar", "artifact.jar"} {
			if _, err := r.blobs.Put(t.Context(), key, "ann", strings.NewReader(key)); err != nil {
				t.Fatal(err)
			}
		}
		submit := func(name string, jars ...string) {
			t.Helper()
			topology := words(1)
			topology.DependencyJars, topology.DependencyArtifacts = jars, []string{"artifact.jar"}
			if err := m.Submit(t.Context(), Submission{Name: name, ConfJSON: "{}", Topology: topology, Who: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		left := func(name string) []string {
			t.Helper()
			if err := m.Kill(t.Context(), name, cluster.KillOptions{WaitSecs: new(0)}); err != nil {
				t.Fatal(err)
			}
			r.pass(3 * time.Second)
			keys, err := r.blobs.Keys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return slices.DeleteFunc(keys, func(k string) bool { _, code := topologyOf(k); return code })
		}
		submit("one", "dep-own.jar", "dep-both.jar")
		submit("two", "dep-both.jar")
		if got, want := left("one"), []string{"artifact.jar", "dep-both.jar"}; !slices.Equal(got, want) {
			t.Errorf("after the first there are %q, want %q", got, want)
		}
		if got, want := left("two"), []string{"artifact.jar"}; !slices.Equal(got, want) {
			t.Errorf("after the second there are %q, want %q", got, want)
		}
	})
}

// TestBlobCopies counts the nimbuses that hold a blob.
func TestBlobCopies(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		stores := map[string]*blobstore.Store{}
		m1, m2 := r.startWithDisk("n1", stores), r.startWithDisk("n2", stores)
		if _, err := stores["n1:6627"].Put(t.Context(), "k", blobstore.Meta{Replication: 2}, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		if err := m1.AnnounceBlob(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		r.pass(2 * time.Minute)
		for _, m := range []*master{m1, m2} {
			if n, err := m.BlobCopies(t.Context(), "k"); n != 2 || err != nil {
				t.Errorf("%s counts %d copies, %v", m.ID(), n, err)
			}
		}
		alone := r.startWith("n3", NewBlobs(stores["n1:6627"], clock.Real{}), func(*records.Store) Replicator { return nil })
		if n, err := alone.BlobCopies(t.Context(), "k"); n != 1 || err != nil {
			t.Errorf("without others there are %d copies, %v", n, err)
		}
	})
}
