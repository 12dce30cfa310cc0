package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/client"
)

// getErrors is the command `get-errors`. Scripts read its JSON, which is
// Storm's: the last error of each component that had one.
func (v *verbs) getErrors() *cobra.Command {
	var f clusterFlags
	var asJSON bool
	cmd := verb(&f, "get-errors TOPOLOGY", "Print the errors of a topology's components", `Print the last error of each component of a topology that had one, as a JSON
object like Storm's. With --json it is all errors, with time and place.`)
	cmd.Args = takes(1, 1, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f, 1)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print all errors")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			if asJSON {
				return v.allErrors(ctx, n, args[0])
			}
			return v.lastErrors(ctx, n, args[0])
		})
	}
	return cmd
}

func (v *verbs) lastErrors(ctx context.Context, n leader, name string) error {
	info, err := n.Topology(ctx, name, cluster.OneError)
	if err != nil {
		err = fmt.Errorf("get-errors %s: %w", name, err)
		if errors.Is(err, client.ErrNotAlive) {
			return errors.Join(err, v.printLine(map[string]string{"Failure": "No topologies running with name " + name}))
		}
		return err
	}
	last := map[string]string{}
	for component, list := range info.Errors {
		if len(list) > 0 {
			last[component] = list[0].Text
		}
	}
	return v.printLine(map[string]any{"Topology Name": info.Name, "Comp-Errors": last})
}

// printLine prints JSON in one line.
func (v *verbs) printLine(value any) error {
	enc := json.NewEncoder(v.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

func (v *verbs) allErrors(ctx context.Context, n leader, name string) error {
	info, err := n.Topology(ctx, name, cluster.AllErrors)
	if err != nil {
		return fmt.Errorf("get-errors %s: %w", name, err)
	}
	type entry struct {
		Error    string       `json:"error"`
		TimeSecs int64        `json:"time_secs"`
		Host     string       `json:"host"`
		Port     cluster.Port `json:"port"`
	}
	components := map[string][]entry{}
	for component, list := range info.Errors {
		for _, e := range list {
			components[component] = append(components[component], entry{e.Text, e.TimeSecs, e.Host, e.Port})
		}
	}
	return v.printJSON(map[string]any{"name": info.Name, "id": info.ID, "errors": components})
}
