package election

import (
	"strings"
	"testing"
)

func TestQueue(t *testing.T) {
	var got []string
	for _, p := range queue([]string{
		"_c_ffff-latch-0000000010",
		"leases",
		"_c_0000-latch-0000000011",
		"_c_latch-1-latch-0000000009",
		"latch-0000000002", // without protection
		"latch-",
		"_c_aaaa-latch-12x",
		"_c_aaaa-latch-99999999999",
		"_c_aaaa-latch--2147483648",
		"_c_bbbb-lock-0000000000",
		"",
	}) {
		got = append(got, p.name)
	}
	const want = "_c_aaaa-latch--2147483648 latch-0000000002 _c_latch-1-latch-0000000009 _c_ffff-latch-0000000010 _c_0000-latch-0000000011"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestParseAddress(t *testing.T) {
	for id, want := range map[string]Address{
		"host:6627":            {"host", 6627, 0},
		"host.example:6627:0":  {"host.example", 6627, 0},
		"10.0.0.1:6627:6628":   {"10.0.0.1", 6627, 6628},
		"host":                 {},
		"":                     {},
		":6627":                {},
		"host:":                {},
		"host:x":               {},
		"host:65536":           {},
		"host:6627:-1":         {},
		"host:6627:6628:false": {},
	} {
		got, err := ParseAddress(id)
		if got != want || (err != nil) != (want == Address{}) {
			t.Errorf("%q: %+v, %v; want %+v", id, got, err, want)
		}
	}
}

// What others write into the queue does no harm and has one order.
func FuzzForeign(f *testing.F) {
	f.Add("_c_00-latch-0000000001", "host:6627:0")
	f.Add("latch--1", "::")
	f.Fuzz(func(t *testing.T, name, id string) {
		q := queue([]string{"x-latch-0000000005", name})
		if len(q) == 2 && (q[0].number > q[1].number) {
			t.Errorf("%+v is out of order", q)
		}
		if p, ok := parsePlace(name); ok && (p.name != name || !strings.Contains(name, latchName)) {
			t.Errorf("%q is taken for %+v", name, p)
		}
		if a, err := ParseAddress(id); err == nil && (a.Host == "" || strings.Contains(a.Host, ":") || a.Port > 65535 || a.TLSPort > 65535) {
			t.Errorf("%q is taken for %+v", id, a)
		}
	})
}
