package command

import (
	"flag"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completion is the command `completion`.
func (e *env) completion() *cobra.Command {
	scripts := map[string]func(*cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(e.stdout, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(e.stdout) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(e.stdout, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(e.stdout) },
	}
	shells := slices.Sorted(maps.Keys(scripts))
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes this program's command line in a shell",
		Long: "Print a script that completes this program's command line in " + strings.Join(shells, ", ") +
			".\n\nFor one session of bash:  source <(" + e.name + " completion bash)",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return shells, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("for which shell? there are %s", strings.Join(shells, ", "))
			}
			if len(args) > 1 {
				return usagef("%s takes one argument, but got %q too", cmd.Name(), args[1])
			}
			script := scripts[args[0]]
			if script == nil {
				return usagef("there is no completion for shell %q; there is for %s", args[0], strings.Join(shells, ", "))
			}
			return script(cmd.Root())
		},
	}
}

// choices is implemented by the values of flags that can only be a few things.
type choices interface{ Choices() []string }

// completeChoices has the shell complete the flags of own that are choices.
func completeChoices(cmd *cobra.Command, own *flag.FlagSet) error {
	var err error
	own.VisitAll(func(f *flag.Flag) {
		if c, ok := f.Value.(choices); ok && err == nil {
			err = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(c.Choices(), cobra.ShellCompDirectiveNoFileComp))
		}
	})
	return err
}

// completeNothing keeps the shell from offering files for flags that are none.
func completeNothing(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		mustComplete(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// mustComplete checks what only fails for a flag that does not exist.
func mustComplete(err error) {
	if err != nil {
		panic(err)
	}
}
