package compare

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stormring/stormring/bench"
)

func sample() Report {
	r := Report{
		Machine:  bench.Machine{CPU: "Abacus", Cores: 2, OS: "linux", Kernel: "6.1", Go: "go1.26"},
		Versions: Versions{Storm: "2.8.3", Stormring: "devel", Java: "17", Python: "3.11", Redis: "7.0", ZooKeeper: "3.8.0"},
		Settings: Settings{Runs: 2, Seconds: 10, WarmUpSeconds: 5, Workers: 1, Executors: 1, Pending: 2000, Rate: 1000, Keys: 1024, Size: 1024},
	}
	r.add(key{"state", false, Storm}, "2026-01-01", Measures{Death: 4, Whole: 12, Gone: 5, StoreMiB: 300})
	r.add(key{"null", true, InGo}, "2026-01-01", Measures{TuplesPerSec: 5e6, First: 1})
	r.add(key{"null", true, SameJar}, "2026-01-01", Measures{TuplesPerSec: 300e3, First: 5, Death: 3, Gone: 3})
	r.add(key{"null", true, Storm}, "2026-01-01", Measures{TuplesPerSec: 200e3, Cores: 1.5, P50Micros: 1050, P99Micros: 2000, First: 15, Death: 2, Gone: 3})
	r.add(key{"null", true, Storm}, "2026-01-01", Measures{TuplesPerSec: 400e3, Cores: 1, First: 17, Death: 2, Gone: 4})
	r.add(key{"null", false, Storm}, "2026-01-01", Measures{TuplesPerSec: 1234567})
	return r
}

func TestAddKeepsOrderAndMedians(t *testing.T) {
	r := sample()
	var keys []string
	for i := range r.Results {
		keys = append(keys, r.Results[i].key().String())
	}
	want := "null, acked on storm|null, acked on stormring, same jar|null, acked on stormring, Go|null, not acked on storm|state on storm"
	if got := strings.Join(keys, "|"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	m := r.Results[0].Measures
	if want := (Measures{TuplesPerSec: 300e3, Cores: 1.25, P50Micros: 1050, P99Micros: 2000, First: 16, Death: 2, Gone: 3.5}); m != want {
		t.Errorf("medians %+v, want %+v", m, want)
	}
	if len(r.Results[0].Runs) != 2 {
		t.Errorf("%d runs", len(r.Results[0].Runs))
	}
}

// TestAllFields holds Measures.all to the struct.
func TestAllFields(t *testing.T) {
	var m Measures
	if got, want := len(m.all()), reflect.TypeFor[Measures]().NumField(); got != want {
		t.Errorf("all has %d fields of %d", got, want)
	}
}

func TestMerge(t *testing.T) {
	older, newer := sample(), Report{Versions: Versions{Storm: "2.8.4"}}
	newer.add(key{"null", true, Storm}, "2026-02-02", Measures{First: 9})
	r := Merge(older, newer)
	if len(r.Results) != 5 || r.Versions.Storm != "2.8.4" || r.Results[0].First != 9 || r.Results[1].First != 5 {
		t.Errorf("%+v", r)
	}
	if len(newer.Results) != 1 {
		t.Error("Merge changed what it was given")
	}
}

func TestJSON(t *testing.T) {
	r := sample()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(r, back) {
		t.Errorf("%v: %+v", err, back)
	}
	if !strings.Contains(string(text), `"tuples_per_sec":300000`) {
		t.Errorf("%s", text)
	}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	if err := Print(&out, sample()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Abacus, 2 cores, linux 6.1. Storm 2.8.3, Java 17, ZooKeeper 3.8.0, Redis 7.0, Python 3.11; Stormring devel, go1.26.\n",
		"      null, acked                storm    300,000   1.25             -            -            -              -\n" +
			"                   stormring, same jar    300,000      -             -            -            -              -\n" +
			"                         stormring, Go  5,000,000      -",
		"  null, not acked                storm  1,234,567      -",
		"  topology  system  fill  death to first value  to whole state  daemons MiB  workers MiB  Redis MiB  to first tuple  kill to gone\n" +
			"     state   storm     -                     4              12            -            -        300               -             5\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestRender(t *testing.T) {
	files, err := Render(sample())
	if err != nil {
		t.Fatal(err)
	}
	page := string(files[PageName])
	for _, want := range []string{
		"| null, acked | storm | 300,000 | 1.25 | - | - | - | - |\n",
		"|  | stormring, same jar | - | 5 | 3 | 3 | - |\n",
		"With the same jar, 1 of these 3 times are longer than Storm's:\n\n- null, acked, death to first tuple: 3 s, Storm 2 s\n",
		"![compare-throughput](compare-throughput.svg)\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in:\n%s", want, page)
		}
	}
	for _, name := range []string{"compare-throughput.svg", "compare-latency.svg", "compare-memory.svg", "compare-submit.svg", "compare-death.svg", "compare-kill.svg"} {
		if !strings.Contains(string(files[name]), "<svg") {
			t.Errorf("%s is no plot", name)
		}
	}
	empty, err := Render(Report{})
	if err != nil || len(empty) != 1 {
		t.Errorf("of nothing: %d files, %v", len(empty), err)
	}
}

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{0: "-", 0.012345: "0.0123", 1.5: "1.5", 99.94: "99.9", 123.6: "124", 54321: "54321"} {
		if got := short(v); got != want {
			t.Errorf("short(%v) is %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "-", 7.4: "7", 999: "999", 1000: "1,000", 12345678: "12,345,678"} {
		if got := whole(v); got != want {
			t.Errorf("whole(%v) is %s, want %s", v, got, want)
		}
	}
}

func TestVersionIn(t *testing.T) {
	for text, want := range map[string]string{
		"openjdk version \"17.0.15\" 2025-04-15\n":               "17.0.15",
		"Python 3.11.7\n":                                        "3.11.7",
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc\n": "7.0.15",
		"Zookeeper version: 3.8.0-${mvn, built":                  "3.8.0-${mvn,",
		"no number":                                              "no number",
	} {
		if got := versionIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
