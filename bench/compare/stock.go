package compare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Storm's own defaults for its daemons, which its start script would pass.
const (
	nimbusHeap     = "-Xmx1024m"
	supervisorHeap = "-Xmx256m"
)

// log4j is the configuration of a log file of Storm's.
const log4j = `<Configuration status="warn">
  <Appenders>
    <File name="file" fileName="%s"><PatternLayout pattern="%%d %%c{1.} %%t [%%p] %%msg%%n"/></File>
  </Appenders>
  <Loggers><Root level="info"><AppenderRef ref="file"/></Root></Loggers>
</Configuration>
`

// startStock starts stock Storm.
func startStock(ctx context.Context, dir string, o *Options) (_ *system, err error) {
	s, err := newSystem(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.close() // the first error counts
		}
	}()
	if err := s.stormHome(); err != nil {
		return nil, fmt.Errorf("lay out Storm: %w", err)
	}
	for _, d := range []struct{ name, main, heap string }{
		{"nimbus", "org.apache.storm.daemon.nimbus.Nimbus", nimbusHeap},
		{"supervisor", "org.apache.storm.daemon.supervisor.Supervisor", supervisorHeap},
	} {
		err := s.launch(d.name, o.Java, "-server", "-Ddaemon.name="+d.name, "-Dstorm.home="+dir, "-Dstorm.log.dir="+s.in("logs"),
			"-Dstorm.conf.file=", "-Dlogfile.name="+d.name+".log", "-Dlog4j.configurationFile="+s.in("log4j2", "cluster.xml"), d.heap,
			"-cp", s.in("lib", "*")+":"+s.in("extlib", "*")+":"+s.in("conf"), d.main)
		if err != nil {
			return nil, err
		}
	}
	return s, s.await(ctx)
}

func (s *system) in(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// stormHome lays out a folder as an installation of Storm has it.
func (s *system) stormHome() error {
	settings, err := s.settings("/storm")
	if err != nil {
		return err
	}
	for _, name := range []string{"conf", "logs", "log4j2"} {
		if err := os.MkdirAll(s.in(name), 0o755); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"lib": s.opts.StormLibs, "lib-worker": s.opts.WorkerLibs, "extlib": s.opts.StateLibs} {
		if err := os.Symlink(to, s.in(name)); err != nil {
			return err
		}
	}
	for name, log := range map[string]string{
		"cluster": "${sys:storm.log.dir}/${sys:logfile.name}",
		"worker":  "${sys:workers.artifacts}/${sys:storm.id}/${sys:worker.port}/${sys:logfile.name}",
	} {
		if err := os.WriteFile(s.in("log4j2", name+".xml"), fmt.Appendf(nil, log4j, log), 0o600); err != nil {
			return err
		}
	}
	return writeYAML(s.in("conf", "storm.yaml"), settings)
}
