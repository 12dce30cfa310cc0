package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
)

// levels are those of Storm's loggers.
func levels() []string {
	return []string{"ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"}
}

type logFlags struct {
	clusterFlags
	set, remove []string
	asJSON      bool
}

// setLogLevel is the command `set_log_level`.
func (v *verbs) setLogLevel() *cobra.Command {
	var f logFlags
	cmd := verb(&f.clusterFlags, "set_log_level TOPOLOGY", "Change what a topology's workers log", `Change the levels of loggers in all workers of a topology, while they run. ROOT
is the logger above all. Without -l and -r, print the levels that are set.

Levels: `+strings.Join(levels(), ", "))
	cmd.Aliases = []string{"set-log-level"}
	cmd.Args = takes(1, 1, whichTopology)
	cmd.ValidArgsFunction = v.completeTopologies(&f.clusterFlags, 1)
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.set, "log-setting", "l", nil, "set a level, as `LOGGER=LEVEL[:SECS]`; after SECS it goes back; may be repeated")
	flags.StringArrayVarP(&f.remove, "remove-log-setting", "r", nil, "let the level of `LOGGER` go back; may be repeated")
	flagJSON(cmd, &f.asJSON)
	completeNothing(cmd, "log-setting", "remove-log-setting")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		change, err := f.change()
		if err != nil {
			return err
		}
		return v.ask(cmd, &f.clusterFlags, func(ctx context.Context, n leader) error {
			t, err := n.TopologySummary(ctx, args[0])
			if err != nil {
				return fmt.Errorf("set_log_level %s: %w", args[0], err)
			}
			if len(change) == 0 {
				return v.showLevels(ctx, n, t.ID, f.asJSON)
			}
			if err := n.SetLogConfig(ctx, t.ID, change); err != nil {
				return fmt.Errorf("set_log_level %s: %w", args[0], err)
			}
			v.say("changed %d log levels of topology %s", len(change), args[0])
			return nil
		})
	}
	return cmd
}

// change is what -l and -r ask for.
func (f *logFlags) change() (cluster.LogConfig, error) {
	out := cluster.LogConfig{}
	for _, text := range f.set {
		i := strings.LastIndexByte(text, '=')
		if i < 1 {
			return nil, usagef("-l %s: write it as LOGGER=LEVEL or LOGGER=LEVEL:SECS", text)
		}
		level, secs, timed := strings.Cut(text[i+1:], ":")
		if level = strings.ToUpper(level); !slices.Contains(levels(), level) {
			return nil, usagef("-l %s: there is no level %q; there are %s", text, level, strings.Join(levels(), ", "))
		}
		timeout := int64(0)
		if timed {
			var err error
			if timeout, err = strconv.ParseInt(secs, 10, 32); err != nil || timeout < 0 {
				return nil, usagef("-l %s: %q is no number of seconds", text, secs)
			}
		}
		out[text[:i]] = cluster.LogLevel{Action: cluster.LogLevelUpdate, Target: level, TimeoutSecs: int(timeout)}
	}
	for _, logger := range f.remove {
		if logger == "" {
			return nil, usagef("-r: which logger?")
		}
		if _, both := out[logger]; both {
			return nil, usagef("logger %s is given by -l and by -r; give it once", logger)
		}
		out[logger] = cluster.LogLevel{Action: cluster.LogLevelRemove}
	}
	return out, nil
}

func (v *verbs) showLevels(ctx context.Context, n leader, id cluster.TopologyID, asJSON bool) error {
	all, err := n.LogConfig(ctx, id)
	if err != nil {
		return fmt.Errorf("set_log_level: %w", err)
	}
	type entry struct {
		Logger       string `json:"logger"`
		Level        string `json:"level"`
		TimeoutSecs  int    `json:"timeout_secs,omitempty"`
		UntilEpochMS int64  `json:"until_epoch_ms,omitempty"`
	}
	list := []entry{}
	rows := [][]string{{"LOGGER", "LEVEL", "FOR"}}
	for _, logger := range slices.Sorted(maps.Keys(all)) {
		l := all[logger]
		list = append(list, entry{logger, l.Target, l.TimeoutSecs, l.TimeoutEpochMS})
		term := "ever"
		if l.TimeoutSecs > 0 {
			term = seconds(l.TimeoutSecs)
		}
		rows = append(rows, []string{logger, l.Target, term})
	}
	if asJSON {
		return v.printJSON(list)
	}
	if len(list) == 0 {
		v.say("no log levels are set")
		return nil
	}
	return v.table(rows)
}
