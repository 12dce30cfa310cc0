package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

const (
	helpWidth    = 100 // columns where stdout is no terminal
	helpMinWidth = 60  // no narrower than that, or it becomes unreadable
)

// isLocal tells whether cmd is the command `local`, whose subcommands are
// topologies.
func isLocal(cmd *cobra.Command) bool {
	return cmd != nil && cmd.HasParent() && !cmd.Parent().HasParent() && cmd.Name() == localName
}

// help is the command `help`.
func (e *env) help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND…]",
		Short: "Explain a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []cobra.Completion
			for _, c := range about.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || about == nil {
				about, rest = cmd.Root(), args
			}
			if len(rest) > 0 {
				return e.unknown(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// unknown says that cmd knows nothing called name.
func (e *env) unknown(cmd *cobra.Command, name string) error {
	switch {
	case isLocal(cmd):
		_, err := e.definition(name)
		return err
	case cmd.HasAvailableSubCommands():
		return unknownCommand(cmd, name)
	default:
		return usagef("%s has no command %q", cmd.Name(), name)
	}
}

// showHelp prints what --help prints.
func (e *env) showHelp(cmd *cobra.Command, _ []string) {
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasAvailableSubCommands() {
		e.misled = e.unknown(cmd, args[0])
		return
	}
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	fmt.Fprintf(e.stdout, "%s\n\nUsage:\n", strings.TrimSpace(about))
	if cmd.HasAvailableSubCommands() && !isLocal(cmd) {
		fmt.Fprintf(e.stdout, "  %s COMMAND\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(e.stdout, "  %s\n", cmd.UseLine())
	}
	listCommands(e.stdout, cmd)
	width := e.helpWidth()
	own, shared := "Flags:", ""
	if isLocal(cmd.Parent()) {
		own, shared = "Flags of "+cmd.Name()+":", "Flags of every topology:"
	} else if isLocal(cmd) {
		own = "Flags of every topology:"
	}
	listFlags(e.stdout, own, cmd.LocalFlags(), width)
	listFlags(e.stdout, shared, cmd.InheritedFlags(), width)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(e.stdout, "\n%s\n", more(cmd))
	}
}

func more(cmd *cobra.Command) string {
	if isLocal(cmd) {
		return fmt.Sprintf("Each topology has flags of its own: %s TOPOLOGY --help lists them.", cmd.CommandPath())
	}
	return fmt.Sprintf("%s COMMAND --help tells more about a command.", cmd.CommandPath())
}

func listCommands(w io.Writer, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	heading := "Commands:"
	if isLocal(cmd) {
		heading = "Topologies:"
	}
	fmt.Fprintf(w, "\n%s\n", heading)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(table, "  %s\t%s\n", c.Name(), c.Short)
		}
	}
	_ = table.Flush() // w keeps its error
}

func listFlags(w io.Writer, heading string, flags *pflag.FlagSet, width int) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s\n%s", heading, flags.FlagUsagesWrapped(width))
	}
}

// helpWidth is how wide help may be.
func (e *env) helpWidth() int {
	if f, ok := e.stdout.w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return max(helpMinWidth, width)
		}
	}
	return helpWidth
}
