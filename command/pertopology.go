package command

import (
	"context"
	"flag"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stormring/stormring/storm"
)

// made is a topology as the command line wants it.
type made struct {
	instance func() (*storm.Instance, error)
	// args are the topology's own flags and arguments: the definition makes the
	// same instance of them again.
	args []string
}

// perTopology is the command that does something with d. shared are the flags
// that it gets from the command above it, workers the value of one of them.
func (e *env) perTopology(d storm.Definition, shared *pflag.FlagSet, workers *int, do func(context.Context, made) error) *cobra.Command {
	own := flag.NewFlagSet(d.Name, flag.ContinueOnError)
	build := d.Setup(own)
	cmd := &cobra.Command{Use: d.Name, Short: d.Summary, Args: cobra.ArbitraryArgs}
	if err := distinct(own, shared); err != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return fmt.Errorf("topology %q: %w", d.Name, err) }
		return cmd
	}
	cmd.Flags().AddGoFlagSet(own)
	given := record(own, cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("workers") && *workers < 1 {
			return usagef("--workers is %d; it must be at least 1", *workers)
		}
		return do(cmd.Context(), made{
			instance: func() (*storm.Instance, error) { return build(storm.Env{Args: args, Stdin: e.stdin}) },
			args:     append(append(*given, "--"), args...),
		})
	}
	mustComplete(completeChoices(cmd, own))
	return cmd
}

// whichTopology says that a command needs the name of a topology, or that there
// is none of that name.
func (e *env) whichTopology(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("which topology? %s topologies lists them", e.name)
	}
	_, err := e.definition(args[0])
	return err
}

// distinct refuses a flag of a topology that is taken.
func distinct(own *flag.FlagSet, shared *pflag.FlagSet) error {
	var err error
	own.VisitAll(func(f *flag.Flag) {
		taken := shared.Lookup(f.Name) != nil || f.Name == "help" || f.Name == "h"
		if len(f.Name) == 1 {
			taken = taken || shared.ShorthandLookup(f.Name) != nil
		}
		if taken {
			err = fmt.Errorf("its Setup declares flag %q, which every topology has already; give it another name", f.Name)
		}
	})
	return err
}

// record has every flag of own that is set in flags noted, as an argument that
// sets it again.
func record(own *flag.FlagSet, flags *pflag.FlagSet) *[]string {
	given := []string{}
	own.VisitAll(func(f *flag.Flag) {
		p := flags.Lookup(f.Name)
		p.Value = recorder{Value: p.Value, name: f.Name, given: &given}
	})
	return &given
}

// recorder is a flag's value with a memory.
type recorder struct {
	pflag.Value
	name  string
	given *[]string
}

// Set implements pflag.Value.
func (r recorder) Set(text string) error {
	if err := r.Value.Set(text); err != nil {
		return err
	}
	*r.given = append(*r.given, "-"+r.name+"="+text)
	return nil
}
