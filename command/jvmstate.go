package command

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/stormring/stormring/multilang/java"
	"github.com/stormring/stormring/supervisor/jvm"
)

// buildState makes the jar that keeps state on the ring, if it is not there as this
// release has it. Workers run without it, so it is no error that it cannot be made.
func (v *verbs) buildState(ctx context.Context, o jvm.Options, name string) {
	sources := java.Sources()
	if o.StateIsFresh(sources) {
		return
	}
	i, err := jvm.New(jvm.Options{Dir: o.Dir}).Find(name)
	if err == nil {
		err = o.BuildState(ctx, i, sources, os.Getenv)
	}
	switch {
	case errors.Is(err, jvm.ErrNoCompiler):
		v.say("%s", oneLine(err))
	case err != nil:
		v.say("Java topologies get no state on the ring here: %s", oneLine(err))
	default:
		v.say("made %s, with which Java topologies keep state on the ring", o.StatePath())
	}
}

// keptStateOf tells of the jar that keeps state on the ring.
func keptStateOf(o jvm.Options) keptState {
	switch {
	case !o.HasState():
		return keptState{Problem: "no " + jvm.StateJar + "; with a JDK on this host make it by: stormring jvm install VERSION"}
	case !o.StateIsFresh(java.Sources()):
		return keptState{Path: o.StatePath(), Problem: o.StatePath() + " is not of this release of Stormring; make it anew by: stormring jvm install VERSION"}
	}
	return keptState{Path: o.StatePath()}
}

// keptState is whether Java topologies can keep state on the ring.
type keptState struct {
	Path    string `json:"path,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func (k keptState) text() string { return "State on the ring: " + cmp.Or(k.Problem, k.Path) + "\n" }
