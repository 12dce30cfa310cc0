package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Machine tells where figures come from.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	OS     string `json:"os"`
	Kernel string `json:"kernel,omitempty"`
	Go     string `json:"go"`
	GOGC   int    `json:"gogc"`
}

// ReadMachine describes this machine as far as it lets itself be read.
func ReadMachine() Machine {
	m := Machine{CPU: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), OS: runtime.GOOS, Go: runtime.Version()}
	m.GOGC = debug.SetGCPercent(100)
	debug.SetGCPercent(m.GOGC)
	if model := firstField("/proc/cpuinfo", "model name"); model != "" {
		m.CPU = model
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(release))
	}
	return m
}

// firstField is the value of the first line "key : value" of a file of /proc,
// or "".
func firstField(path, key string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// residentBytes is the memory that the process holds now; 0 if unknown.
func residentBytes() int64 {
	kb, _, _ := strings.Cut(firstField("/proc/self/status", "VmRSS"), " ")
	n, err := strconv.ParseInt(kb, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// processCPU is the processor time of another process, in steps of 10 ms; 0 if
// unknown.
func processCPU(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything. What follows begins with the
	// third field; user and system time are the 14th and 15th.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0
	}
	var ticks int64
	for _, f := range fields[user : system+1] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// ticksPerSecond is USER_HZ, the same on all Linux platforms that Go runs on.
const ticksPerSecond = 100

// machineCPU is the processor time of all processes, in steps of 10 ms; 0 if
// unknown.
func machineCPU() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	fields := strings.Fields(line)
	var ticks int64
	for i, f := range fields {
		// cpu user nice system idle iowait irq softirq steal; the guests that
		// follow are part of user and nice.
		if n, err := strconv.ParseInt(f, 10, 64); err == nil && i <= 8 && i != 4 && i != 5 {
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}
