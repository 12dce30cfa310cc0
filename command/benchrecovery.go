package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/bench/recovery"
)

// roleCommand is the hidden command that a process of the lab runs.
const roleCommand = "role"

type recoveryFlags struct {
	opts   recovery.Options
	out    string
	render bool
	quiet  bool
	log    string
}

// benchRecovery is the command `bench recovery`.
func (e *env) benchRecovery() *cobra.Command {
	f := recoveryFlags{opts: recovery.Options{Runs: 3}, out: filepath.Join("docs", "results")}
	cmd := &cobra.Command{
		Use:   "recovery [SETUP…]",
		Short: "Measure how state comes back over links of given rates",
		Long: `Measure how state comes back: star, line, tree and auto over links of given rates,
beside what the links allow and beside one Redis server. Each ring node is a process
in a network namespace of its own, so this wants root, iproute2 and redis-server;
scripts/recovery-bench sees to all of that. Set-ups, all by default:

` + setupList() + `
Figures are merged into recovery.json, from which README.md and the plots beside it
are made.`,
		Example: "  stormring bench recovery even uneven --runs 1 --out /tmp/results",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return setupNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.opts.Setups = args
			return e.runBenchRecovery(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.opts.Full, "full", false, "measure states of up to a GiB too")
	flags.IntVar(&f.opts.Runs, "runs", f.opts.Runs, "run everything `N` times and keep the medians")
	flags.StringVar(&f.out, "out", f.out, "the `DIR` of recovery.json, README.md and plots")
	flags.StringVar(&f.opts.Dir, "dir", "", "the `DIR` that nodes store in meanwhile (default: the system's for temporary files)")
	flags.StringVar(&f.log, "log", "", "the `FILE` that nodes and workers log to")
	flags.BoolVar(&f.render, "render", false, "measure nothing: make README.md and plots of recovery.json")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	completeNothing(cmd, "runs")
	cmd.AddCommand(e.benchRecoveryRole())
	return cmd
}

// benchRecoveryRole is what a process of the lab runs.
func (e *env) benchRecoveryRole() *cobra.Command {
	return &cobra.Command{
		Use: roleCommand, Short: "Be a process of the lab; bench recovery starts this", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
			return recovery.Serve(cmd.Context(), os.Stdin, os.Stdout, log)
		},
	}
}

// roleLine is how this program is started as a process of the lab.
func roleLine(self string) []string { return []string{self, "bench", "recovery", roleCommand} }

func setupNames() []string {
	var names []string
	for _, s := range recovery.Setups() {
		names = append(names, s.Name)
	}
	return append(names, recovery.LoopbackName)
}

func setupList() string {
	var b strings.Builder
	for _, s := range recovery.Setups() {
		fmt.Fprintf(&b, "  %-10s %s\n", s.Name, s.Title)
	}
	fmt.Fprintf(&b, "  %-10s no links: star and the first read on demand, beside plain TCP\n", recovery.LoopbackName)
	return b.String()
}

func (e *env) runBenchRecovery(ctx context.Context, f recoveryFlags) error {
	for _, name := range f.opts.Setups {
		if names := setupNames(); !slices.Contains(names, name) {
			return usagef("there is no set-up %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	if f.opts.Runs < 1 {
		return usagef("--runs is %d; it must be at least 1", f.opts.Runs)
	}
	path := filepath.Join(f.out, "recovery.json")
	report, err := readResults[recovery.Report](path)
	if err != nil {
		return err
	}
	var failed error
	if !f.render {
		var fresh recovery.Report
		if fresh, failed = e.measureRecoveries(ctx, f); failed != nil && len(fresh.Results)+len(fresh.Loopback) == 0 {
			return failed
		}
		report = recovery.Merge(report, fresh)
	}
	body, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	files, err := recovery.Render(report)
	if err != nil {
		return err
	}
	files["recovery.json"] = append(body, '\n')
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(f.out, name), content, 0o644); err != nil { //nolint:gosec // results are for everybody
			return err
		}
	}
	if failed == nil {
		fmt.Fprint(e.stdout, string(files["README.md"]))
	}
	return cmp.Or(failed, e.stdout.err)
}

// measureRecoveries measures, and shows how it goes.
func (e *env) measureRecoveries(ctx context.Context, f recoveryFlags) (recovery.Report, error) {
	self, err := os.Executable()
	if err != nil {
		return recovery.Report{}, fmt.Errorf("find this program, to start its processes: %w", err)
	}
	f.opts.Command = roleLine(self)
	if f.log != "" {
		if f.opts.Log, err = os.Create(f.log); err != nil {
			return recovery.Report{}, err
		}
		defer f.opts.Log.Close()
	}
	screen := newScreen(e.stderr, f.quiet)
	f.opts.Say = screen.put
	defer screen.clear()
	report, err := recovery.Run(ctx, f.opts)
	if err != nil && ctx.Err() != nil {
		screen.clear()
		fmt.Fprintf(e.stderr, "interrupted; %d results were finished and are kept\n", len(report.Results)+len(report.Loopback))
		err = errInterrupted
	}
	return report, err
}

// readResults reads what was measured earlier, if anything was.
func readResults[T any](path string) (r T, err error) {
	body, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
