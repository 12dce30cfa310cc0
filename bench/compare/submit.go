package compare

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
)

// job is a topology to submit.
type job struct {
	name   string
	shape  Shape
	ack    bool
	rate   int // 0 is as many as it can
	folder string
	redis  string // address of the server, for state in Java
}

// submit runs the command that submits a job.
func (s *system) submit(ctx context.Context, on System, j job) error {
	argv := s.javaLine(j)
	if on == InGo {
		argv = s.goLine(j)
	}
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("submit %s: %w\n%s", j.name, err, out)
	}
	return nil
}

func (s *system) javaLine(j job) []string {
	set := s.opts.Settings
	return []string{
		s.opts.Java, "-cp", s.opts.Jar + ":" + filepath.Join(s.opts.StormLibs, "*"), "-Dstorm.jar=" + s.opts.Jar,
		"-Dstorm.conf.file=" + s.yaml, "stormring.compare.Submit", j.name, j.shape.Name, "folder=" + j.folder,
		"ack=" + strconv.FormatBool(j.ack), fmt.Sprintf("rate=%d", j.rate), fmt.Sprintf("workers=%d", set.Workers),
		fmt.Sprintf("executors=%d", set.Executors), fmt.Sprintf("pending=%d", set.Pending),
		fmt.Sprintf("keys=%d", set.Keys), fmt.Sprintf("size=%d", set.Size), "redis=" + j.redis,
	}
}

func (s *system) goLine(j job) []string {
	set := s.opts.Settings
	line := []string{s.opts.Program, "submit", j.shape.Go, "--config", s.yaml, "--name", j.name, "--workers", strconv.Itoa(set.Workers), "--journal", j.folder}
	if j.shape.Name == StateShape {
		return append(line, "--keys", strconv.Itoa(set.Keys), "--size", strconv.Itoa(set.Size))
	}
	line = append(line, fmt.Sprintf("--ack=%t", j.ack), "--rate", strconv.Itoa(j.rate),
		"--spouts", strconv.Itoa(set.Executors), "--bolts", strconv.Itoa(set.Executors))
	if j.ack {
		line = append(line, "--set", fmt.Sprintf("topology.max.spout.pending=%d", set.Pending))
	}
	return line
}
