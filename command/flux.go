package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/flux"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/process"
)

// stdinName is what errors call the standard input.
const stdinName = "standard input"

// fluxFlags say what is to be done with a topology in YAML.
type fluxFlags struct {
	clusterFlags
	filter, resources, name     string
	envFilter, inactive, dryRun bool
	local, quiet, debug, asJSON bool
	runFor                      time.Duration
	workers                     int
}

// flux is the command `flux`.
func (v *verbs) flux() *cobra.Command {
	var f fluxFlags
	cmd := verb(&f.clusterFlags, "flux FILE", "Run or submit a topology that a YAML file describes", `Run or submit a topology that a YAML file describes, with the keys of Storm's Flux.
No Java is needed. FILE - is the standard input.

Shell components run in the files of the resources directory, which is sent
along. An example:

  name: words
  spouts:
    - id: words
      command: [python3, words.py]
      outputs: [word]
  bolts:
    - id: count
      command: [python3, count.py]
      parallelism: 2
  streams:
    - {from: words, to: count, grouping: {type: FIELDS, args: [word]}}`)
	cmd.Args = takes(1, 1, "which file?")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.local, "local", false, "run it in this process instead of submitting it")
	flags.DurationVar(&f.runFor, "run-for", 0, "with --local, end the run after `TIME`, such as 30s (0: no limit)")
	flags.StringVar(&f.filter, "filter", "", "replace ${name} by the properties in `FILE`")
	flags.BoolVarP(&f.envFilter, "env-filter", "e", false, "replace ${ENV-NAME} by the environment's NAME")
	flags.StringVarP(&f.resources, "resources", "R", "", "shell components run in the files of `DIR` (default: resources beside FILE)")
	flags.StringVar(&f.name, "name", "", "run under this `NAME` (default: the file's)")
	flags.IntVar(&f.workers, "workers", 0, "run in `N` workers (default: topology.workers, 1)")
	flags.BoolVar(&f.inactive, "inactive", false, "let the spouts be silent until \"activate\"")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the topology, and do nothing")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "with --local, show no progress")
	flags.BoolVar(&f.debug, "debug", false, "with --local, log more")
	flagJSON(cmd, &f.asJSON)
	cmd.Flag("json").Usage = "with --dry-run, print JSON"
	completeNothing(cmd, "run-for", "name", "workers")
	mustComplete(cmd.MarkFlagFilename("filter", "properties"))
	mustComplete(cmd.MarkFlagDirname("resources"))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return v.runFlux(cmd.Context(), args[0], &f)
	}
	return cmd
}

// check refuses flags that make no sense together.
func (f *fluxFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"run-for", "quiet", "debug"} {
		if cmd.Flags().Changed(name) && !f.local {
			return usagef("--%s is only for --local", name)
		}
	}
	switch {
	case f.local && f.inactive:
		return usagef("--inactive is not for --local: nothing would run")
	case f.asJSON && !f.dryRun:
		return usagef("--json is only for --dry-run")
	case f.runFor < 0:
		return usagef("--run-for is %s; it must not be negative", f.runFor)
	case cmd.Flags().Changed("workers") && f.workers < 1:
		return usagef("--workers is %d; it must be at least 1", f.workers)
	}
	return nil
}

// runFlux does with a file what the flags want.
func (v *verbs) runFlux(ctx context.Context, path string, f *fluxFlags) error {
	folder := "."
	if path == "-" {
		path = stdinName
	} else {
		folder = filepath.Dir(path)
	}
	p, err := findResources(folder, f.resources)
	if err != nil {
		return err
	}
	opts := flux.Options{File: path, Read: v.readFile, Components: v.program.Components, Name: f.name}
	opts.Resource = func(name string) ([]byte, error) { return readLimited(filepath.Join(folder, filepath.Clean("/"+name))) }
	if err := f.filters(&opts, v.readFile); err != nil {
		return err
	}
	t, err := flux.Load(opts)
	if err != nil {
		return v.mistakes(path, err)
	}
	return v.perform(ctx, t, p, f)
}

// filters has properties and environment replaced as the flags say.
func (f *fluxFlags) filters(opts *flux.Options, read func(string) ([]byte, error)) error {
	if f.envFilter {
		opts.Env = os.LookupEnv
	}
	if f.filter == "" {
		return nil
	}
	text, err := read(f.filter)
	if err != nil {
		return fmt.Errorf("--filter: %w", err)
	}
	if opts.Properties, err = parseProperties(string(text)); err != nil {
		return fmt.Errorf("--filter: %s: %w", f.filter, err)
	}
	return nil
}

// mistakes tells all that is wrong, a line each; the error is the only one, or
// how many there are.
func (v *verbs) mistakes(path string, err error) error {
	all, ok := errors.AsType[flux.Problems](err)
	if !ok || len(all) == 1 {
		return err
	}
	for _, p := range all {
		v.say("%s", p.Error())
	}
	return fmt.Errorf("%s has %d mistakes", path, len(all))
}

// perform shows, runs or submits a topology.
func (v *verbs) perform(ctx context.Context, t *flux.Topology, p *pack, f *fluxFlags) error {
	for _, w := range t.Warnings {
		v.say("warning: %s", w.Error())
	}
	for _, w := range p.missingScripts(t) {
		v.say("warning: %s", w.Error())
	}
	overrides, err := parseSettings(f.settings)
	if err != nil {
		return err
	}
	if f.workers > 0 {
		overrides[string(storm.ConfTopologyWorkers)] = f.workers
	}
	settings := storm.Config{}
	maps.Copy(settings, t.Conf)
	maps.Copy(settings, overrides)
	if _, err := conf.Defaults().Topology(settings); err != nil {
		return usagef("%w", err)
	}
	switch {
	case f.dryRun:
		return v.showFlux(t, settings, f.asJSON)
	case f.local:
		return v.hostFlux(ctx, t, p, f)
	default:
		return v.sendFlux(ctx, t, settings, p, f)
	}
}

// hostFlux runs a topology in this process.
func (v *verbs) hostFlux(ctx context.Context, t *flux.Topology, p *pack, f *fluxFlags) (err error) {
	shared := localFlags{workers: f.workers, runFor: f.runFor, quiet: f.quiet, debug: f.debug, settings: f.settings, file: f.file}
	base, top, err := shared.layers()
	if err != nil {
		return err
	}
	dir, remove, err := p.complete(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	topology, err := layout.Resolve(t.Description, process.Code(v.program, t.Description, dir))
	if err != nil {
		return err
	}
	return v.runLocal(ctx, local.Options{
		Name: t.Name, Instance: &storm.Instance{Topology: topology, Conf: t.Conf}, Base: base, Conf: top, RunFor: f.runFor,
		Logger: slog.New(slog.DiscardHandler),
	}, &shared)
}

// maxYAMLBytes is more than package flux takes, so that it can say so.
const maxYAMLBytes = 8 << 20

// readFile reads a file, or the standard input.
func (v *verbs) readFile(path string) ([]byte, error) {
	if path == stdinName {
		return io.ReadAll(io.LimitReader(v.stdin, maxYAMLBytes))
	}
	return readLimited(path)
}

func readLimited(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxYAMLBytes))
}
