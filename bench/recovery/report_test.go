package recovery

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/bench"
	sr3 "github.com/stormring/stormring/sr3/recovery"
)

var update = flag.Bool("update", false, "write the golden page anew")

// example is a report with one of everything.
func example() Report {
	result := func(setup string, mib int, mode, taken sr3.Mode, cold bool, seconds float64) Result {
		return Result{
			Setup: setup, MiB: mib, Mode: mode, Taken: taken, Cold: cold, Owners: 1, Date: "2026-11-30", Seconds: seconds,
			Predicted: seconds * 1.1, Floor: 1.2, Bytes: 30 << 20, Stored: 30 << 20,
		}
	}
	r := Report{Machine: bench.Machine{CPU: "A processor", Cores: 2, OS: "linux", Kernel: "6.1", Go: "go1.26"}, Setups: Setups()}
	for _, mib := range []int{8, 32} {
		s := float64(mib) / 8
		r.Results = append(r.Results,
			result("even", mib, sr3.Star, sr3.Star, false, 0.33*s), result("even", mib, sr3.Line, sr3.Line, false, 0.34*s),
			result("even", mib, sr3.Tree, sr3.Tree, false, 0.32*s), result("even", mib, sr3.Auto, sr3.Star, false, 0.4*s),
			result("even", mib, sr3.Auto, sr3.Tree, true, 0.33*s), result("even", mib, Redis, "", false, 0.66*s))
	}
	r.Results = append(r.Results,
		result("shared", 32, sr3.Star, sr3.Star, false, 4.8), result("shared", 32, sr3.Line, sr3.Line, false, 3),
		result("shared", 32, sr3.Tree, sr3.Tree, false, 4.7), result("shared", 32, sr3.Auto, sr3.Star, false, 4.9),
		result("shared", 32, sr3.Auto, sr3.Line, true, 3.1))
	for n := range 3 {
		for _, mode := range []sr3.Mode{sr3.Star, sr3.Line, sr3.Tree} {
			x := result("owners", 32, mode, mode, true, 1.3+float64(n))
			x.Owners = n + 1
			y := result("killed", 64, mode, mode, true, 2.6+float64(n))
			y.Killed = n
			r.Results = append(r.Results, x, y)
		}
	}
	r.Loopback = []Loopback{
		{MiB: 1, Date: "2026-11-30", Seconds: 0.005, Floor: 0.004, First: 0.02, Ready: 0.01, FirstTarget: 0.15},
		{MiB: 128, Date: "2026-11-30", Seconds: 0.36, Floor: 0.1, First: 0.16, Ready: 0.01, Target: 0.35, FirstTarget: 0.15},
	}
	return r
}

// TestRender compares the page with the one in testdata; -update writes that.
func TestRender(t *testing.T) {
	r := example()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var read Report
	if err := json.Unmarshal(body, &read); err != nil {
		t.Fatal(err)
	}
	files, err := Render(Merge(Report{}, read))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "README.md")
	if *update {
		if err := os.WriteFile(golden, files["README.md"], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := files["README.md"]; !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, texts := range map[string][]string{
		"size-even.svg":  {"200 Mbit/s up and down", "floor", "star", "line", "tree", "auto", "redis", ">8<", ">32<"},
		"owners.svg":     {"owners that recover at once", "floor", "star", "line", "tree"},
		"killed.svg":     {"holders lost on the way", "floor", "star", "line", "tree"},
		"prediction.svg": {"predicted, s", "measured, s", "equal", "star", "line", "tree"},
	} {
		for _, text := range texts {
			if !strings.Contains(string(files[name]), text) {
				t.Errorf("%s has no %q", name, text)
			}
		}
		for d := xml.NewDecoder(bytes.NewReader(files[name])); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if _, err := Render(Report{}); err != nil {
		t.Errorf("nothing measured: %v", err)
	}
}

// TestMerge: newer results replace those of the same thing, and nothing else.
func TestMerge(t *testing.T) {
	old := example()
	newer := Report{
		Machine: bench.Machine{CPU: "Another"}, Setups: []Setup{{Name: "chain"}},
		Results:  []Result{{Setup: "even", MiB: 8, Mode: sr3.Tree, Owners: 1, Seconds: 9}, {Setup: "chain", MiB: 64, Mode: sr3.Star, Owners: 1, Seconds: 7}},
		Loopback: []Loopback{{MiB: 128, Seconds: 0.3}, {MiB: 16}},
	}
	r := Merge(old, newer)
	if len(r.Results) != len(old.Results)+1 || r.Machine.CPU != "Another" {
		t.Errorf("%d results, want %d", len(r.Results), len(old.Results)+1)
	}
	if got := r.Results[2]; got.Setup != "even" || got.MiB != 8 || got.Mode != sr3.Tree || got.Seconds != 9 {
		t.Errorf("third result: %+v", got)
	}
	var sizes []int
	for _, l := range r.Loopback {
		sizes = append(sizes, l.MiB)
	}
	if !slices.Equal(sizes, []int{1, 16, 128}) || r.Loopback[2].Seconds != 0.3 {
		t.Errorf("loopback: %+v", r.Loopback)
	}
}

func TestMedian(t *testing.T) {
	m := medianOf([]Result{{Seconds: 3, Bytes: 30}, {Seconds: 1, Bytes: 10}, {Seconds: 2, Bytes: 20}})
	if m.Seconds != 2 || m.Bytes != 20 || !slices.Equal(m.All, []float64{1, 2, 3}) {
		t.Errorf("%+v", m)
	}
}

// TestFloors: what the narrowest link allows, in each set-up, for 25 MB.
func TestFloors(t *testing.T) {
	want := map[string][2]float64{ // one owner, four
		"even": {1, 1}, "uneven": {0.5, 4. / 3}, "uneven8": {0.5, 2}, "chain": {1, 1}, "scattered": {1, 1},
		"shared": {2, 8}, "crossing": {2, 8}, "gateways": {1, 1}, "owners": {1, 1}, "killed": {1, 1},
	}
	for _, s := range Setups() {
		for i, owners := range []int{1, 4} {
			if got := s.floor(25_000_000, owners); math.Abs(got-want[s.Name][i]) > 1e-9 {
				t.Errorf("%s, %d owners: %.4f s, want %.4f", s.Name, owners, got, want[s.Name][i])
			}
		}
	}
}

func TestVictims(t *testing.T) {
	tr := trial{Setup: Setup{Nodes: 3}}
	for _, c := range []struct {
		sent []string
		n    int
		want []string
	}{
		{nil, 2, []string{"n01", "n02"}},
		{[]string{"n03", "r1"}, 2, []string{"n03", "n01"}},
		{[]string{"n02", "n03"}, 1, []string{"n02"}},
	} {
		if got := tr.victims(c.sent, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%v, %d: got %v, want %v", c.sent, c.n, got, c.want)
		}
	}
}
