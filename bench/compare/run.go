package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stormring/stormring/bench"
)

// Options say what to measure, and with what.
type Options struct {
	Settings Settings
	// Topologies are the names of those to measure, Systems the columns; empty is all.
	Topologies []string
	Systems    []System
	// Program is this program, Version what it calls itself.
	Program, Version string
	// ZooKeeper is the address of the server that both systems use.
	ZooKeeper string
	// Java is the program. StormLibs has the jars of Storm's daemons and clients,
	// WorkerLibs those of its workers, in a folder named after the release, StateLibs
	// what its state in Redis needs. Jar has the topologies.
	Java, StormLibs, WorkerLibs, StateLibs, Jar string
	// Dir is where systems and journals are; Keep leaves them there.
	Dir  string
	Keep bool
	// Say is told what is done.
	Say func(string)
}

// Run measures everything, run by run. What was measured until an error is returned
// with it.
func Run(ctx context.Context, o Options) (Report, error) {
	r := Report{Machine: bench.ReadMachine(), Settings: o.Settings, Results: []Result{}}
	if err := complete(&o); err != nil {
		return r, err
	}
	var err error
	if r.Versions, err = versions(ctx, &o); err != nil {
		return r, err
	}
	for run := range o.Settings.Runs {
		for _, c := range []clusterOf{{"stock", startStock, []System{Storm}}, {"ours", startOurs, []System{SameJar, InGo}}} {
			one := series{
				Options: &o, cluster: c, report: &r, title: fmt.Sprintf("run %d of %d", run+1, o.Settings.Runs),
				dir: filepath.Join(o.Dir, fmt.Sprintf("%s-%d", c.name, run+1)),
			}
			if err := one.run(ctx); err != nil {
				return r, fmt.Errorf("%s, %s: %w", c.name, one.title, err)
			}
		}
	}
	return r, nil
}

// complete puts in what was not said.
func complete(o *Options) error {
	if len(o.Systems) == 0 {
		o.Systems = Systems()
	}
	if len(o.Topologies) == 0 {
		for _, s := range Shapes() {
			o.Topologies = append(o.Topologies, s.Name)
		}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	// Processes are known by the folder in their command lines.
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	o.Dir, err = filepath.EvalSymlinks(o.Dir)
	return err
}

// clusterOf is one of the two clusters, with the systems that it is.
type clusterOf struct {
	name  string
	start func(context.Context, string, *Options) (*system, error)
	on    []System
}

// series is the measurement of one run on one cluster.
type series struct {
	*Options
	cluster clusterOf
	report  *Report
	title   string
	dir     string
	lab     *lab
	starts  int
}

// start starts the cluster, anew if it was there.
func (s *series) start(ctx context.Context) error {
	s.starts++
	dir := fmt.Sprintf("%s-%d", s.dir, s.starts)
	s.Say(s.title + ": starting " + s.cluster.name)
	started, err := s.cluster.start(ctx, dir, s.Options)
	if err != nil {
		return err
	}
	s.lab = &lab{system: started, work: filepath.Join(s.Dir, "work-"+filepath.Base(dir))}
	return os.MkdirAll(s.lab.work, 0o755)
}

// stop ends the cluster, if it runs.
func (s *series) stop() error {
	if s.lab == nil {
		return nil
	}
	err := s.lab.close()
	if !s.Keep {
		err = errors.Join(err, os.RemoveAll(s.lab.work))
	}
	s.lab = nil
	return err
}

// run measures all topologies. One that fails is reported, and those after it are
// measured on a new cluster.
func (s *series) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.stop()) }()
	for _, k := range s.rows() {
		if s.lab == nil {
			if err := s.start(ctx); err != nil {
				return err
			}
		}
		s.lab.on = k.system
		s.lab.say = func(what string) { s.Say(fmt.Sprintf("%s: %s, %s", s.title, k, what)) }
		i := slices.IndexFunc(Shapes(), func(x Shape) bool { return x.Name == k.topology })
		m, err := s.lab.run(ctx, Shapes()[i], k.ack)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			failure := fmt.Sprintf("%s, %s: %v", s.title, k, err)
			s.Say(failure)
			s.report.Failures = append(s.report.Failures, failure)
			if err := s.stop(); err != nil {
				return err
			}
			continue
		}
		s.report.add(k, time.Now().UTC().Format(time.DateOnly), m)
	}
	return nil
}

// rows are what is measured on the cluster, in order.
func (s *series) rows() []key {
	var rows []key
	for _, shape := range Shapes() {
		if !slices.Contains(s.Topologies, shape.Name) {
			continue
		}
		for _, ack := range shape.Acks {
			for _, on := range s.cluster.on {
				if slices.Contains(s.Systems, on) {
					rows = append(rows, key{shape.Name, ack, on})
				}
			}
		}
	}
	return rows
}

func (k key) String() string {
	return fmt.Sprintf("%s on %s", rowName(k.topology, k.ack), k.system)
}

// rowName is what a topology is called in tables.
func rowName(topology string, ack bool) string {
	switch {
	case topology == StateShape:
		return topology
	case ack:
		return topology + ", acked"
	}
	return topology + ", not acked"
}

// versions asks everything for its version.
func versions(ctx context.Context, o *Options) (Versions, error) {
	v := Versions{Storm: filepath.Base(o.WorkerLibs), Stormring: o.Version}
	for _, ask := range []struct {
		to   *string
		argv []string
	}{
		{&v.Java, []string{o.Java, "-version"}}, {&v.Python, []string{"python3", "--version"}}, {&v.Redis, []string{"redis-server", "--version"}},
	} {
		out, err := exec.CommandContext(ctx, ask.argv[0], ask.argv[1:]...).CombinedOutput()
		if err != nil {
			return v, fmt.Errorf("%s: %w", strings.Join(ask.argv, " "), err)
		}
		*ask.to = versionIn(string(out))
	}
	text, err := askZooKeeper(ctx, o.ZooKeeper)
	v.ZooKeeper, _, _ = strings.Cut(versionIn(text), "-")
	return v, err
}

// askZooKeeper has a server tell of itself.
func askZooKeeper(ctx context.Context, addr string) (string, error) {
	c, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("ZooKeeper: %w", err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := c.Write([]byte("srvr")); err != nil {
		return "", fmt.Errorf("ZooKeeper: %w", err)
	}
	text, err := io.ReadAll(c)
	return string(text), err
}

// versionIn is the first word of what a program says of itself that begins with a
// digit, or has it behind v=.
func versionIn(text string) string {
	for word := range strings.FieldsSeq(text) {
		word = strings.TrimPrefix(strings.Trim(word, `"`), "v=")
		if word != "" && word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return strings.TrimSpace(text)
}
