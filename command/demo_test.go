package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/stormring/stormring/demo"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/statefulwordcount"
)

func TestDemoErrors(t *testing.T) {
	p := storm.Program{Topologies: []storm.Definition{statefulwordcount.Definition()}}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"demo x", 2, `demo takes no arguments, but got "x"`},
		{"demo --state 5", 2, `--state is "5"; write it as a number and KiB, MiB or GiB, such as 256MiB`},
		{"demo --state -5MiB", 2, `--state is "-5MiB"; write it as a number and KiB, MiB or GiB, such as 256MiB`},
		{"demo --state 5KiB", 1, "a state of 5120 bytes is none to see anything with; take 1 MiB or more"},
		{"demo --modes star,round", 2, `--modes: topology.sr3.recovery wants one of star, line, tree, auto, not round`},
		{"demo --hosts 2", 1, "2 hosts; from 4 to 64 are possible, since two are killed"},
		{"demo-host", 1, "a host of a demonstration is started by stormring demo: EOF"},
	} {
		got := cli(t.Context(), p, "", strings.Fields(c.args)...)
		if want := (shown{c.code, "", "stormring: " + c.want + "\n"}); got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	want := shown{2, "", "stormring: there is no topology \"statefulwordcount\"; there are broken, clash, ticking, wordcount\n"}
	if got := cli(t.Context(), samples(), "", "demo"); got != want {
		t.Errorf("got %+v", got)
	}
}

func TestDemoResult(t *testing.T) {
	var out strings.Builder
	e := &env{stdout: &output{w: &out}}
	r := demo.Result{Hosts: 8, Rounds: []demo.Round{{Mode: "line"}}, Proof: demo.Proof{Made: true, Keys: 5, Words: 9}}
	if err := e.showDemo(r, true); err != nil || !strings.Contains(out.String(), "\"mode\": \"line\"") || !strings.Contains(out.String(), "\"keys\": 5,") {
		t.Errorf("%v\n%s", err, &out)
	}
	out.Reset()
	if err := e.showDemo(r, false); err != nil || !strings.HasSuffix(out.String(), "5 keys, all counts right (9 words, counted again by this process)\n") {
		t.Errorf("%v\n%s", err, &out)
	}
	if err := e.showDemo(r, true); err != nil {
		t.Error(err)
	}
	e.stdout.w = full{}
	if err := e.showDemo(r, false); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]int64{"1KiB": 1 << 10, "256MiB": 256 << 20, "3GiB": 3 << 30} {
		if got, err := parseSize(text); got != want || err != nil {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	if _, err := parseSize("0MiB"); err == nil {
		t.Error(errors.New("no error for nothing"))
	}
}
