package command

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/conf"
)

// agent is the command by which a supervisor starts what keeps the state of JVMs;
// people do not.
func (e *env) agent() *cobra.Command {
	var settings, dir, ring, log string
	cmd := &cobra.Command{
		Use:    "agent",
		Short:  "Keep the state of Java topologies of this host; supervisors start this",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if settings == "" || dir == "" || ring == "" {
				return usagef("agent needs --conf, --dir and --ring; it is started by a supervisor")
			}
			base, err := hostSettings(settings)
			if err != nil {
				return err
			}
			c, err := conf.Defaults().With("the configuration of the host", base)
			if err != nil {
				return fmt.Errorf("%s: %w", settings, err)
			}
			out := e.stderr
			if log != "" {
				file := &lumberjack.Logger{Filename: log, MaxSize: workerLogMB, MaxBackups: workerLogKept}
				defer file.Close()
				out = file
			}
			logger := slog.New(slog.NewTextHandler(out, nil))
			logger.Info("the agent for the state of JVMs starts", "pid", os.Getpid())
			err = daemon.JVMAgent{Conf: c, Ring: ring, Dir: dir, Logger: logger}.Run(cmd.Context())
			logger.Info("the agent for the state of JVMs ends", "error", err)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&settings, "conf", "", "the `FILE` with the host's configuration, JSON")
	flags.StringVar(&dir, "dir", "", "the supervisor's local `DIR`")
	flags.StringVar(&ring, "ring", "", "the `ADDRESS` of the supervisor's ring node")
	flags.StringVar(&log, "log", "", "the `FILE` to log to (default: standard error)")
	return cmd
}
