//go:build !linux

package node

func yieldToOthers(bool) {}
