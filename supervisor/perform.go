package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/supervisor/slot"
)

// perform does what the machine asks for.
func (k *keeper) perform(ctx context.Context, e slot.Effect) {
	switch e := e.(type) {
	case slot.Persist:
		k.persist(e.Record)
	case slot.Localise:
		k.localise(ctx, e)
	case slot.Release:
		k.release(e.Request)
	case slot.Launch:
		k.launch(ctx, e.Worker)
	case slot.SoftKill:
		k.kill(e.Launch, Handle.Terminate)
	case slot.HardKill:
		k.kill(e.Launch, Handle.Kill)
	case slot.Clear:
		k.clear(ctx, e.Launch)
	case slot.Note:
		k.note(ctx, e)
	default:
		panic(fmt.Sprintf("supervisor: unknown effect %T", e))
	}
}

// persist keeps the record.
func (k *keeper) persist(r slot.Record) {
	old := k.file.Record.Worker
	k.file.Format, k.file.Record = slotFormat, r
	if w := r.Worker; w == nil || old == nil || old.Launch != w.Launch {
		k.file.Heard, k.file.Dir = false, ""
		if w != nil && k.blobs[w.Blobs] != nil {
			k.file.Dir = k.blobs[w.Blobs].dir
		}
	}
	k.save()
}

func (k *keeper) save() {
	if err := k.file.save(k.path); err != nil {
		// A worker that is not on record is still found and ended by the next
		// supervisor, so to go on is better than to stop.
		k.log.Error("a slot cannot be put on record; make room on its disk", "error", err)
	}
}

// holder is the name of a request at the localizer.
func (k *keeper) holder(request slot.Serial) string { return fmt.Sprintf("%d/%d", k.port, request) }

// localise fetches blobs; the answer comes later.
func (k *keeper) localise(ctx context.Context, e slot.Localise) {
	id := e.Assignment.Topology
	fetching, cancel := context.WithCancel(ctx)
	b := &blobs{topology: id, cancel: cancel}
	k.blobs[e.Request] = b
	k.s.cfg.Localizer.Hold(id, k.holder(e.Request))
	k.helpers.Go(func() {
		local, err := k.s.cfg.Localizer.Localise(fetching, id, e.Update)
		var settings storm.Config
		if err == nil {
			settings, err = settingsIn(local.Dir)
		}
		if fetching.Err() != nil {
			return // nobody waits for it
		}
		k.tell(func(ctx context.Context) { k.localised(ctx, e.Request, local.Dir, settings, err) })
	})
}

func (k *keeper) localised(ctx context.Context, request slot.Serial, dir string, settings storm.Config, err error) {
	b := k.blobs[request]
	if b == nil {
		return // released meanwhile
	}
	if err != nil {
		k.step(ctx, slot.BlobsFailed{Request: request, Why: err.Error()})
		return
	}
	b.dir, b.ready = dir, true
	k.patient, k.timeout = b.topology, 0
	if secs, ok := storm.ConfTopologyWorkerTimeoutSecs.Get(settings); ok {
		k.timeout = time.Duration(secs) * time.Second
	}
	if want := k.file.Record.Want; want != nil {
		k.step(ctx, slot.Assign{Assignment: k.withTimeout(want)})
	}
	if k.stale == b.topology {
		k.stale = ""
		k.step(ctx, slot.BlobsChanged{Topology: b.topology}) // fetches again
		return
	}
	k.step(ctx, slot.BlobsReady{Request: request})
}

// settingsIn is the configuration of the topology with its files in dir.
func settingsIn(dir string) (storm.Config, error) {
	path := filepath.Join(dir, confFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the topology's configuration: %w", err)
	}
	settings, err := wire.DecodeConf(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return settings, nil
}

func (k *keeper) release(request slot.Serial) {
	b := k.blobs[request]
	if b == nil {
		return
	}
	b.cancel()
	delete(k.blobs, request)
	k.s.cfg.Localizer.Release(b.topology, k.holder(request))
}

// launch starts a worker.
func (k *keeper) launch(ctx context.Context, w slot.Worker) {
	id := workerID(k.port, w.Launch)
	var dir string
	if b := k.blobs[w.Blobs]; b != nil {
		dir = b.dir
	}
	settings, err := settingsIn(dir)
	if err != nil {
		// Somebody has removed the files. They have to come anew.
		k.todo = append(k.todo, slot.LaunchFailed{Launch: w.Launch, Why: err.Error()}, slot.BlobsChanged{Topology: w.Assignment.Topology})
		return
	}
	k.killed, k.silent = false, outage{}
	k.s.hub.expect(k, w)
	placed, _ := k.s.Assignment(w.Assignment.Topology)
	given := placed.Resources[k.slot]
	release, _ := conf.JVMVersion.Get(settings) // not there: a worker of Go
	h, err := k.s.launcher.Start(ctx, Launch{
		Host: k.s.cfg.Conf, Settings: settings, JVM: release, ThriftPort: k.s.thriftPort(),
		HeapMB: given.OnHeap + given.SharedOnHeap, OffHeapMB: given.OffHeap + given.SharedOffHeap,
		Topology: w.Assignment.Topology, Supervisor: k.s.id, Port: k.port, Worker: id,
		Dir: dir, Link: k.s.socket, Conf: k.s.cfg.Conf.All(), Env: k.environment(id, w, settings),
		LogDir: k.s.workerLogs(w.Assignment.Topology, k.port), Noticed: k.outage.noticed, Detect: k.outage.detect,
	})
	if err != nil {
		k.s.hub.forget(k.port, w.Launch)
		k.s.sorrows.blame(w.Assignment.Topology, k.port, err.Error())
		k.todo = append(k.todo, slot.LaunchFailed{Launch: w.Launch, Why: err.Error()})
		return
	}
	k.handle = h
	k.watch(ctx, w.Launch, h)
	k.todo = append(k.todo, slot.Started{Launch: w.Launch, PID: h.PID()})
}

// environment is what a worker finds in its environment beyond what the host
// gives to all.
func (k *keeper) environment(id string, w slot.Worker, settings storm.Config) map[string]string {
	env := map[string]string{}
	own, _ := storm.ConfTopologyEnvironment.Get(settings) // not there: none
	for name, v := range own {
		env[name] = fmt.Sprint(v)
	}
	env["STORM_TOPOLOGY_ID"] = string(w.Assignment.Topology)
	env["STORM_SUPERVISOR_ID"] = string(k.s.id)
	env["STORM_WORKER_ID"] = id
	env["STORM_WORKER_PORT"] = fmt.Sprint(int(k.port))
	// No flag: a program of an older release would refuse it.
	env[NoticedEnv] = fmt.Sprint(k.outage.noticed.UnixMilli())
	if d := k.outage.detect; d > 0 {
		env[DetectEnv] = strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64)
	}
	return env
}

func (k *keeper) kill(launch slot.Serial, how func(Handle) error) {
	if k.handle == nil {
		return
	}
	k.killed = true
	if err := how(k.handle); err != nil {
		k.log.Warn("a worker cannot be ended; it is tried again", "launch", launch, "error", err)
	}
}

// clear removes what a dead worker has left.
func (k *keeper) clear(ctx context.Context, launch slot.Serial) {
	k.s.hub.forget(k.port, launch)
	k.handle = nil
	if err := k.s.launcher.Clear(ctx, workerID(k.port, launch)); err != nil && !errors.Is(err, context.Canceled) {
		k.log.Warn("a dead worker's folder stays", "launch", launch, "error", err)
	}
}

// note tells the log, and the topology's author of what is their concern.
func (k *keeper) note(ctx context.Context, n slot.Note) {
	level := slog.LevelInfo
	switch n.What {
	case slot.WorkerDied, slot.StartTimedOut, slot.HeartbeatTimedOut, slot.WontDie, slot.FetchFailed, slot.BackedOff:
		level = slog.LevelWarn
	case slot.StateChanged, slot.Killing, slot.Adopted, slot.LeftRunning:
	}
	if k.killed && n.What == slot.WorkerDied {
		level = slog.LevelInfo // as it should
	}
	k.log.Log(ctx, level, "slot", "what", string(n.What), "text", n.Text)
	if n.What == slot.HeartbeatTimedOut {
		now := k.clock.Now()
		k.silent = outage{now, now.Sub(k.beat)}
	}
	if w := k.file.Record.Worker; w != nil && (n.What == slot.StartTimedOut || n.What == slot.HeartbeatTimedOut) {
		k.s.sorrows.blame(w.Assignment.Topology, k.port, n.Text)
	}
}

// workersArtifacts is the folder of workers' logs.
func (s *Supervisor) workersArtifacts() string {
	dir := s.cfg.Conf.String(conf.StormWorkersArtifacts)
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.cfg.LogDir, dir)
}

// workerLogs is the folder of a slot's logs.
func (s *Supervisor) workerLogs(id cluster.TopologyID, port cluster.Port) string {
	return filepath.Join(s.workersArtifacts(), string(id), strconv.Itoa(int(port)))
}

// confFile is a topology's configuration among its files, as Storm names it.
const confFile = "stormconf.ser"
