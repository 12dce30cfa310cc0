//go:build unix

package supervisor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/stormring/stormring/supervisor/jvm"
	"github.com/stormring/stormring/supervisor/localizer"
	"github.com/stormring/stormring/supervisor/process"
)

// startJVM starts a worker of Storm's own.
func (p *processes) startJVM(ctx context.Context, l Launch) (Handle, error) {
	spec, err := p.jvmSpec(ctx, l)
	if err != nil {
		return nil, err
	}
	if err := spec.Prepare(); err != nil {
		return nil, err
	}
	line, err := spec.Command()
	if err != nil {
		return nil, err
	}
	env := maps.Clone(l.Env)
	maps.Copy(env, line.Env)
	h, err := p.manager.Start(ctx, process.Spec{
		WorkerID: l.Worker, Argv: line.Argv, Dir: line.Dir, Env: environ(os.Environ(), env),
		LogDir: l.LogDir, LogMaxBytes: outputBytes, LogKeep: outputKept,
	})
	if err != nil {
		return nil, err // not a nil *Handle in an interface
	}
	return h, nil
}

// jvmSpec is all that such a worker is told.
func (p *processes) jvmSpec(ctx context.Context, l Launch) (jvm.Spec, error) {
	none := jvm.Spec{}
	java, err := jvm.FindJava(ctx, os.Getenv)
	if err != nil {
		return none, err
	}
	host := l.Host.All()
	options := jvm.OptionsOf(host, p.localDir)
	installed, err := jvm.New(options).Find(l.JVM)
	if err != nil {
		return none, err
	}
	if err := installed.RunsOn(java); err != nil {
		return none, err
	}
	home, _ := host["storm.home"].(string)
	logConf, err := jvm.LogConf(host, home, p.localDir)
	if err != nil {
		return none, err
	}
	// The files of this launch, whatever is newer meanwhile.
	code, err := filepath.Abs(l.Dir)
	if err != nil {
		return none, err
	}
	settings := maps.Clone(host)
	maps.Copy(settings, l.Settings)
	spec := jvm.Spec{
		Java: java, Installation: installed, Host: host, Topology: settings,
		TopologyID: string(l.Topology), AssignmentID: string(l.Supervisor), WorkerID: l.Worker, Port: int(l.Port), SupervisorPort: l.ThriftPort,
		LocalDir: p.localDir, CodeDir: code, LogDir: p.logDir, Artifacts: filepath.Dir(filepath.Dir(l.LogDir)),
		ConfFile: filepath.Join(p.manager.Dir(l.Worker), "storm.yaml"), LogConf: logConf, Home: home,
		HeapMB: l.HeapMB, OffHeapMB: l.OffHeapMB,
	}
	if options.HasState() {
		spec.StateJar, spec.StateFile = options.StatePath(), jvm.StateFile(p.localDir)
	}
	if spec.Dependencies, err = localizer.Dependencies(code); err != nil {
		return none, err
	}
	text, err := jvm.HostConf(l.Host, spec)
	if err != nil {
		return none, err
	}
	if err := writeFile(spec.ConfFile, text); err != nil {
		return none, fmt.Errorf("the worker's configuration: %w", err)
	}
	return spec, nil
}
