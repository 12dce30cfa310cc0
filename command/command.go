// Package command is the command line: of Stormring's own binary, and of every
// program whose main function is storm.Main(command.Run, …).
//
// Begin at Run. Each command is one file; a command only parses, checks, calls
// the package that does the work and prints. Results go to stdout, everything
// else to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/storm"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// errInterrupted ends a command that was interrupted and has said so.
var errInterrupted = errors.New("interrupted")

// env is what all commands share.
type env struct {
	program storm.Program
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
}

var _ storm.Runner = Run

// Run runs one command line and returns the exit code.
func Run(ctx context.Context, p storm.Program, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := &env{program: p, stdin: stdin, stdout: stdout, stderr: stderr}
	root := e.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, storm.ErrUsage):
		fmt.Fprintf(stderr, "stormring: %s\n", strings.TrimPrefix(err.Error(), storm.ErrUsage.Error()+": "))
		return exitUsage
	default:
		fmt.Fprintf(stderr, "stormring: %v\n", err)
		return exitFailure
	}
}

// usagef makes an error that exits with the code for wrong usage.
func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %w", storm.ErrUsage, fmt.Errorf(format, args...))
}

func (e *env) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "stormring",
		Short:         "Run stream-processing topologies, compatible with Apache Storm",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; stormring --help lists the commands", args[0])
			}
			return cmd.Help()
		},
	}
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(e.local(), e.topologies(), e.version(), e.bench())
	return root
}

// definition finds a topology by name.
func (e *env) definition(name string) (storm.Definition, error) {
	names := make([]string, len(e.program.Topologies))
	for i, d := range e.program.Topologies {
		if d.Name == name {
			return d, nil
		}
		names[i] = d.Name
	}
	return storm.Definition{}, usagef("there is no topology %q; there are %s", name, strings.Join(names, ", "))
}
