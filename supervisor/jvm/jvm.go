// Package jvm makes what a worker of Storm's own needs to run under our
// supervisor: a topology with Java components runs in a JVM, in the worker class
// of the version of Storm that its jar was built against.
//
// Begin at [Installations.Find], which picks the worker libraries for a
// version; [FindJava] finds the JVM, [Spec.Prepare] lays out the worker's folder
// and [Spec.Command] says how it is started. Flags, files and their order are
// those of Storm's supervisor. Nothing here starts a worker or fetches a file.
package jvm

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is a version of Storm.
type Version struct {
	text         string
	major, minor int
	patch        int    // noPatch if there is none
	rest         string // what follows, such as -SNAPSHOT
}

// noPatch is the patch of a version that stands for all of its minor version.
const noPatch = -1

// versionForm is that of Storm, with the third number told apart.
var versionForm = regexp.MustCompile(`^(\d{1,6})[._-]+(\d{1,6})(?:[._-]+(\d{1,6}))?([^/\\\s]*)$`)

// ParseVersion reads a version such as 2.8.3.
func ParseVersion(text string) (Version, error) {
	m := versionForm.FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("%q is no version of Storm; it has to be like 2.8.3", text)
	}
	v := Version{text: text, patch: noPatch, rest: m[4]}
	for i, to := range []*int{&v.major, &v.minor, &v.patch} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.Atoi(m[i+1])
		if err != nil {
			return Version{}, fmt.Errorf("the version %q: %w", text, err)
		}
		*to = n
	}
	return v, nil
}

// String is the version as it was written.
func (v Version) String() string { return v.text }

// Major is the first number.
func (v Version) Major() int { return v.major }

// Compare orders versions. One with words after its numbers, such as
// 2.0.0-SNAPSHOT, comes before the one without.
func (v Version) Compare(w Version) int {
	return cmp.Or(
		cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch),
		-cmp.Compare(min(len(v.rest), 1), min(len(w.rest), 1)), strings.Compare(v.rest, w.rest),
	)
}

// Artifact is what has the worker of this version, as Maven writes it. Errors: a
// version older than 1.0, which is too old for today's JVMs and not supported.
func (v Version) Artifact() (string, error) {
	switch {
	case v.patch == noPatch:
		return "", fmt.Errorf("the version %s is not whole; it has to be like 2.8.3", v)
	case v.major == 0:
		return "", fmt.Errorf("version %s of Storm is too old; 1.0 is the oldest that has workers to run here", v)
	case v.major == 1:
		return "org.apache.storm:storm-core:" + v.text, nil
	}
	return "org.apache.storm:storm-client:" + v.text, nil
}

// Fit is how well the libraries of one version run what was built against
// another. Java's serialisation is strict: only Exact is sure.
type Fit int

// Fits, the better the less.
const (
	FitExact Fit = iota
	FitPatch     // the same but for the third number
	FitNewer     // the same major version, and newer
	FitOlder     // the same major version, but older; Storm warns of it
	FitNone
)

// String is the fit in words.
func (f Fit) String() string {
	return [...]string{"exact", "another patch of the same version", "newer", "older", "none"}[f]
}

// fit tells how well v runs what was built against wanted.
func (v Version) fit(wanted Version) Fit {
	switch {
	case v.major != wanted.major:
		return FitNone
	case v.minor > wanted.minor:
		return FitNewer
	case v.minor < wanted.minor:
		return FitOlder
	case v.patch == wanted.patch && v.rest == wanted.rest:
		return FitExact
	default:
		return FitPatch
	}
}

// better tells whether v runs what was built against wanted better than w
// does. As for Storm a newer one of the same major version goes before an older
// one, and the nearest before others; unlike for Storm the patch counts, too.
func (v Version) better(w, wanted Version) bool {
	fv, fw := v.fit(wanted), w.fit(wanted)
	if fv != fw {
		return fv < fw
	}
	switch fv {
	case FitPatch:
		if up, down := v.Compare(wanted) >= 0, w.Compare(wanted) >= 0; up != down {
			return up
		} else if up {
			return v.Compare(w) < 0
		}
	case FitNewer:
		if v.minor != w.minor {
			return v.minor < w.minor
		}
	case FitOlder, FitExact, FitNone:
	}
	return v.Compare(w) > 0
}
