package blobstore

import (
	"maps"
	"slices"
)

// This file decides what a nimbus does about its blobs and those of others. It
// touches nothing.

// holding is a blob as this nimbus has it.
type holding struct {
	version   int64
	damaged   bool
	announced bool // others could know of it
}

// view is who has what. Local is read before holders: what was announced by
// then and is not in holders has been deleted.
type view struct {
	self  string
	local map[string]holding
	// holders are the versions by nimbus of all keys that have a znode, also of
	// those that nobody holds.
	holders map[string]map[string]int64
}

// action is what is to be done about a blob.
type action uint8

const (
	// fetch: others have a newer version, or it is not whole here.
	fetch action = iota + 1
	// announce: it is here and the store of records does not say so.
	announce
	// release: the store of records says that it is here, and it is not.
	release
	// drop: its znode is gone, so it was deleted.
	drop
)

// step is an action about a blob.
type step struct {
	key  string
	do   action
	from []string // of a fetch: who has the newest version, sorted
}

// plan is what is to be done, by key. Lost are the keys that are damaged here
// and that nobody else has.
func plan(v view) (steps []step, lost []string) {
	keys := make(map[string]bool, len(v.local)+len(v.holders))
	for key := range v.local {
		keys[key] = true
	}
	for key := range v.holders {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		here, known := v.local[key]
		holders, znode := v.holders[key]
		st := step{key: key}
		if znode {
			st.do, st.from = planKnown(v.self, here, known && !here.damaged, holders)
		} else {
			st.do = planUnknown(here)
		}
		if st.do != 0 {
			steps = append(steps, st)
		}
		if known && here.damaged && st.do != fetch && st.do != drop {
			lost = append(lost, key)
		}
	}
	return steps, lost
}

// planKnown is for blobs that have a znode; whole tells whether it is here and
// can be read.
func planKnown(self string, here holding, whole bool, holders map[string]int64) (action, []string) {
	var version, newest int64
	if whole {
		version = here.version
	}
	var from []string
	for nimbus, v := range holders {
		switch {
		case nimbus == self || v < newest:
		case v > newest:
			newest, from = v, []string{nimbus}
		default:
			from = append(from, nimbus)
		}
	}
	said, isHolder := holders[self]
	switch {
	case newest > version:
		slices.Sort(from)
		return fetch, from
	case whole && (!isHolder || said != version):
		return announce, nil
	case !whole && isHolder:
		return release, nil
	}
	return 0, nil
}

// planUnknown is for blobs without a znode.
func planUnknown(here holding) action {
	switch {
	case here.announced:
		return drop
	case here.damaged:
		return 0
	}
	return announce
}

// newestCopies is how many hold the newest version.
func newestCopies(holders map[string]int64) int {
	var newest int64
	copies := 0
	for _, v := range holders {
		switch {
		case v > newest:
			newest, copies = v, 1
		case v == newest:
			copies++
		}
	}
	return copies
}
