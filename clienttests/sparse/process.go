package sparse

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Children are the processes of a class, such as "bolts.count.Count", that any
// of these workers has started, in ascending order; of all classes for "".
func Children(class string, workers ...int) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		text := string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		if !strings.Contains(text, "streamparse_run ") || !strings.Contains(text, class) {
			continue
		}
		dir := filepath.Dir(file)
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && slices.Contains(workers, parent(dir)) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// parent is the parent of a process; -1 if it is gone.
func parent(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return -1
	}
	// The name of the program stands in parentheses and may be anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return -1
	}
	pid, err := strconv.Atoi(fields[1])
	if err != nil {
		return -1
	}
	return pid
}
