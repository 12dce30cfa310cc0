package maven

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	model "deps.dev/util/maven"
	"golang.org/x/sync/errgroup"
)

// parallel is how many requests are under way at once.
const parallel = 4

// maxArtifacts bounds a resolution.
const maxArtifacts = 5000

// Need is an artifact that is needed.
type Need struct {
	Artifact
	// By is who wants it, from the root on; empty for the root.
	By []Coordinates
}

// Resolution is what [Resolve] found.
type Resolution struct {
	// Needs are the root and all that it needs at run time, nearest first,
	// one version of each.
	Needs []Need
	// Warnings are about what was odd and may not matter.
	Warnings []string
}

// Resolve finds what root needs at run time, as Maven 3 does: of two versions
// of a thing the one nearer to the root counts, and of two that are as near the
// one declared first; dependencyManagement of the root holds for all. Optional
// dependencies and those with a scope other than compile and runtime are left
// out, and so is what without names. Errors: whatever poms says; version ranges,
// which are refused.
func Resolve(ctx context.Context, poms POMs, p Platform, root Artifact, without ...Exclusion) (Resolution, error) {
	if err := root.check(); err != nil {
		return Resolution{}, err
	}
	r := &resolution{models: newModels(poms, p), chosen: map[Artifact]bool{}}
	level := []candidate{{Artifact: root, excluded: (*exclusions)(nil).and(without)}}
	for len(level) > 0 {
		var err error
		if level, err = r.advance(ctx, level); err != nil {
			return Resolution{}, err
		}
		if len(r.out.Needs) > maxArtifacts {
			return Resolution{}, fmt.Errorf("%s needs more than %d artifacts", root, maxArtifacts)
		}
	}
	return r.out, nil
}

// candidate is an artifact on some way from the root.
type candidate struct {
	Artifact
	by       []Coordinates
	excluded *exclusions
}

func (c candidate) String() string {
	if len(c.by) == 0 {
		return c.Artifact.String()
	}
	way := make([]string, len(c.by))
	for i, by := range c.by {
		way[i] = by.String()
	}
	return fmt.Sprintf("%s (by way of %s)", c.Artifact, strings.Join(way, ", "))
}

// resolution is Resolve under way.
type resolution struct {
	models *models
	chosen map[Artifact]bool // by key
	// managed is what the root's dependencyManagement says, by key.
	managed map[Artifact]model.Dependency
	out     Resolution
}

// found is what a candidate's POM says.
type found struct {
	candidate
	project model.Project
	lost    []string
	// missing tells that there is no POM.
	missing bool
}

// advance takes the candidates of one distance from the root and returns those
// of the next.
func (r *resolution) advance(ctx context.Context, level []candidate) ([]candidate, error) {
	var winners []candidate
	for _, c := range level {
		if key := c.key(); !r.chosen[key] {
			r.chosen[key] = true
			winners = append(winners, c)
		}
	}
	all := make([]found, len(winners))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, c := range winners {
		g.Go(func() error {
			f, err := r.look(ctx, c)
			all[i] = f
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var next []candidate
	for _, f := range all {
		below, err := r.take(f)
		if err != nil {
			return nil, err
		}
		next = append(next, below...)
	}
	return next, nil
}

// look gets a candidate's POM, where it has moved to.
func (r *resolution) look(ctx context.Context, c candidate) (found, error) {
	if err := c.check(); err != nil {
		return found{}, fmt.Errorf("%s: %w", c, err)
	}
	for range maxRelocations {
		p, lost, err := r.models.whole(ctx, c.Coordinates)
		switch {
		case errors.Is(err, ErrNotFound) && len(c.by) > 0 && r.models.lacks(c.Coordinates):
			return found{candidate: c, missing: true}, nil
		case err != nil:
			return found{}, fmt.Errorf("%s: %w", c, err)
		}
		to := p.DistributionManagement.Relocation
		if to == (model.Relocation{}) {
			return found{candidate: c, project: p, lost: lost}, nil
		}
		moved := Coordinates{
			Group: cmp.Or(string(to.GroupID), c.Group), Name: cmp.Or(string(to.ArtifactID), c.Name), Version: cmp.Or(string(to.Version), c.Version),
		}
		if err := moved.check(); err != nil {
			return found{}, fmt.Errorf("%s has moved: %w", c, err)
		}
		c.by, c.Coordinates = append(slices.Clip(c.by), c.Coordinates), moved
	}
	return found{}, fmt.Errorf("%s has moved more than %d times", c, maxRelocations)
}

// take takes an artifact into the result and returns what it needs itself.
func (r *resolution) take(f found) ([]candidate, error) {
	root := len(f.by) == 0 && len(r.out.Needs) == 0
	switch {
	case f.missing:
		r.out.Warnings = append(r.out.Warnings, fmt.Sprintf("%s has no POM; what it needs is not known", f.candidate))
	case len(f.lost) > 0:
		return nil, fmt.Errorf("%s needs %s, with a property that nothing sets", f.candidate, strings.Join(f.lost, ", "))
	case root:
		r.manage(f.project.DependencyManagement)
	}
	if f.Ext != "pom" { // a POM stands for what it needs
		if key := f.key(); len(f.by) > 0 && r.taken(key) {
			return nil, nil // it has moved to where another one is
		}
		r.out.Needs = append(r.out.Needs, Need{Artifact: f.Artifact, By: f.by})
	}
	var next []candidate
	for _, d := range f.project.Dependencies {
		c, ok := r.follow(f, d, root)
		if ok {
			next = append(next, c)
		}
	}
	return next, nil
}

// taken tells whether some version of key is in the result.
func (r *resolution) taken(key Artifact) bool {
	return slices.ContainsFunc(r.out.Needs, func(n Need) bool { return n.key() == key })
}

// manage keeps what the root's dependencyManagement says.
func (r *resolution) manage(m model.DependencyManagement) {
	r.managed = make(map[Artifact]model.Dependency, len(m.Dependencies))
	for _, d := range m.Dependencies {
		key := artifactOf(coordinates(d.GroupID, d.ArtifactID, ""), string(d.Type), string(d.Classifier))
		if _, ok := r.managed[key]; !ok {
			r.managed[key] = d
		}
	}
}

// follow is the candidate that a dependency of f stands for, if it is one.
func (r *resolution) follow(f found, d model.Dependency, root bool) (candidate, bool) {
	a := artifactOf(coordinates(d.GroupID, d.ArtifactID, d.Version), string(d.Type), string(d.Classifier))
	if f.excluded.has(a.Coordinates) {
		return candidate{}, false
	}
	excluded := exclusionsOf(d.Exclusions)
	if m, ok := r.managed[a.key()]; ok && !root {
		if m.Version != "" {
			a.Version = exact(string(m.Version))
		}
		if m.Scope != "" {
			d.Scope = m.Scope
		}
		if m.Optional != "" {
			d.Optional = m.Optional
		}
		excluded = append(excluded, exclusionsOf(m.Exclusions)...)
	}
	if !needed(d) {
		return candidate{}, false
	}
	return candidate{Artifact: a, by: append(slices.Clip(f.by), f.Coordinates), excluded: f.excluded.and(excluded)}, true
}

// Exclusion names what is not wanted; * stands for any.
type Exclusion struct {
	Group, Name string
}

func exclusionsOf(list []model.Exclusion) []Exclusion {
	out := make([]Exclusion, len(list))
	for i, x := range list {
		out[i] = Exclusion{Group: string(x.GroupID), Name: string(x.ArtifactID)}
	}
	return out
}

// covers tells whether c is not wanted.
func (x Exclusion) covers(c Coordinates) bool {
	return (x.Group == "*" || x.Group == c.Group) && (x.Name == "*" || x.Name == c.Name)
}

// exclusions are what is not wanted below some place; nil is nothing.
type exclusions struct {
	above *exclusions
	list  []Exclusion
}

func (e *exclusions) and(list []Exclusion) *exclusions {
	if len(list) == 0 {
		return e
	}
	return &exclusions{above: e, list: list}
}

func (e *exclusions) has(c Coordinates) bool {
	for ; e != nil; e = e.above {
		if slices.ContainsFunc(e.list, func(x Exclusion) bool { return x.covers(c) }) {
			return true
		}
	}
	return false
}
