package jvm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LibsKey names the folder with one folder of jars for each version of Storm
// that workers may be of.
const LibsKey = "stormring.jvm.libs"

// Keys of Storm's that say the same by version.
const (
	ClassPathKey      = "supervisor.worker.version.classpath.map"
	MainKey           = "supervisor.worker.version.main.map"
	DefaultVersionKey = "supervisor.worker.default.version"
)

// Options say where the worker libraries of this host are.
type Options struct {
	// Dir has a folder for each version, such as Dir/2.8.3; it need not be
	// there.
	Dir string
	// ClassPaths and Mains are what Storm's maps say, by version. They count
	// before Dir.
	ClassPaths, Mains map[string]string
	// Extra is put behind the libraries of Dir on the class path: what is
	// common to all versions, such as a folder with configuration.
	Extra []string
	// Default is the version for topologies that do not say theirs; "" for the
	// newest.
	Default string
}

// OptionsOf are the options that a host's configuration sets. localDir is
// storm.local.dir.
func OptionsOf(host map[string]any, localDir string) Options {
	o := Options{
		Dir: filepath.Join(localDir, "jvm"), ClassPaths: textMap(host[ClassPathKey]), Mains: textMap(host[MainKey]),
	}
	if dir, ok := host[LibsKey].(string); ok && dir != "" {
		o.Dir = dir
	}
	o.Default, _ = host[DefaultVersionKey].(string)
	return o
}

// Installation is the worker libraries of one version.
type Installation struct {
	Version Version
	// Dir is the folder with the jars; "" if the class path is configured.
	Dir string
	// ClassPath is what comes before the topology's own jar.
	ClassPath []string
	// Main is the worker's main class.
	Main string
	// Fit is how well it suits the version that was asked for.
	Fit Fit
}

// Installations are what a host has. They are looked up anew each time, so that
// what was installed since then counts.
type Installations struct{ o Options }

// New is the installations that o speaks of.
func New(o Options) *Installations { return &Installations{o: o} }

// NotInstalledError is about a version of which there is nothing here.
type NotInstalledError struct {
	// Version is the one that was asked for; "" for any.
	Version string
	// Have are those that are here.
	Have []string
}

// Error names the version and the command that brings it.
func (e *NotInstalledError) Error() string {
	have := "there are none of any version"
	if len(e.Have) > 0 {
		have = "there are those of " + strings.Join(e.Have, ", ")
	}
	if e.Version == "" {
		return "Java topologies need Storm's worker libraries, and " + have + "; get them by: stormring jvm install VERSION"
	}
	return fmt.Sprintf("the topology needs the worker libraries of Storm %s, but %s; get them by: stormring jvm install %s", e.Version, have, e.Version)
}

// List is all that is installed, oldest version first.
func (i *Installations) List() ([]Installation, error) {
	var list []Installation
	for _, text := range slices.Sorted(maps.Keys(i.o.ClassPaths)) {
		v, err := ParseVersion(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ClassPathKey, err)
		}
		list = append(list, Installation{Version: v, ClassPath: strings.Split(i.o.ClassPaths[text], string(os.PathListSeparator))})
	}
	found, err := i.folders()
	if err != nil {
		return nil, fmt.Errorf("the worker libraries: %w", err)
	}
	for _, f := range found {
		if !slices.ContainsFunc(list, func(known Installation) bool { return known.Version.Compare(f.Version) == 0 }) {
			list = append(list, f)
		}
	}
	for n := range list {
		if list[n].Main, err = i.main(list[n].Version); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b Installation) int { return a.Version.Compare(b.Version) })
	return list, nil
}

// folders are the installations in Dir.
func (i *Installations) folders() ([]Installation, error) {
	entries, err := os.ReadDir(i.o.Dir)
	if errors.Is(err, fs.ErrNotExist) || i.o.Dir == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Installation
	for _, e := range entries {
		v, err := ParseVersion(e.Name())
		dir := filepath.Join(i.o.Dir, e.Name())
		if err != nil || len(jars(dir)) == 0 {
			continue // something else
		}
		list = append(list, Installation{Version: v, Dir: dir, ClassPath: slices.Concat([]string{filepath.Join(dir, "*")}, i.o.Extra)})
	}
	return list, nil
}

// jars are the names of the jars in a folder, sorted.
func jars(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && strings.EqualFold(filepath.Ext(name), ".jar") && name[0] != '.' {
			names = append(names, name)
		}
	}
	return names
}

// Find is the installation that runs topologies built against a version of
// Storm, as Storm itself chooses: of the same major version, the next newer minor
// one if that very one is not here, else the next older. "" is for topologies that do
// not say theirs. The error is a *NotInstalledError if there is none.
func (i *Installations) Find(version string) (Installation, error) {
	list, err := i.List()
	if err != nil {
		return Installation{}, err
	}
	asked := version
	if version = cmp.Or(version, i.o.Default); version == "" || version == "Unknown" {
		if len(list) == 0 {
			return Installation{}, &NotInstalledError{}
		}
		return list[len(list)-1], nil
	}
	wanted, err := ParseVersion(version)
	if err != nil {
		if asked == "" {
			err = fmt.Errorf("%s: %w", DefaultVersionKey, err)
		}
		return Installation{}, err
	}
	best := Installation{Fit: FitNone}
	for _, have := range list {
		have.Fit = have.Version.fit(wanted)
		if have.Fit != FitNone && (best.Fit == FitNone || have.Version.better(best.Version, wanted)) {
			best = have
		}
	}
	if best.Fit == FitNone {
		none := &NotInstalledError{Version: version}
		for _, have := range list {
			none.Have = append(none.Have, have.Version.String())
		}
		return Installation{}, none
	}
	return best, nil
}

// main is the main class of workers of a version.
func (i *Installations) main(v Version) (string, error) {
	class := defaultMain(v)
	var best Version
	for text, main := range i.o.Mains {
		m, err := ParseVersion(text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", MainKey, err)
		}
		if m.fit(v) != FitNone && (best.text == "" || m.better(best, v)) {
			best, class = m, main
		}
	}
	return class, nil
}

func defaultMain(v Version) string {
	switch v.major {
	case 0:
		return "backtype.storm.daemon.worker"
	case 1:
		return "org.apache.storm.daemon.worker"
	}
	return "org.apache.storm.daemon.worker.Worker"
}

// textMap is a map of a configuration with its values as text.
func textMap(v any) map[string]string {
	out := map[string]string{}
	switch m := v.(type) {
	case map[string]any:
		for k, e := range m {
			if e != nil {
				out[k] = fmt.Sprint(e)
			}
		}
	case map[string]string:
		maps.Copy(out, m)
	}
	return out
}
