package storm

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestDefinitionInstance(t *testing.T) {
	d := Definition{Name: "greet", Setup: func(flags *flag.FlagSet) func(Env) (*Instance, error) {
		times := flags.Int("times", 1, "")
		return func(env Env) (*Instance, error) {
			return &Instance{Conf: Config{"times": *times, "args": strings.Join(env.Args, "+")}}, nil
		}
	}}
	in, err := d.Instance(Env{Args: []string{"--times", "3", "a", "b"}})
	if err != nil || in.Conf["times"] != 3 || in.Conf["args"] != "a+b" {
		t.Errorf("instance %+v, %v", in, err)
	}
	_, err = d.Instance(Env{Args: []string{"--tims", "3"}})
	if want := `usage: topology "greet": flag provided but not defined: -tims`; !errors.Is(err, ErrUsage) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
