// Package maven brings artifacts of a Maven repository, with all that they need
// at run time, into a folder: what `mvn dependency:copy-dependencies` does,
// without Maven and without a JVM.
//
// Begin at [Resolve], which decides what is needed and gets POMs through an
// interface; [Repository] has them, and files, over HTTP and from the local
// repository that Maven keeps; [Repository.Fetch] fills a folder. The model of a
// POM, with inheritance and properties, is that of deps.dev/util/maven.
package maven

import (
	"cmp"
	"fmt"
	"strings"
)

// Coordinates name a version of a project.
type Coordinates struct {
	Group, Name, Version string
}

// String is group:artifact:version.
func (c Coordinates) String() string { return c.Group + ":" + c.Name + ":" + c.Version }

// dir is the folder of a repository where the files of c are.
func (c Coordinates) dir() string {
	return strings.ReplaceAll(c.Group, ".", "/") + "/" + c.Name + "/" + c.Version + "/"
}

// pom is the path of the POM in a repository.
func (c Coordinates) pom() string { return c.dir() + c.Name + "-" + c.Version + ".pom" }

// check refuses what cannot be part of a path, and versions that name no single
// file.
func (c Coordinates) check() error {
	for _, part := range []struct{ what, text string }{{"group", c.Group}, {"artifact", c.Name}, {"version", c.Version}} {
		if err := checkPart(part.what, part.text); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	switch {
	case strings.ContainsAny(c.Version, "[](),"):
		return fmt.Errorf("%s: its version is a range, of which there is no way here to find the newest; name one version", c)
	case c.Version == "LATEST" || c.Version == "RELEASE":
		return fmt.Errorf("%s: %s may be another one tomorrow; name one version", c, c.Version)
	case strings.HasSuffix(c.Version, "-SNAPSHOT"):
		return fmt.Errorf("%s: snapshots are not supported; name a release", c)
	}
	return nil
}

// checkPart refuses what is no plain name of a file or folder.
func checkPart(what, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("the %s is missing", what)
	case strings.Contains(text, "${"):
		return fmt.Errorf("the %s is %s, which nothing defines", what, text)
	}
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`/\:?#%"'<>|*`, r) }
	if strings.ContainsFunc(text, bad) || text[0] == '.' || strings.Contains(text, "..") {
		return fmt.Errorf("the %s %q is not a plain name", what, text)
	}
	return nil
}

// Artifact is one file of a project.
type Artifact struct {
	Coordinates
	// Classifier tells files of one version apart; mostly "".
	Classifier string
	// Ext is the file's extension, jar for classes.
	Ext string
}

// String is group:artifact[:ext[:classifier]]:version, as Maven writes it; the
// extension is left out if it is jar.
func (a Artifact) String() string {
	text := a.Group + ":" + a.Name
	if a.Ext != "jar" || a.Classifier != "" {
		text += ":" + a.Ext
	}
	if a.Classifier != "" {
		text += ":" + a.Classifier
	}
	return text + ":" + a.Version
}

// File is the artifact's name as a file.
func (a Artifact) File() string {
	name := a.Name + "-" + a.Version
	if a.Classifier != "" {
		name += "-" + a.Classifier
	}
	return name + "." + a.Ext
}

// path is the artifact's file in a repository.
func (a Artifact) path() string { return a.dir() + a.File() }

// key is what only one version of may be chosen.
func (a Artifact) key() Artifact {
	a.Version = ""
	return a
}

func (a Artifact) check() error {
	if err := a.Coordinates.check(); err != nil {
		return err
	}
	if a.Classifier != "" {
		if err := checkPart("classifier", a.Classifier); err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
	}
	if err := checkPart("extension", a.Ext); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	return nil
}

// ParseArtifact reads group:artifact[:ext[:classifier]]:version.
func ParseArtifact(text string) (Artifact, error) {
	parts := strings.Split(text, ":")
	n := len(parts)
	if n < 3 || n > 5 {
		return Artifact{}, fmt.Errorf("%q is no artifact; it has to be group:artifact:version, such as org.apache.storm:storm-client:2.8.3", text)
	}
	a := Artifact{Coordinates: Coordinates{Group: parts[0], Name: parts[1], Version: parts[n-1]}, Ext: "jar"}
	if n > 3 {
		a.Ext = parts[2]
	}
	if n > 4 {
		a.Classifier = parts[3]
	}
	return a, a.check()
}

// artifactOf is the file that a dependency of some type means.
func artifactOf(c Coordinates, kind, classifier string) Artifact {
	a := Artifact{Coordinates: c, Classifier: classifier, Ext: cmp.Or(kind, "jar")}
	switch a.Ext {
	case "bundle", "maven-plugin", "ejb", "eclipse-plugin":
		a.Ext = "jar"
	case "test-jar":
		a.Ext, a.Classifier = "jar", cmp.Or(classifier, "tests")
	case "ejb-client":
		a.Ext, a.Classifier = "jar", cmp.Or(classifier, "client")
	case "java-source":
		a.Ext, a.Classifier = "jar", cmp.Or(classifier, "sources")
	case "javadoc":
		a.Ext, a.Classifier = "jar", cmp.Or(classifier, "javadoc")
	}
	return a
}
