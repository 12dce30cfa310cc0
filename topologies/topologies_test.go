package topologies

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

func TestAll(t *testing.T) {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
		if d.Summary == "" || strings.ContainsAny(d.Summary, "\n") || strings.HasSuffix(d.Summary, ".") {
			t.Errorf("%s: summary %q", d.Name, d.Summary)
		}
		flags := flag.NewFlagSet(d.Name, flag.ContinueOnError)
		build := d.Setup(flags)
		flags.VisitAll(func(f *flag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: flag --%s has no usage", d.Name, f.Name)
			}
		})
		if d.Name == "wordcount" {
			flags.Set("input", "-") // not all of Go's source
		}
		in, err := build(storm.Env{Stdin: strings.NewReader("")})
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		if in.Topology == nil || in.Report == nil || len(in.Topology.Warnings) > 0 {
			t.Errorf("%s: %+v", d.Name, in)
		}
		// Nothing has run; a report must cope, if only with an error.
		_ = in.Report(io.Discard, true)
	}
	want := []string{"advertising", "constidnull", "constnull", "exclamation", "filewordcount", "polyglot", "pythonwordcount", "rollingtopwords", "selfcheck", "statefulwordcount", "statehold", "wordcount"}
	if !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
}
