package flux

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

// files are the files of a test.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	text, ok := f[filepath.ToSlash(path)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// options read t.yaml of f.
func (f files) options() Options {
	return Options{File: "t.yaml", Read: f.read, Components: components()}
}

// components are those of a program.
func components() *storm.Registry {
	r := storm.NewRegistry()
	r.Spout("lines", func(args []storm.Value) (storm.Spout, error) { return &lines{args: args}, nil })
	r.BasicBolt("pick", func(args []storm.Value) (storm.BasicBolt, error) {
		if len(args) == 0 {
			return nil, errNothing
		}
		return &pick{}, nil
	})
	return r
}

type lines struct {
	nothing
	args []storm.Value
}

func (l *lines) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("line")
	d.DeclareDirectStream("back", "n")
}

func (l *lines) ComponentConfiguration() storm.Config {
	return storm.Config{"args": storm.List(l.args...).String()}
}

type pick struct{ storm.BaseBasicBolt }

func (pick) Execute(storm.Tuple, *storm.BasicOutputCollector) error { return nil }

type testError string

func (e testError) Error() string { return string(e) }

const errNothing = testError("nothing to pick")

// all are the lines that a Load complains of: mistakes, or else warnings with
// "warning: " before them.
func all(t *Topology, err error) string {
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, w := range t.Warnings {
		lines = append(lines, "warning: "+w.Error())
	}
	return strings.Join(lines, "\n")
}

// spout is what every topology needs.
const spout = "name: t\nspouts:\n- {id: s, command: [a], outputs: [w, n]}\n"

func TestMistakes(t *testing.T) {
	for _, tt := range cases() {
		t.Run(tt.name, func(t *testing.T) {
			f := files{"t.yaml": tt.text}
			o := f.options()
			if tt.with != nil {
				tt.with(&o, f)
			}
			got := all(Load(o))
			t.Logf("\n%s", got)
			if want := strings.TrimPrefix(tt.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
