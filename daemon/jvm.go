package daemon

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/supervisor/jvm"
)

// jvms tell which releases of Storm have workers that can run on this host. What is
// installed while the supervisor runs counts within jvmEvery.
type jvms struct {
	conf *conf.Conf
	dir  string // storm.local.dir, absolute
	log  *slog.Logger

	mu   sync.Mutex
	at   time.Time
	have []string
	kept bool   // state can be kept on the ring
	why  string // the last reason why there are none, which is said once
}

const (
	jvmEvery = 10 * time.Second
	jvmAsk   = 5 * time.Second
)

func (j *jvms) releases() []string {
	have, _ := j.known()
	return have
}

// state tells whether they can keep state on the ring.
func (j *jvms) state() bool {
	_, kept := j.known()
	return kept
}

func (j *jvms) known() ([]string, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.at.IsZero() && time.Since(j.at) < jvmEvery {
		return j.have, j.kept
	}
	have, err := j.look()
	j.at = time.Now()
	why := ""
	if err != nil {
		why = err.Error()
	}
	switch {
	case why != "" && why != j.why:
		j.log.Warn("topologies with components in Java get no workers here", "error", err)
	case !slices.Equal(have, j.have):
		j.log.Info("workers of Storm for topologies with components in Java", "releases", have)
	}
	j.have, j.why = have, why
	j.kept = jvm.OptionsOf(j.conf.All(), j.dir).HasState()
	return j.have, j.kept
}

// look finds them. It is no error that nothing is installed.
func (j *jvms) look() ([]string, error) {
	installed, err := jvm.New(jvm.OptionsOf(j.conf.All(), j.dir)).List()
	if err != nil || len(installed) == 0 {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), jvmAsk)
	defer cancel()
	java, err := jvm.FindJava(ctx, os.Getenv)
	if err != nil {
		return nil, err
	}
	var have []string
	for _, i := range installed {
		if err = i.RunsOn(java); err == nil {
			have = append(have, i.Version.String())
		}
	}
	if len(have) > 0 {
		err = nil
	}
	return have, err
}
