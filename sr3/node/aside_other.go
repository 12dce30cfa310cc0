//go:build !linux

package node

import "time"

func yieldToOthers() {}

// threadTime does not run here: work aside takes what it is given.
func threadTime() time.Duration { return time.Since(started) }

var started = time.Now()
