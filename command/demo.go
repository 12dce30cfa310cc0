package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/stormring/stormring/demo"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/statefulwordcount"
)

// demoHost is the hidden command that is one host of a demonstration.
const demoHost = "demo-host"

// quickState is the state of --quick.
const quickState = 32 << 20

// demoFlags are those of `demo`.
type demoFlags struct {
	hosts       int
	state       string
	modes       []string
	input, data string
	quick, json bool
}

// demo is the command `demo`.
func (e *env) demo() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Kill workers and hosts on this machine, and see their state come back",
		Long: `Show how state comes back. A cluster of processes runs on this machine, without
any server: it counts the words of a text as state on the ring. The worker that
has the state, its host and another host are killed with SIGKILL while it counts;
so for each way of recovery in turn. The table says how long each step took; in
the end all counts are compared with those that this process has made by itself.
Exit code 1 if one is wrong.`,
		Example: "  stormring demo\n  stormring demo --quick --json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return e.runDemo(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.hosts, "hosts", demo.DefaultHosts, "`N` hosts")
	flags.StringVar(&f.state, "state", "256MiB", "`SIZE` of the state when the first worker is killed, in KiB, MiB or GiB")
	flags.StringSliceVar(&f.modes, "modes", demo.DefaultModes(), "recover by each of `LIST` in turn: star, line, tree, auto")
	flags.StringVar(&f.input, "input", "", "count the words of the files in `DIR` (default: the sources of Go if they are here, else a text that is built in)")
	flags.StringVar(&f.data, "data", "", "keep logs, text and counts in `DIR`, a new folder (default: nothing outlasts the run)")
	flags.BoolVar(&f.quick, "quick", false, "a state of 32 MiB, in half a minute")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
	completeNothing(cmd, "hosts", "state")
	mustComplete(cmd.MarkFlagDirname("input"))
	mustComplete(cmd.MarkFlagDirname("data"))
	return cmd
}

// demoHost is the command that `demo` starts; people do not.
func (e *env) demoHost() *cobra.Command {
	return &cobra.Command{
		Use: demoHost, Short: "Be a host of a demonstration; stormring demo starts this", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo.RunHost(cmd.Context(), e.stdin, e.stdout) },
	}
}

func (e *env) runDemo(cmd *cobra.Command, f *demoFlags) error {
	if _, err := e.definition(statefulwordcount.Name); err != nil {
		return err // workers are this program
	}
	state, err := parseSize(f.state)
	if err != nil {
		return usagef("--state is %q; %w", f.state, err)
	}
	if f.quick && !cmd.Flags().Changed("state") {
		state = quickState
	}
	for _, m := range f.modes {
		if _, err := conf.Defaults().With("--modes", map[string]any{string(storm.ConfTopologySr3Recovery): m}); err != nil {
			return usagef("%w", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program's own file: %w", err)
	}
	screen, _ := e.stderr.(*os.File)
	result, err := demo.Run(cmd.Context(), demo.Options{
		Hosts: f.hosts, StateBytes: state, Modes: f.modes, Input: f.input, Dir: f.data,
		Host: []string{self, demoHost}, Version: readVersion().Version,
		Timeline: e.stderr, Live: screen != nil && term.IsTerminal(int(screen.Fd())) && os.Getenv("TERM") != "dumb",
	})
	if err != nil && !errors.Is(err, demo.ErrWrong) {
		if cmd.Context().Err() != nil {
			fmt.Fprintln(e.stderr, "interrupted; all processes are ended")
			return errInterrupted
		}
		return err
	}
	return cmp.Or(e.showDemo(result, f.json), err)
}

// showDemo prints what a demonstration has shown.
func (e *env) showDemo(r demo.Result, asJSON bool) error {
	if !asJSON {
		return r.Text(e.stdout)
	}
	return e.printJSON(r)
}

// parseSize is a number of bytes, such as 256MiB.
func parseSize(text string) (int64, error) {
	for unit, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		digits, ok := strings.CutSuffix(text, unit)
		if n, err := strconv.ParseInt(digits, 10, 32); ok && err == nil && n > 0 {
			return n * bytes, nil
		}
	}
	return 0, errors.New("write it as a number and KiB, MiB or GiB, such as 256MiB")
}
