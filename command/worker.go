package command

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/supervisor"
	"github.com/stormring/stormring/worker/process"
)

// How worker.log is rotated.
const (
	workerLogMB   = 100
	workerLogKept = 9
)

// workerFlags say which worker to be.
type workerFlags struct {
	topology, supervisor, id string
	port                     int
	code, link, conf, log    string
}

// worker is the command that supervisors start; people do not.
func (e *env) worker() *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:    "worker",
		Short:  "Be a worker; supervisors start this",
		Hidden: true,
		Args:   noArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return e.runWorker(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.topology, "topology", "", "the topology's `ID`")
	flags.StringVar(&f.supervisor, "supervisor", "", "the supervisor's `ID`")
	flags.StringVar(&f.id, "worker-id", "", "the `ID` of this launch")
	flags.IntVar(&f.port, "port", 0, "the slot's `PORT`")
	flags.StringVar(&f.code, "code", "", "the `DIR` with the topology's code")
	flags.StringVar(&f.link, "link", "", "the supervisor's `SOCKET`")
	flags.StringVar(&f.conf, "conf", "", "the `FILE` with the host's configuration, JSON")
	flags.StringVar(&f.log, "log", "", "the `FILE` to log to (default: standard error)")
	return cmd
}

func (e *env) runWorker(cmd *cobra.Command, f workerFlags) error {
	for name, value := range map[string]string{"topology": f.topology, "supervisor": f.supervisor, "worker-id": f.id, "code": f.code, "link": f.link} {
		if value == "" {
			return usagef("worker needs --%s; it is started by a supervisor", name)
		}
	}
	base := map[string]any{}
	if f.conf != "" {
		var err error
		if base, err = hostSettings(f.conf); err != nil {
			return err
		}
	}
	out := e.stderr
	if f.log != "" {
		file := &lumberjack.Logger{Filename: f.log, MaxSize: workerLogMB, MaxBackups: workerLogKept}
		defer file.Close()
		out = file
	}
	levels := process.NewLevels(slog.LevelInfo)
	log := slog.New(levels.Handler(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	restore := tuneGC()
	defer restore()
	log.Info("worker starts", "topology", f.topology, "port", f.port, "worker", f.id, "pid", os.Getpid())
	err := process.Run(cmd.Context(), process.Config{
		Topology: cluster.TopologyID(f.topology), Supervisor: cluster.SupervisorID(f.supervisor), Worker: f.id,
		Port: cluster.Port(f.port), Code: f.code, Link: f.link, Base: base,
		Program: e.program, Logger: log, Levels: levels, States: daemon.States,
		Noticed: noticed(), Detect: detected(),
	})
	if err != nil {
		log.Error("worker ends", "error", err)
		return err
	}
	log.Info("worker ends")
	return nil
}

// hostSettings reads the file with the host's configuration that a supervisor has written.
func hostSettings(file string) (map[string]any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the host's configuration: %w", err)
	}
	settings, err := conf.ParseJSON(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return settings, nil
}

// noticed is when the supervisor noticed that this worker is needed.
func noticed() time.Time {
	ms, err := strconv.ParseInt(os.Getenv(supervisor.NoticedEnv), 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// detected is how long the worker before was lost by then; 0 if that is not known.
func detected() time.Duration {
	ms, err := strconv.ParseFloat(os.Getenv(supervisor.DetectEnv), 64)
	if err != nil || !(ms > 0 && ms < float64(math.MaxInt64/time.Millisecond)) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}
