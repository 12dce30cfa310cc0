package records

import (
	"net/url"
	"strings"
)

// The parents of records, with Storm's names; the last ones are our own.
const (
	dirStorms       = "storms"
	dirAssignments  = "assignments"
	dirSupervisors  = "supervisors"
	dirNimbuses     = "nimbuses"
	dirErrors       = "errors"
	dirCredentials  = "credentials"
	dirLogConfigs   = "logconfigs"
	dirWorkerbeats  = "workerbeats"
	dirProfilers    = "profilerconfigs"
	dirBackpressure = "backpressure"
	dirBlobs        = "blobstore"
	dirBlobVersions = "blobstoremaxkeysequencenumber"
	dirLives        = "stormring/lifecycle"
	dirStandings    = "stormring/standings"
	dirCheckpoints  = "stormring/checkpoints"
	dirRing         = "stormring/ring"
	dirLosses       = "stormring/losses"
	dirStates       = "stormring/states"
)

func parents() []string {
	return []string{
		dirStorms, dirAssignments, dirSupervisors, dirNimbuses, dirErrors, dirCredentials, dirLogConfigs,
		dirWorkerbeats, dirProfilers, dirBackpressure, dirBlobs, dirBlobVersions, dirLives, dirStandings,
		dirCheckpoints, dirRing, dirLosses, dirStates,
	}
}

func (s *Store) dir(dir string) string { return s.root + "/" + dir }

// path is that of a record. A name is one segment: a slash in it is doubled,
// so that the store refuses the path instead of finding another record.
func (s *Store) path(dir string, names ...string) string {
	var b strings.Builder
	b.WriteString(s.dir(dir))
	for _, name := range names {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(name, "/", "//"))
	}
	return b.String()
}

// lastError is at the end of the name of a component's newest error.
const lastError = "-last-error"

// escape is a component's id as Java's URLEncoder writes it, which differs from
// Go's in two characters.
func escape(component string) string {
	return strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(component))
}

// unescape is the component that name stands for; what nobody can have escaped
// is its own name.
func unescape(name string) string {
	component, err := url.QueryUnescape(name)
	if err != nil {
		return name
	}
	return component
}
