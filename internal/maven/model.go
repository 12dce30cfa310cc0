package maven

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	model "deps.dev/util/maven"
)

// ErrNotFound is what a repository says of a file that it does not have.
var ErrNotFound = errors.New("not in the repository")

// POMs is where POMs come from. It may be asked by several goroutines.
type POMs interface {
	// POM is the text of a project's POM. Errors: ErrNotFound.
	POM(ctx context.Context, c Coordinates) ([]byte, error)
}

// Platform is what profiles in POMs may depend on.
type Platform struct {
	// JDK is the version of Java, such as 17.0.2.
	JDK string
	// OS is the name of the system in lower case, Family is unix, mac or
	// windows, and Arch is as Java has it, such as amd64 or aarch64.
	OS, Family, Arch string
}

const (
	// maxParents bounds a line of ancestors, which could be a circle.
	maxParents = 32
	// maxRelocations bounds how often an artifact may have moved.
	maxRelocations = 8
)

// models makes POMs whole: with their ancestors, properties and what they
// import. Each text is asked for once.
type models struct {
	poms     POMs
	platform Platform

	mu    sync.Mutex
	texts map[Coordinates]*text
}

type text struct {
	once sync.Once
	raw  []byte
	err  error
}

func newModels(poms POMs, p Platform) *models {
	return &models{poms: poms, platform: p, texts: map[Coordinates]*text{}}
}

// read is a POM as it is written, with the profiles that the platform switches
// on.
func (m *models) read(ctx context.Context, c Coordinates) (model.Project, error) {
	if err := c.check(); err != nil {
		return model.Project{}, err
	}
	m.mu.Lock()
	t := m.texts[c]
	if t == nil {
		t = &text{}
		m.texts[c] = t
	}
	m.mu.Unlock()
	t.once.Do(func() { t.raw, t.err = m.poms.POM(ctx, c) })
	if t.err != nil {
		return model.Project{}, fmt.Errorf("the POM of %s: %w", c, t.err)
	}
	p, err := decode(t.raw)
	if err != nil {
		return model.Project{}, fmt.Errorf("the POM of %s: %w", c, err)
	}
	// A condition that cannot be understood does not hold, as for Maven; the
	// others count nevertheless.
	_ = p.MergeProfiles(m.platform.JDK, model.ActivationOS{
		Name: model.String(m.platform.OS), Family: model.String(m.platform.Family), Arch: model.String(m.platform.Arch),
	})
	return p, nil
}

// decode reads the text of a POM.
func decode(text []byte) (model.Project, error) {
	var p model.Project
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = charset
	d.Entity = xml.HTMLEntity // as Maven's own reader
	if err := d.Decode(&p); err != nil {
		return model.Project{}, fmt.Errorf("it is no POM: %w", err)
	}
	return p, nil
}

// charset reads the one byte a letter encodings, of which old POMs make use for
// the names of their authors.
func charset(name string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "iso-8859-1", "iso8859-1", "iso-8859-15", "latin1", "us-ascii", "ascii", "windows-1252", "cp1252":
	default:
		return nil, fmt.Errorf("its encoding %q is not known here", name)
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, b := range raw {
		text.WriteRune(rune(b))
	}
	return strings.NewReader(text.String()), nil
}

// inherited is a POM with all that it has of its ancestors, with properties
// still by name: whoever inherits from it may set them.
func (m *models) inherited(ctx context.Context, c Coordinates, depth int) (model.Project, error) {
	if depth > maxParents {
		return model.Project{}, fmt.Errorf("%s has more than %d ancestors, or is its own", c, maxParents)
	}
	p, err := m.read(ctx, c)
	if err != nil || p.Parent.ArtifactID == "" {
		return p, err
	}
	parent, err := m.inherited(ctx, coordinates(p.Parent.GroupID, p.Parent.ArtifactID, p.Parent.Version), depth+1)
	if err != nil {
		return p, fmt.Errorf("the parent of %s: %w", c, err)
	}
	// The model appends to the parent's list.
	parent.Properties.Properties = slices.Clip(parent.Properties.Properties)
	p.MergeParent(parent)
	return p, nil
}

// interpolated is a POM with its ancestors and with values for properties.
// Dependencies that want a property which is not there are lost in that; they
// are named.
func (m *models) interpolated(ctx context.Context, c Coordinates) (p model.Project, lost []string, err error) {
	if p, err = m.inherited(ctx, c, 0); err != nil {
		return p, nil, err
	}
	// What the model does not set itself; whatever the POM sets comes later
	// and counts.
	own := []model.Property{
		{Name: "project.artifactId", Value: c.Name}, {Name: "pom.artifactId", Value: c.Name},
		{Name: "artifactId", Value: c.Name}, {Name: "java.version", Value: m.platform.JDK},
		{Name: "os.name", Value: m.platform.OS}, {Name: "os.arch", Value: m.platform.Arch},
	}
	p.Properties.Properties = append(own, p.Properties.Properties...)
	if err := checkProperties(p.Properties.Properties); err != nil {
		return p, nil, fmt.Errorf("the POM of %s: %w", c, err)
	}
	before := slices.Clone(p.Dependencies)
	if err := p.Interpolate(); err != nil {
		return p, nil, fmt.Errorf("the properties of %s: %w", c, err)
	}
	after := p.Dependencies
	for _, d := range before {
		if len(after) > 0 && sameEntry(d, after[0]) {
			after = after[1:]
			continue
		}
		if needed(d) {
			lost = append(lost, fmt.Sprintf("%s:%s:%s", d.GroupID, d.ArtifactID, d.Version))
		}
	}
	return p, lost, nil
}

// sameEntry tells whether b may be a with values for its properties.
func sameEntry(a, b model.Dependency) bool {
	for _, pair := range [][2]model.String{
		{a.GroupID, b.GroupID}, {a.ArtifactID, b.ArtifactID}, {a.Version, b.Version}, {a.Type, b.Type}, {a.Classifier, b.Classifier}, {a.Scope, b.Scope},
	} {
		if pair[0] != pair[1] && !pair[0].ContainsProperty() {
			return false
		}
	}
	return true
}

// whole is a POM as it counts: its dependencies have what
// dependencyManagement, also that of imported POMs, says of them. lost are
// dependencies that want a property which nothing sets.
func (m *models) whole(ctx context.Context, c Coordinates) (p model.Project, lost []string, err error) {
	if p, lost, err = m.interpolated(ctx, c); err != nil {
		return p, nil, err
	}
	var failed error
	imports := 0
	p.ProcessDependencies(func(g, a, v model.String) (model.DependencyManagement, error) {
		if failed != nil {
			return model.DependencyManagement{}, failed
		}
		imports++
		of := coordinates(g, a, v)
		imported, _, err := m.interpolated(ctx, of)
		if err != nil {
			failed = fmt.Errorf("%s imports %s: %w", c, of, err)
		} else if imports >= model.MaxImports {
			failed = fmt.Errorf("%s imports more than %d POMs", c, model.MaxImports)
		}
		return imported.DependencyManagement, failed
	})
	return p, lost, failed
}

func coordinates(group, artifact, version model.String) Coordinates {
	return Coordinates{Group: string(group), Name: string(artifact), Version: exact(string(version))}
}

// exact is the version of a range that holds but one: [1.2] is 1.2.
func exact(version string) string {
	if len(version) > 2 && version[0] == '[' && version[len(version)-1] == ']' && !strings.Contains(version, ",") {
		return strings.TrimSpace(version[1 : len(version)-1])
	}
	return version
}

// needed tells whether a dependency is there at run time, for whoever depends on
// the project that has it.
func needed(d model.Dependency) bool {
	switch d.Scope {
	case "", "compile", "runtime":
		return !d.Optional.Boolean()
	default:
		return false
	}
}

// lacks tells whether it is the POM of c itself that is not there.
func (m *models) lacks(c Coordinates) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.texts[c]
	return t != nil && errors.Is(t.err, ErrNotFound)
}
