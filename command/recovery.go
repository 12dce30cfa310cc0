package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/sr3/overview"
	"github.com/stormring/stormring/sr3/recovery"
)

type stateViewFlags struct {
	ringFlags
	watch, plan bool
	fail        []string
	mode, on    string
	component   string
	task        int32
	taskSet     bool
}

// recovery is the command `recovery`.
func (v *verbs) recovery() *cobra.Command {
	var f stateViewFlags
	cmd := v.ringVerb(&f.ringFlags, "recovery TOPOLOGY", "Show a topology's state: copies, checkpoints, recoveries", `Show, for each task with state, how it is recovered, where its copies are, its
last checkpoint and its last recoveries, predicted against measured.

With --plan, show what has not happened yet: who would send what to whom, and
how long each mode would take, if the hosts in --fail were lost. It fails if
state would be lost. TOPOLOGY is a name or an id.

  stormring recovery wordcount --plan --fail host1,host2`)
	cmd.Args = takes(1, 1, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f.clusterFlags, 1)
	flags := cmd.Flags()
	flags.BoolVarP(&f.watch, "watch", "w", false, "look every second until interrupted; with --json an object a line")
	flags.StringVarP(&f.component, "component", "m", "", "only tasks of `COMPONENT`")
	flags.Int32Var(&f.task, "task", 0, "only task `N`")
	flags.BoolVar(&f.plan, "plan", false, "show recoveries as they would be")
	flags.StringSliceVar(&f.fail, "fail", nil, "plan for the loss of `HOST,…`, which may also be ids of nodes")
	flags.StringVar(&f.mode, "mode", "", "plan for `MODE`: star, line, tree or auto (default: the topology's, and the others beside it)")
	flags.StringVar(&f.on, "on", "", "plan for rebuilding on `HOST` (default: where the task is, or most of its state)")
	completeNothing(cmd, "component", "task", "fail", "on")
	mustComplete(cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]cobra.Completion{
		string(recovery.Star), string(recovery.Line), string(recovery.Tree), string(recovery.Auto),
	}, cobra.ShellCompDirectiveNoFileComp)))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return v.askRing(cmd, &f.ringFlags, func(ctx context.Context, a asked) error {
			id, err := a.topology(ctx, args[0])
			if err == nil {
				err = v.runRecovery(ctx, a, id, &f)
			}
			if err != nil {
				return fmt.Errorf("recovery %s: %w", args[0], err)
			}
			return nil
		})
	}
	return cmd
}

// check refuses flags that do not belong together.
func (f *stateViewFlags) check(cmd *cobra.Command) error {
	f.taskSet = cmd.Flags().Changed("task")
	if !f.plan {
		for _, name := range []string{"fail", "mode", "on"} {
			if cmd.Flags().Changed(name) {
				return usagef("--%s is for --plan", name)
			}
		}
		return nil
	}
	if f.watch {
		return usagef("--plan and --watch do not go together")
	}
	if cmd.Flags().Changed("mode") {
		if _, err := recovery.ParseMode(f.mode); err != nil || f.mode == "" {
			return usagef("--mode is %q; it must be star, line, tree or auto", f.mode)
		}
	}
	return nil
}

// only is the task asked for, nil for all.
func (f *stateViewFlags) only() *int32 {
	if !f.taskSet {
		return nil
	}
	return &f.task
}

func (v *verbs) runRecovery(ctx context.Context, a asked, id cluster.TopologyID, f *stateViewFlags) error {
	switch {
	case f.plan:
		return v.planRecovery(ctx, a, id, f)
	case f.watch:
		return v.watchRecovery(ctx, a, id, f)
	}
	t, err := f.look(ctx, a, id)
	if err != nil {
		return err
	}
	if f.asJSON {
		return v.printJSON(t)
	}
	fmt.Fprint(v.stdout, t.Text())
	return nil
}

// look asks for the state of the topology's tasks.
func (f *stateViewFlags) look(ctx context.Context, a asked, id cluster.TopologyID) (overview.Topology, error) {
	t, err := a.Topology(ctx, string(id))
	if err != nil || f.component == "" && !f.taskSet {
		return t, err
	}
	var names []string
	for i := range t.Components {
		names = append(names, t.Components[i].Name)
	}
	if f.component != "" && !slices.Contains(names, f.component) {
		return t, fmt.Errorf("there is no state of component %q; there is that of %s", f.component, strings.Join(names, ", "))
	}
	t.Only(f.component, f.only())
	if len(t.Components) == 0 {
		return t, fmt.Errorf("there is no state of task %d", f.task)
	}
	return t, nil
}

const watchStateEvery = time.Second

// watchRecovery shows the state until it is interrupted. Nodes that are away for a
// while do not end it.
func (v *verbs) watchRecovery(ctx context.Context, a asked, id cluster.TopologyID, f *stateViewFlags) error {
	size := terminalSize(v.stdout.w)
	first := true
	return poll(ctx, watchStateEvery, func() (bool, error) {
		t, err := f.look(ctx, a, id)
		if err != nil && (first || ctx.Err() != nil) {
			return false, err
		}
		text := fmt.Sprintf("%s\n%s", time.UnixMilli(t.AtMillis).UTC().Format(time.RFC3339), t.Text())
		switch {
		case err != nil && size == nil:
			v.say("%s", oneLine(err))
			return false, nil
		case f.asJSON && err == nil:
			err = v.printLine(t)
		case size != nil:
			if err != nil {
				text = oneLine(err) + "\n"
			}
			width, height := size()
			_, err = fmt.Fprint(v.stdout, frame(text, width, height))
		default:
			if !first {
				text = "\n" + text
			}
			_, err = fmt.Fprint(v.stdout, text)
		}
		first = false
		return false, err
	})
}

// terminalSize tells the columns and lines of a terminal; nil if w is none.
func terminalSize(w any) func() (width, height int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() (int, int) {
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return anyWidth, 24
		}
		return width, height
	}
}

// frame is text that takes the place of all that is on a terminal: what does not fit
// is cut off.
func frame(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if most := max(height-1, 1); len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("… and %d lines more", len(lines)-most+1))
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range lines {
		fmt.Fprintf(&b, "%s\x1b[K\n", cut(line, width))
	}
	b.WriteString("\x1b[J")
	return b.String()
}

func (v *verbs) planRecovery(ctx context.Context, a asked, id cluster.TopologyID, f *stateViewFlags) error {
	params, err := a.params(ctx, id)
	if err != nil {
		return err
	}
	plans, err := a.Plans(ctx, overview.PlanRequest{
		Topology: string(id), Component: f.component, Task: f.only(), Fail: f.fail, On: f.on,
		Mode: recovery.Mode(f.mode), Params: params,
	})
	if err != nil {
		return err
	}
	if len(plans.Tasks) == 0 {
		return errors.New("there is no state of such a task")
	}
	if f.asJSON {
		err = v.printJSON(plans)
	} else {
		_, err = fmt.Fprint(v.stdout, plans.Text())
	}
	if err == nil && plans.LostTasks > 0 {
		err = fmt.Errorf("state of %d of %d tasks would be lost", plans.LostTasks, len(plans.Tasks))
	}
	return err
}

// params are what components set of recovery, as nimbus knows it, or what the
// command line sets instead; without nimbus what is set here.
func (a *asked) params(ctx context.Context, id cluster.TopologyID) (func(component string) recovery.Params, error) {
	if a.leader == nil {
		p := daemon.RecoveryParams(a.conf)
		return func(string) recovery.Params { return p }, nil
	}
	text, err := a.leader.TopologyConf(ctx, id)
	if err != nil {
		return nil, err
	}
	values, err := conf.ParseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("its configuration: %w", err)
	}
	whole, err := a.conf.Topology(values)
	if err == nil {
		whole, err = whole.With("-c", a.set)
	}
	if err != nil {
		return nil, err
	}
	t, err := a.leader.UserTopology(ctx, id)
	if err != nil {
		return nil, err
	}
	own := map[string]recovery.Params{}
	for name, c := range t.Components {
		if c.Conf == "" {
			continue
		}
		values, err := conf.ParseJSON(c.Conf)
		if err != nil {
			return nil, fmt.Errorf("the configuration of %s: %w", name, err)
		}
		c, err := whole.Component(name, values)
		if err != nil {
			return nil, err
		}
		own[name] = daemon.RecoveryParams(c)
	}
	return func(component string) recovery.Params {
		if p, ok := own[component]; ok {
			return p
		}
		return daemon.RecoveryParams(whole)
	}, nil
}
