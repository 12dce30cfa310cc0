package node

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/shard"
)

// TestHaveWithoutTheManifest: a holder that died before it was given the manifest
// tells what it has of the version all the same.
func TestHaveWithoutTheManifest(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	k := r.task("c")
	k.write(rand.New(rand.NewPCG(1, 1)), 100, 100)
	m := k.save(1)
	a := r.nodes["a"]
	ask := func(owner shard.Owner, v shard.Version) (protocol.HaveAnswer, error) {
		return call[protocol.HaveAnswer](r, a, protocol.Have, protocol.VersionRequest{Owner: owner, Version: v})
	}
	want, err := ask(k.owner, m.Version)
	if err != nil || len(want.Spans) == 0 {
		t.Fatalf("%+v, %v", want, err)
	}
	if err := a.store.DeleteManifest(t.Context(), k.owner, m.Version); err != nil {
		t.Fatal(err)
	}
	got, err := ask(k.owner, m.Version)
	if err != nil || !reflect.DeepEqual(got.Spans, want.Spans) {
		t.Errorf("it has %+v, %v, want %+v", got, err, want)
	}
	for what, err := range map[string]error{
		"a version that nobody has":        second(ask(k.owner, m.Version+1)),
		"an owner of which it has nothing": second(ask(shard.Owner{Topology: "top", Component: "nobody", Task: 1}, m.Version)),
	} {
		if codeOf(err) != protocol.CodeNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
