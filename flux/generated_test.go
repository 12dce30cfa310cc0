package flux

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

// quoted is text that YAML reads back, whatever it is: JSON is YAML.
func quoted(t *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// name is any id, of any letters, but nothing that is replaced or the system's.
func name() *rapid.Generator[string] {
	return rapid.StringMatching(`[a-zA-Zäß語😀 :#'"\\{}*&!%@,.0-9-]{1,8}`)
}

// TestGenerated: a topology that is written down is read as it was, however it
// is named, with what it stands in moved by a file that includes it, and with
// line ends of any system.
func TestGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(name(), 2, 6, rapid.ID).Draw(t, "names")
		want := map[string]cluster.Component{}
		var spouts, bolts, streams strings.Builder
		for i, id := range names {
			c := cluster.Component{
				Kind: cluster.Bolt, Parallelism: rapid.IntRange(1, 9).Draw(t, "parallelism"),
				Object:  cluster.Object{Shell: &cluster.Shell{Command: name().Draw(t, "command"), Script: name().Draw(t, "script")}},
				Streams: map[string]storm.StreamSpec{storm.DefaultStream: {Fields: rapid.SliceOfNDistinct(name(), 1, 3, rapid.ID).Draw(t, "fields")}},
			}
			to := &bolts
			if i == 0 {
				c.Kind, to = cluster.Spout, &spouts
			} else {
				from := names[rapid.IntRange(0, i-1).Draw(t, "from")]
				in := cluster.Input{Component: from, Stream: storm.DefaultStream, Grouping: cluster.Grouping{Kind: cluster.GroupFields, Fields: want[from].Streams[storm.DefaultStream].Fields[:1]}}
				c.Inputs = []cluster.Input{in}
				fmt.Fprintf(&streams, "- {from: %s, to: %s, grouping: {type: FIELDS, args: %s}}\n", quoted(t, from), quoted(t, id), quoted(t, in.Grouping.Fields))
			}
			fmt.Fprintf(to, "- id: %s\n  parallelism: %d\n  command: %s\n  outputs: %s\n", quoted(t, id), c.Parallelism,
				quoted(t, []string{c.Object.Shell.Command, c.Object.Shell.Script}), quoted(t, c.Streams[storm.DefaultStream].Fields))
			want[id] = c
		}
		text := "name: t\nspouts:\n" + spouts.String() + "bolts:\n" + bolts.String() + "streams:\n" + streams.String()
		text = strings.ReplaceAll(text, "\n", rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "line end"))
		f := files{"t.yaml": text}
		if rapid.Bool().Draw(t, "included") {
			f = files{"t.yaml": "includes: [{file: u.yaml}]\n", "u.yaml": text}
		}
		got, err := Load(f.options())
		if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		if len(got.Warnings) > 0 || got.Registered || len(got.Description.Components) != len(want) {
			t.Fatalf("%s\n%+v", text, got)
		}
		ids := make([]string, len(got.Vertices))
		for i, v := range got.Vertices {
			ids[i] = v.ID
		}
		if !slices.Equal(ids, names) {
			t.Errorf("vertices %q, want %q", ids, names)
		}
		for id, w := range want {
			if g := got.Description.Components[id]; shownJSON(g) != shownJSON(w) {
				t.Errorf("%s\ngot %s\nwant %s", text, shownJSON(g), shownJSON(w))
			}
		}
	})
}

// TestPlaces: a mistake is found where it stands, whatever is replaced before
// it in its line.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-zé語]{0,12}`).Draw(t, "value")
		before := rapid.IntRange(0, 3).Draw(t, "before")
		lines := rapid.IntRange(0, 5).Draw(t, "lines")
		prefix := "- {id: \"s" + strings.Repeat("${v}", before) + "\", "
		text := "name: t\n" + strings.Repeat("# é ${v}\n", lines) + "spouts:\n" + prefix + "command: [a], xyzzy: 1}\n"
		o := files{"t.yaml": text}.options()
		o.Properties = map[string]string{"v": value}
		_, err := Load(o)
		want := fmt.Sprintf("t.yaml:%d:%d: spouts[0].xyzzy: is no key of a spout;", 3+lines, len([]rune(prefix))+len("command: [a], ")+1)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%s\ngot  %v\nwant %s", text, err, want)
		}
	})
}
