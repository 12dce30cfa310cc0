// Package command is the command line: of Stormring's own binary, and of every
// program whose main function is storm.Main(command.Run, …).
//
// Begin at Run. Each command is one file; a command only parses, checks, calls
// the package that does the work and prints. Results go to stdout, everything
// else to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
//
// A topology's flag is completed by the shell if its value has a method
// Choices() []string.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	name    string // of the program
	program storm.Program
	stdin   io.Reader
	stdout  *output
	stderr  io.Writer
	// misled is set by a request for help on something that does not exist.
	misled error
}

var _ storm.Runner = Run

// Run runs one command line and returns the exit code. Errors are one line on
// stderr.
func Run(ctx context.Context, p storm.Program, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(ctx, filepath.Base(os.Args[0]), p, args, stdin, stdout, stderr)
}

func run(ctx context.Context, name string, p storm.Program, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := &env{name: name, program: p, stdin: stdin, stdout: &output{w: stdout}, stderr: stderr}
	root := e.root()
	if args == nil {
		args = []string{} // nil would mean os.Args
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = e.misled
	}
	if e.stdout.err != nil && (err == nil || errors.Is(err, errInterrupted)) {
		err = fmt.Errorf("the result could not be printed: %w", e.stdout.err)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, oneLine(err))
	if errors.Is(err, storm.ErrUsage) {
		return exitUsage
	}
	return exitFailure
}

// oneLine is the message of err without the mark of wrong usage, which the
// exit code tells, and without line breaks.
func oneLine(err error) string {
	text := strings.Replace(err.Error(), storm.ErrUsage.Error()+": ", "", 1)
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// usagef makes an error that exits with the code for wrong usage.
func usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %w", storm.ErrUsage, fmt.Errorf(format, args...))
}

// output is stdout. It keeps its first error, so that a full disk is never
// taken for success.
type output struct {
	w   io.Writer
	err error
}

// Write writes, unless a write has failed before.
func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.err = err
	return n, err
}

func (e *env) root() *cobra.Command {
	root := &cobra.Command{
		Use:               e.name,
		Short:             "Run stream-processing topologies, compatible with Apache Storm",
		SilenceUsage:      true,
		SilenceErrors:     true,
		Version:           versionLine(e.name),
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.SetHelpFunc(e.showHelp)
	root.SetHelpCommand(e.help())
	root.AddCommand(e.local(), e.submit(), e.nimbus(), e.supervisor(), e.worker(), e.agent(), e.topologies(), e.bench(), e.demo(), e.demoHost(), e.version(), e.completion())
	root.AddCommand(e.clusterVerbs()...)
	return root
}

// unknownCommand says that cmd has no command called name.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return usagef("there is no command %q; there are %s", name, strings.Join(names, ", "))
}

// definition finds a topology by name.
func (e *env) definition(name string) (storm.Definition, error) {
	if len(e.program.Topologies) == 0 {
		return storm.Definition{}, usagef("there is no topology %q; this program has none", name)
	}
	names := make([]string, len(e.program.Topologies))
	for i, d := range e.program.Topologies {
		if d.Name == name {
			return d, nil
		}
		names[i] = d.Name
	}
	return storm.Definition{}, usagef("there is no topology %q; there are %s", name, strings.Join(names, ", "))
}

// noArgs refuses arguments as wrong usage.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, but got %q", cmd.Name(), args[0])
	}
	return nil
}
