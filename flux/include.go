package flux

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxIncluded bounds how many files one topology is made of.
	maxIncluded = 100
	// maxIncludeDepth bounds how deep they include one another.
	maxIncludeDepth = 20
)

// request asks for a file.
type request struct {
	path     string
	resource bool
	// from is the folder of the file that includes it, at and key where.
	from string
	at   Place
	key  string
}

// file reads a file with all that it includes; nil if it could not be read.
func (l *loader) file(r request) *definition {
	if r.at.File == "" {
		r.at.File = r.path
	}
	l.total++
	if l.total > maxIncluded || len(l.open) > maxIncludeDepth {
		if l.total == maxIncluded+1 || len(l.open) > maxIncludeDepth {
			l.fail(r.at, r.key, "is one file too many: a topology has at most %d, %d of them within one another", maxIncluded, maxIncludeDepth)
		}
		return nil
	}
	name, raw, ok := l.read(r)
	if !ok {
		l.unread = true
		return nil
	}
	if i := slices.Index(l.open, name); i >= 0 {
		l.fail(r.at, r.key, "includes itself: %s", strings.Join(append(slices.Clone(l.open[i:]), name), " includes "))
		return nil
	}
	l.open = append(l.open, name)
	l.files = append(l.files, name)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	s := l.prepare(name, raw)
	if s == nil {
		l.unread = true
		return nil
	}
	root := l.parse(s)
	if root == nil {
		l.unread = true
		return nil
	}
	d := l.define(root)
	if d == nil {
		l.unread = true
		return nil
	}
	for _, in := range d.includes {
		inner := l.file(request{path: in.file, resource: in.resource, from: filepath.Dir(name), at: in.at, key: in.path})
		if inner != nil {
			l.join(d, inner, in.override)
		}
	}
	return d
}

// read is the text of a file and the name that it was found under.
func (l *loader) read(r request) (name string, raw []byte, ok bool) {
	if r.resource {
		if l.o.Resource == nil {
			l.fail(r.at, r.key, "%s is wanted as a resource of a jar, and there is none; say resource: false for a file", shown(r.path))
			return "", nil, false
		}
		raw, err := l.o.Resource(r.path)
		if err != nil {
			l.fail(r.at, r.key, "the resource %s cannot be read: %s", shown(r.path), err)
		}
		return r.path, raw, err == nil
	}
	names := []string{r.path}
	if r.from != "" && r.from != "." && !filepath.IsAbs(r.path) {
		names = []string{filepath.Join(r.from, r.path), r.path}
	}
	var first error
	for _, name := range names {
		raw, err := l.o.Read(name)
		if err == nil {
			return name, raw, true
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	l.fail(r.at, r.key, "cannot be read: %s", first)
	return "", nil, false
}

// join adds what a file includes. What d has itself stays, unless override
// says otherwise; streams are always added.
func (l *loader) join(d, inner *definition, override bool) {
	switch {
	case inner.name == nil:
	case d.name == nil || override:
		d.name = inner.name
	default:
		l.kept(inner.name.at, "name", "the name")
	}
	for _, s := range inner.conf {
		i := slices.IndexFunc(d.conf, func(o setting) bool { return o.key == s.key })
		switch {
		case i < 0:
			d.conf = append(d.conf, s)
		case override:
			d.conf[i] = s
		default:
			l.kept(s.at, s.path, "this key")
		}
	}
	d.beans = joinByID(l, d.beans, inner.beans, override, func(b *bean) (string, Place, string) { return b.id, b.idAt, b.path })
	vertexID := func(v *vertex) (string, Place, string) { return v.id, v.idAt, v.path }
	d.spouts = joinByID(l, d.spouts, inner.spouts, override, vertexID)
	d.bolts = joinByID(l, d.bolts, inner.bolts, override, vertexID)
	d.streams = append(d.streams, inner.streams...)
}

func (l *loader) kept(at Place, key, what string) {
	l.warn(at, key, "is left out: the including file has %s already; say override: true in includes if this one is to win", what)
}

func joinByID[T any](l *loader, own, more []T, override bool, id func(T) (string, Place, string)) []T {
	for _, m := range more {
		name, at, path := id(m)
		i := slices.IndexFunc(own, func(o T) bool { other, _, _ := id(o); return other == name })
		switch {
		case i < 0:
			own = append(own, m)
		case override:
			own[i] = m
		default:
			l.kept(at, path, "one with this id")
		}
	}
	return own
}
