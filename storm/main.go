package storm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// ErrUsage is wrapped by errors that come from a wrong command line, so that
// the program can say so by its exit code.
var ErrUsage = errors.New("usage")

// Definition is a topology that a program offers by name.
type Definition struct {
	// Name is what the user types; it follows Storm's rule for topology names.
	Name string
	// Summary is one line for lists of topologies.
	Summary string
	// Setup declares the topology's own flags and returns the function that
	// makes an instance once they are parsed.
	Setup func(flags *flag.FlagSet) func(env Env) (*Instance, error)
}

// Instance makes an instance as a command line would: env.Args hold the
// topology's own flags and then its arguments. It serves tests and programs
// that run a topology by themselves. A wrong command line wraps ErrUsage.
func (d Definition) Instance(env Env) (*Instance, error) {
	flags := flag.NewFlagSet(d.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	build := d.Setup(flags)
	if err := flags.Parse(env.Args); err != nil {
		return nil, fmt.Errorf("%w: topology %q: %w", ErrUsage, d.Name, err)
	}
	env.Args = flags.Args()
	return build(env)
}

// Env is what the surroundings give to an instance.
type Env struct {
	// Args are the arguments that are no flags.
	Args  []string
	Stdin io.Reader
}

// Instance is a topology ready to run, with its configuration.
type Instance struct {
	Topology *Topology
	Conf     Config
	// Report, if set, prints the result of a local run when it has ended.
	// partial tells that the run was stopped before all input was processed.
	Report func(w io.Writer, partial bool) error
	// Progress, if set, tells how much of the input has been read, from 0 to 1.
	// It may be called from any goroutine.
	Progress func() float64
}

// Program is what a binary offers: topologies, and components by name.
type Program struct {
	Topologies []Definition
	Components *Registry
}

// Runner runs a program by its command line and returns the exit code. Package
// command has the one that Stormring's own binary uses.
type Runner func(ctx context.Context, p Program, args []string, stdin io.Reader, stdout, stderr io.Writer) int

// Main is the main function of a topology program:
//
//	func main() { storm.Main(command.Run, storm.Program{Topologies: …}) }
//
// It runs until the command is done or SIGINT or SIGTERM has ended it, and
// exits with the command's code. A second signal kills at once.
func Main(run Runner, p Program) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // first, so that the next one has its usual effect
		cancel()
	}()
	os.Exit(run(ctx, p, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
