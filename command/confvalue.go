package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/conf"
)

const whichKey = "which configuration key?"

// localConfValue is the command `localconfvalue`. Scripts read its line, which
// is Storm's.
func (v *verbs) localConfValue() *cobra.Command {
	var f clusterFlags
	var asJSON bool
	cmd := verb(&f, "localconfvalue KEY", "Print a configuration key's value on this machine", "")
	cmd.Args = takes(1, 1, whichKey)
	cmd.ValidArgsFunction = completeKeys
	flagJSON(cmd, &asJSON)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		c, _, err := f.load()
		if err != nil {
			return err
		}
		return v.printConf(args[0], c.Value(args[0]), asJSON)
	}
	return cmd
}

// remoteConfValue is the command `remoteconfvalue`.
func (v *verbs) remoteConfValue() *cobra.Command {
	var f clusterFlags
	var asJSON bool
	cmd := verb(&f, "remoteconfvalue KEY", "Print a configuration key's value at the cluster's nimbus", "")
	cmd.Args = takes(1, 1, whichKey)
	cmd.ValidArgsFunction = completeKeys
	flagJSON(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return v.ask(cmd, &f, func(ctx context.Context, n leader) error {
			text, err := n.NimbusConf(ctx)
			if err != nil {
				return err
			}
			values, err := conf.ParseJSON(text)
			if err != nil {
				return fmt.Errorf("what nimbus says: %w", err)
			}
			return v.printConf(args[0], values[args[0]], asJSON)
		})
	}
	return cmd
}

func (v *verbs) printConf(key string, value any, asJSON bool) error {
	if asJSON {
		return v.printJSON(map[string]any{"key": key, "value": value})
	}
	text, err := confText(value)
	if err != nil {
		return fmt.Errorf("the value of %s: %w", key, err)
	}
	fmt.Fprintf(v.stdout, "%s: %s\n", key, text)
	return nil
}

// confText is a value as Storm's script shows it: text as it is, a list's
// elements with blanks between, null if there is none; a map is JSON.
func confText(value any) (string, error) {
	var list []any
	switch x := value.(type) {
	case string:
		return x, nil
	case []string:
		return strings.Join(x, " "), nil
	case []any:
		list = x
	default:
		text, err := json.Marshal(value)
		return string(text), err
	}
	parts := make([]string, len(list))
	for i, e := range list {
		var err error
		if parts[i], err = confText(e); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, " "), nil
}

// completeKeys offers the keys that are known.
func completeKeys(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var keys []cobra.Completion
	for _, d := range conf.Docs() {
		keys = append(keys, cobra.CompletionWithDesc(d.Key, d.Text))
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}
