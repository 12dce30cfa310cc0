package advertising

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func someCounts() Counts {
	c := NewCounts()
	c.Views = map[Window]int64{{"a", firstMillis}: 3, {"b", firstMillis}: 4, {"a", firstMillis + 10_000}: 12}
	c.Late = map[string]int64{"b": 2, "a": 1}
	c.Users = map[string]int64{"u": 9, "t": 1}
	c.Rejected = map[string]int64{Malformed: 5}
	return c
}

const someLines = `{"campaign":"a","window":"2026-01-01T00:00:00Z","views":3}
{"campaign":"b","window":"2026-01-01T00:00:00Z","views":4}
{"campaign":"a","window":"2026-01-01T00:00:10Z","views":12}
{"campaign":"a","late":1}
{"campaign":"b","late":2}
{"user":"t","views":1}
{"user":"u","views":9}
{"rejected":"malformed","lines":5}
`

const someTable = `               WINDOW  CAMPAIGNS  VIEWS  MOST VIEWED  VIEWS
  2026-01-01 00:00:00          2      7            b      4
  2026-01-01 00:00:10          1     12            a     12
19 views in time, 3 late
5 lines rejected: malformed
2 users with 10 views
`

func TestReport(t *testing.T) {
	for _, c := range []struct {
		format         format
		check, partial bool
		want, err      string
	}{
		{formatTable, false, false, someTable, ""},
		{formatJSON, false, true, someLines, ""},
		{formatTable, true, true, someTable, "the run was stopped before its end"},
		{formatJSON, true, false, someLines, "the counts are wrong:\n  views of {a 1767225600000}: 3, not 0\n"},
	} {
		j := newJob(0, 1)
		j.handOver("count-0", someCounts())
		var out strings.Builder
		err := (&options{data: DefaultData(1, 0), check: c.check, format: c.format}).report(j, &out, c.partial)
		if out.String() != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s:\n%s\n%v", c.format, out.String(), err)
		}
	}
}

func TestReportRight(t *testing.T) {
	for format, want := range map[format]string{formatTable: "OK: 500 events, all counts are right\n", formatJSON: "}\n"} {
		o := &options{data: DefaultData(9, 500), check: true, format: format}
		j := newJob(500, 1)
		j.handOver("all", o.data.Expected())
		var out strings.Builder
		if err := o.report(j, &out, false); err != nil || !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: %v, %q", format, err, out.String())
		}
	}
}

func TestReportErrors(t *testing.T) {
	o, j := &options{format: formatTable}, newJob(0, 2)
	j.handOver("count-0", someCounts())
	j.handOver("count-0", someCounts())
	if err := o.report(j, &bytes.Buffer{}, false); err == nil || !strings.Contains(err.Error(), "1 of 2 tasks that count came to an orderly end") {
		t.Errorf("got %v", err)
	}
	j.handOver("count-1", NewCounts())
	for _, o.format = range []format{formatTable, formatJSON} {
		if err := o.report(j, brokenPipe{}, false); !errors.Is(err, os.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestExpected pins numbers; TestExactlyOnce gets them another way.
func TestExpected(t *testing.T) {
	c := Expected(1, 100_000)
	total := int64(0)
	for _, n := range c.Views {
		total += n
	}
	got := []int64{total, sum(c.Late), c.Rejected[Malformed], c.Rejected[UnknownType], c.Rejected[UnknownAd], int64(len(c.Views)), int64(len(c.Users))}
	want := []int64{33236, 54, 45, 41, 20, 200, 0}
	if !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
}

func TestDiff(t *testing.T) {
	got, want := someCounts(), someCounts()
	if diff := got.Diff(want, 5); diff != nil {
		t.Fatalf("%q", diff)
	}
	delete(got.Views, Window{"a", firstMillis})
	got.Users["v"] = 1
	got.Late["a"]++
	want.Rejected[UnknownAd] = 0
	all := []string{
		"views of {a 1767225600000}: 0, not 3",
		"late views of campaign a: 2, not 1",
		"views of user v: 1, not 0",
	}
	if diff := got.Diff(want, 3); strings.Join(diff, "\n") != strings.Join(all, "\n") {
		t.Errorf("%q", diff)
	}
	if diff := got.Diff(want, 1); len(diff) != 2 || diff[0] != all[0] || diff[1] != "and 2 more" {
		t.Errorf("%q", diff)
	}
}

func TestReadCountsErrors(t *testing.T) {
	const header = `{"topology":"x-1"}` + "\n"
	for _, c := range []struct{ a, b, want string }{
		{header, `{"topology":"x-2"}`, `counts-b-0.jsonl has counts of topology "x-2", other files beside it of "x-1"`},
		{header + someLines, "", "counts-b-0.jsonl: the first line does not name the topology"},
		{header + "{}", header, "counts-a-0.jsonl: line 2 counts neither"},
		{header + someLines + `{"campaign":"a","window":"x"}`, header, "counts-a-0.jsonl: line 10:"},
		{header + `{"campaign":"a","late":1`, header, "counts-a-0.jsonl: line 2: unexpected EOF"},
		{header + `{"campaign":"a","window":"1969-12-31T23:59:59Z","views":1}`, header, "line 2: a window begins at 1969-12-31 23:59:59"},
		{header + `{"campaign":"a","window":"9999-12-31T23:59:59-01:00","views":1}`, header, "line 2: a window begins at 9999-12-31"},
		{header + `{"count":1}`, header, `unknown field "count"`},
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "counts-a-0.jsonl"), []byte(c.a), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "counts-b-0.jsonl"), []byte(c.b), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "a-0.123.tmp"), []byte("half of a"), 0o600))
		if _, err := ReadCounts(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := ReadCounts("[" + t.TempDir()); err == nil {
		t.Error("no error for a folder that Glob does not take")
	}
}

func TestOutputErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	p := publisher{dir: file, job: newJob(0, 1)}
	p.prepare(taskContext("count", 0, 1), func(Counts) error { return nil })
	must(t, p.handOver()) // no state came, so there is nothing
	p.begin()
	for range 2 { // and it goes on trying
		if err := p.write(); err == nil || !strings.Contains(err.Error(), "write counts to the folder of --output: mkdir") {
			t.Errorf("got %v", err)
		}
	}
}

func TestLinesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z"\\<é]{1,3}`)
		n := rapid.Int64Range(1, 1<<50)
		c := NewCounts()
		c.Late = rapid.MapOf(name, n).Draw(t, "late")
		c.Users = rapid.MapOf(name, n).Draw(t, "users")
		c.Rejected = rapid.MapOf(name, n).Draw(t, "rejected")
		for campaign, start := range rapid.MapOf(name, rapid.Int64Range(0, maxTime)).Draw(t, "windows") {
			c.Views[Window{campaign, windowStart(start)}] = start + 1
		}
		var b bytes.Buffer
		must(t, writeLines(&b, &header{Topology: "x"}, c))
		got := NewCounts()
		h, err := readLines(&b, got)
		must(t, err)
		if diff := got.Diff(c, 5); diff != nil || h.Topology != "x" {
			t.Fatalf("%q", diff)
		}
	})
}

func FuzzReadLines(f *testing.F) {
	f.Add(`{"topology":"x"}` + "\n" + someLines)
	f.Add(`{"topology":"x"}` + "\n" + `{"campaign":"a","window":"9999-12-31T23:59:59.999Z","views":-1}`)
	f.Fuzz(func(t *testing.T, text string) {
		c := NewCounts()
		h, err := readLines(strings.NewReader(text), c)
		if err != nil {
			return
		}
		var b bytes.Buffer
		must(t, writeLines(&b, &h, c))
		again := NewCounts()
		if h2, err := readLines(&b, again); err != nil || h2 != h {
			t.Fatalf("%+v, %v", h2, err)
		}
		if diff := again.Diff(c, 5); diff != nil {
			t.Errorf("%q", diff)
		}
	})
}
