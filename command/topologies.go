package command

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (e *env) topologies() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "topologies",
		Short:             "List the topologies of this program",
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return e.topologiesJSON()
			}
			w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
			for _, d := range e.program.Topologies {
				fmt.Fprintf(w, "%s\t%s\n", d.Name, d.Summary)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

func (e *env) topologiesJSON() error {
	type entry struct {
		Name    string `json:"name"`
		Summary string `json:"summary"`
	}
	list := []entry{}
	for _, d := range e.program.Topologies {
		list = append(list, entry{d.Name, d.Summary})
	}
	return e.printJSON(list)
}

func (e *env) printJSON(v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
