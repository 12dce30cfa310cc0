package compare

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is USER_HZ, the same on all Linux platforms that Go runs on.
const ticksPerSecond = 100

// process is what /proc tells of one.
type process struct {
	pid, parent int
	cpu         time.Duration
	resident    int64 // bytes
	agent       bool  // keeps the state of JVMs, for a supervisor
}

// parseStat reads a file /proc/PID/stat.
func parseStat(pid int, text []byte, pageSize int64) (process, error) {
	// The name in parentheses may hold anything; what follows begins with the third
	// field.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, parent, user, system, resident = 0, 4 - 3, 14 - 3, 15 - 3, 24 - 3
	if len(fields) <= resident {
		return process{}, fmt.Errorf("the stat of process %d has %d fields", pid, len(fields))
	}
	if fields[state] == "Z" {
		return process{}, os.ErrProcessDone
	}
	var numbers [4]int64
	for i, at := range [4]int{parent, user, system, resident} {
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return process{}, fmt.Errorf("the stat of process %d: %w", pid, err)
		}
		numbers[i] = n
	}
	return process{
		pid: pid, parent: int(numbers[0]),
		cpu:      time.Duration(numbers[1]+numbers[2]) * time.Second / ticksPerSecond,
		resident: numbers[3] * pageSize,
	}, nil
}

// processesOf are those with the folder in their command line, and all that they
// have started. Processes that just end are left out.
func processesOf(dir string) (map[int]process, error) {
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	all, own := map[int]process{}, map[int]process{}
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(path, "stat"))
		if err != nil {
			continue
		}
		p, err := parseStat(pid, stat, int64(os.Getpagesize()))
		if errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all[pid] = p
		if argv, err := os.ReadFile(filepath.Join(path, "cmdline")); err == nil && bytes.Contains(argv, []byte(dir+"/")) {
			p.agent = bytes.Contains(argv, []byte("\x00agent\x00--conf\x00"))
			own[pid] = p
		}
	}
	for pid, p := range all {
		for at, ok := p, true; ok; at, ok = all[at.parent] {
			if _, is := own[at.pid]; is {
				if at.pid != pid {
					own[pid] = p
				}
				break
			}
		}
	}
	return own, nil
}

// machineCPU is the processor time of all processes.
func machineCPU() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int64
	for i, field := range strings.Fields(line) {
		// cpu user nice system idle iowait irq softirq steal; the guests that follow
		// are part of user and nice.
		const idle, waiting, last = 4, 5, 8
		if n, err := strconv.ParseInt(field, 10, 64); err == nil && i <= last && i != idle && i != waiting {
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// loadAverage is that over the minute before; 0 if unknown.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}
