package localizer

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Names of files, most of them Storm's.
const (
	codeFile     = "stormcode.ser"
	confFile     = "stormconf.ser"
	jarFile      = "stormjar.jar"
	resourcesDir = "resources"
	blobsDir     = "blobs"
	depsDir      = "dependencies"
	recordFile   = "record.json"
)

// maxName leaves room for a version within the 255 bytes of a file's name.
const maxName = 230

// Entry is one blob of topology.blobstore.map.
type Entry struct {
	Key string
	// Name is what workers know it by; never empty.
	Name string
	// Unpack tells that it is an archive; workers get a folder.
	Unpack bool
	// Restart tells that workers are restarted for a newer version.
	Restart bool
}

// ParseMap reads the value of topology.blobstore.map: for each key of a blob a
// map that may have localname, uncompress and workerRestart. The answer is
// sorted by key.
func ParseMap(m map[string]any) ([]Entry, error) {
	var out []Entry
	for _, key := range slices.Sorted(maps.Keys(m)) {
		e := Entry{Key: key, Name: key}
		options, ok := m[key].(map[string]any)
		if !ok && m[key] != nil {
			return nil, fmt.Errorf("topology.blobstore.map: blob %q: want a map of options, have %v", key, m[key])
		}
		for option, v := range options {
			if v == nil {
				continue
			}
			ok := true
			switch option {
			case "localname":
				e.Name, ok = v.(string)
			case "uncompress":
				e.Unpack, ok = v.(bool)
			case "workerRestart":
				e.Restart, ok = v.(bool)
			}
			if !ok {
				return nil, fmt.Errorf("topology.blobstore.map: blob %q: option %s cannot be %v; localname is text, the others are true or false", key, option, v)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// check finds what cannot be put on disk.
func (n Needs) check() error {
	keys, names := map[string]bool{}, map[string]bool{}
	for _, reserved := range []string{codeFile, confFile, jarFile, resourcesDir, blobsDir, depsDir, recordFile} {
		names[reserved] = true
	}
	for _, e := range n.Blobs {
		if err := checkName(e.Name); err != nil {
			return fmt.Errorf("topology.blobstore.map: local name of blob %q: %w", e.Key, err)
		}
		if names[e.Name] || keys[e.Key] {
			return fmt.Errorf("topology.blobstore.map: local name %q of blob %q is taken; submit the topology with another localname", e.Name, e.Key)
		}
		names[e.Name], keys[e.Key] = true, true
	}
	for _, key := range n.Dependencies {
		if err := checkName(key); err != nil {
			return fmt.Errorf("dependency: %w", err)
		}
	}
	return nil
}

// checkName finds names that would not be one file in a folder.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("it is empty")
	case len(name) > maxName:
		return fmt.Errorf("%q has %d bytes, at most %d can be a file's name here", name, len(name), maxName)
	case name[0] == '.':
		return fmt.Errorf("%q begins with a dot", name)
	case !utf8.ValidString(name) || strings.ContainsAny(name, "/\\\x00"):
		return fmt.Errorf("%q cannot be a file's name", name)
	}
	return nil
}

// Dependencies are the paths of the further jars among a topology's files in dir, in
// relation to it, sorted.
func Dependencies(dir string) ([]string, error) {
	files, err := os.ReadDir(filepath.Join(dir, depsDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the topology's further jars: %w", err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Join(depsDir, f.Name()))
	}
	return names, nil
}
