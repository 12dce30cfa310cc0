package compare

import (
	"context"
	"path/filepath"
	"strconv"
)

// startOurs starts Stormring.
func startOurs(ctx context.Context, dir string, o *Options) (_ *system, err error) {
	s, err := newSystem(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.close() // the first error counts
		}
	}()
	settings, err := s.settings("/stormring")
	if err != nil {
		return nil, err
	}
	settings["sr3.port"] = strconv.Itoa(s.ports.ring)
	settings["stormring.jvm.libs"] = filepath.Dir(o.WorkerLibs)
	settings["storm.log.dir"] = s.in("logs")
	if err := writeYAML(s.in("storm.yaml"), settings); err != nil {
		return nil, err
	}
	for _, name := range []string{"nimbus", "supervisor"} {
		if err := s.launch(name, o.Program, name, "--config", s.in("storm.yaml")); err != nil {
			return nil, err
		}
	}
	return s, s.await(ctx)
}
