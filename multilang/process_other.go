//go:build unix && !linux

package multilang

import "syscall"

// tie has no way here to tie the life of a process to the worker's.
func tie(*syscall.SysProcAttr) {}

// killMarked knows of no processes here.
func killMarked(string) (found bool) { return false }

// doing cannot tell here.
func doing(int) string { return "alive" }
