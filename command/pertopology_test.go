package command

import (
	"context"
	"flag"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/stormring/stormring/storm"
)

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return "" }

func (l *list) Set(text string) error {
	*l = append(*l, text)
	return nil
}

// TestMadeAgain: what is noted of a command line makes the same topology again,
// whatever form its flags had.
func TestMadeAgain(t *testing.T) {
	type seen struct {
		n     int
		on    bool
		paths []string
		args  []string
	}
	var got []seen
	d := storm.Definition{Name: "t", Setup: func(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
		var s seen
		flags.IntVar(&s.n, "n", 1, "")
		flags.BoolVar(&s.on, "on", false, "")
		flags.Var((*list)(&s.paths), "path", "")
		return func(env storm.Env) (*storm.Instance, error) {
			s.args = env.Args
			got = append(got, s)
			return &storm.Instance{}, nil
		}
	}}
	for _, tt := range []struct {
		line []string
		want []string
	}{
		{nil, []string{"--"}},
		{[]string{"--n", "3", "--on", "a", "b"}, []string{"-n=3", "-on=true", "--", "a", "b"}},
		{[]string{"--path=x y", "--on=false", "--path", "-z", "--", "--n", "7"}, []string{"-path=x y", "-on=false", "-path=-z", "--", "--n", "7"}},
	} {
		got = nil
		workers := 0
		e := &env{}
		cmd := e.perTopology(d, pflag.NewFlagSet("shared", pflag.ContinueOnError), &workers, func(_ context.Context, m made) error {
			if !slices.Equal(m.args, tt.want) {
				t.Errorf("%q: noted %q, want %q", tt.line, m.args, tt.want)
			}
			if _, err := m.instance(); err != nil {
				return err
			}
			_, err := d.Instance(storm.Env{Args: m.args})
			return err
		})
		cmd.SetArgs(append([]string{}, tt.line...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%q: %v", tt.line, err)
		}
		a, b := got[0], got[1]
		if a.n != b.n || a.on != b.on || !slices.Equal(a.paths, b.paths) || !slices.Equal(a.args, b.args) {
			t.Errorf("%q: made as %+v, then as %+v", tt.line, a, b)
		}
	}
}
