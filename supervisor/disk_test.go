package supervisor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/supervisor/localizer"
	"github.com/stormring/stormring/supervisor/slot"
)

var _ Localizer = (*localizer.Localizer)(nil)

func sampleSlot() slotFile {
	a := slot.Assignment{
		Topology: words, Executors: []cluster.Executor{{First: 1, Last: 2}}, Timeout: time.Minute,
		Need: cluster.Resources{MemoryMB: 128.5, CPU: 10, Generic: map[string]float64{"gpu": 1}},
	}
	return slotFile{
		Format: slotFormat, Dir: "/d", Heard: true,
		Record: slot.Record{Last: 7, Want: &a, Failures: 2, Worker: &slot.Worker{Launch: 6, Blobs: 5, Assignment: a, PID: 4711, Launched: time.Unix(7, 5).UTC()}},
	}
}

func TestSlotsOnDisk(t *testing.T) {
	dir := t.TempDir()
	want := sampleSlot()
	if err := want.save(slotPath(dir, 6700)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"6701.json": "{", "6702.json": `{"format":9}`, "06703.json": "x", "6704.json.new": "x", "6705.json": `{"format":1,"record":{"Last":1,"Worker":{"Launch":2}}}`,
	} {
		if err := os.WriteFile(filepath.Join(slotsDir(dir), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := loadSlots(dir)
	if !reflect.DeepEqual(got, map[cluster.Port]slotFile{6700: want}) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, text := range []string{
		"slot 6701 cannot be read", "slot 6702 cannot be read", "it has format 9, this release reads 1",
		"slot 6705 cannot be read", "its worker is launch 2 on blobs 0, but the last number is 1",
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q in it", err, text)
		}
	}
	if _, err := os.Stat(slotPath(dir, 6701) + ".bad"); err != nil {
		t.Errorf("what cannot be read is not put aside: %v", err)
	}
	if again, err := loadSlots(dir); err != nil || len(again) != 1 {
		t.Errorf("the second time: %v, %v", again, err)
	}
}

func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	id, err := identity(dir, "a/b")
	if err != nil || !strings.HasSuffix(string(id), "-a_b") || len(id) != 36+4 {
		t.Fatalf("%q, %v", id, err)
	}
	if again, err := identity(dir, "other"); again != id || err != nil {
		t.Errorf("%q, %v; was %q", again, err, id)
	}
	if err := os.WriteFile(filepath.Join(supervisorDir(dir), "id"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := identity(dir, "h"); err == nil || !strings.Contains(err.Error(), "has no id in it; remove it") {
		t.Errorf("error %v", err)
	}
}

func FuzzSlotFile(f *testing.F) {
	text, err := json.Marshal(sampleSlot())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decodeSlot(text)
		if err != nil {
			return
		}
		// What is accepted can be taken over and kept.
		m := slot.New(slot.DefaultConfig())
		m.Step(time.Unix(9, 0), slot.Adopt{Record: got.Record, Alive: true})
		if err := got.save(filepath.Join(t.TempDir(), "slot")); err != nil {
			t.Error(err)
		}
	})
}

func sampleKnown(tb testing.TB) []byte {
	tb.Helper()
	x := &topology{placed: true, based: true, version: 3, base: cluster.Base{Name: "words", Status: cluster.StatusInactive}, log: cluster.LogConfig{"ROOT": {Action: cluster.LogLevelUpdate, Target: "DEBUG"}}}
	x.assignment.Assignment = cluster.Assignment{{Executor: cluster.Executor{First: 1, Last: 2}, Slot: cluster.Slot{Supervisor: "s", Port: 6700}, StartSecs: 7}}
	r, ok, err := x.known()
	if !ok || err != nil {
		tb.Fatal(ok, err)
	}
	text, err := json.Marshal(known{Format: knownFormat, Topologies: map[cluster.TopologyID]knownRecords{words: r}})
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func TestKnown(t *testing.T) {
	_, got, err := decodeKnown(sampleKnown(t))
	if err != nil {
		t.Fatal(err)
	}
	o, ok := got[words].orders()
	want := cluster.Orders{
		Status: cluster.StatusInactive, Version: 3, Log: cluster.LogConfig{"ROOT": {Action: cluster.LogLevelUpdate, Target: "DEBUG"}},
		Placement: []cluster.Place{{Executor: cluster.Executor{First: 1, Last: 2}, Slot: cluster.Slot{Supervisor: "s", Port: 6700}, Host: "s"}},
	}
	if !ok || !reflect.DeepEqual(o, want) {
		t.Errorf("orders %+v, want %+v", o, want)
	}
	for text, want := range map[string]string{
		"": "unexpected end", `{"format":2}`: "it has format 2, this release reads 1", `{"format":1,"topologies":{"x":{}}}`: "topology x: ",
	} {
		if _, _, err := decodeKnown([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

func FuzzKnown(f *testing.F) {
	f.Add(sampleKnown(f))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_, got, err := decodeKnown(text)
		if err != nil {
			return
		}
		for _, x := range got {
			x.orders()
			x.here("s")
		}
	})
}
