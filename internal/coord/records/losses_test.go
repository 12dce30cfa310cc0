package records

import (
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

func TestLosses(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	got, err := s.Losses(ctx, id)
	w.must(err)
	w.equal(got, []Loss(nil))
	want := []Loss{
		{Slot: cluster.Slot{Supervisor: "s1", Port: 6700}, StartSecs: 1893553445, Detect: 61 * time.Second, Place: 312 * time.Millisecond},
		{Slot: cluster.Slot{Supervisor: "s2", Port: 6701}, StartSecs: 1893553445, Detect: 31 * time.Second},
	}
	w.must(s.PutLosses(ctx, id, want))
	got, err = s.Losses(ctx, id)
	w.must(err)
	w.equal(got, want)
	data, _, err := s.s.Get(ctx, root+"/stormring/losses/"+string(id))
	w.must(err)
	w.equal(string(data), `[{"supervisor":"s1","port":6700,"start_secs":1893553445,"detect_ms":61000,"place_ms":312},`+
		`{"supervisor":"s2","port":6701,"start_secs":1893553445,"detect_ms":31000,"place_ms":0}]`)
	w.must(s.PutLosses(ctx, id, nil))
	got, err = s.Losses(ctx, id)
	w.must(err)
	w.equal(got, []Loss{})
	w.must(s.RemoveTopologyExtras(ctx, id))
	got, err = s.Losses(ctx, id)
	w.must(err)
	w.equal(got, []Loss(nil))
	w.write(s, "/stormring/losses/"+string(id), []byte(`[{"detect_ms":-1}]`))
	_, err = s.Losses(ctx, id)
	w.corrupt(err, "/stormring/losses/"+string(id))
}

func FuzzDecodeLosses(f *testing.F) {
	f.Add([]byte(`[{"supervisor":"s1","port":6700,"start_secs":1893553445,"detect_ms":61000,"place_ms":312}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		losses, err := decodeLosses(data)
		if err != nil {
			return
		}
		for _, l := range losses {
			if l.Detect < 0 || l.Place < 0 {
				t.Errorf("%+v", l)
			}
		}
		again, err := encodeLosses(losses)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeLosses(again); err != nil || len(back) != len(losses) {
			t.Errorf("%s: %v", again, err)
		}
	})
}
