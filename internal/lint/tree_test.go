package lint

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tree is the parsed source of a module.
type tree struct {
	module string
	fset   *token.FileSet
	files  []*source // sorted by path
}

// source is one Go file.
type source struct {
	path      string // below the module's root
	pkg       string // folder of path, the package's import path below the module
	lines     int
	test      bool
	generated bool
	ast       *ast.File
}

// load parses all Go files of the module at the root of fsys. Other modules in
// it, testdata and hidden folders are left out.
func load(fsys fs.FS) (*tree, error) {
	gomod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	t := &tree{module: moduleName(gomod), fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipDir(fsys, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		return t.add(fsys, name)
	})
	return t, err
}

func moduleName(gomod []byte) string {
	for s := bufio.NewScanner(bytes.NewReader(gomod)); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func skipDir(fsys fs.FS, name string) bool {
	base := path.Base(name)
	if name == "." {
		return false
	}
	if base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(name, "go.mod"))
	return err == nil
}

func (t *tree) add(fsys fs.FS, name string) error {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, &source{
		path:      name,
		pkg:       path.Dir(name),
		lines:     bytes.Count(text, []byte("\n")),
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(file),
		ast:       file,
	})
	return nil
}

// packages are the folders that hold Go files, sorted, each with its files.
func (t *tree) packages() [][]*source {
	byPkg := map[string][]*source{}
	for _, f := range t.files {
		byPkg[f.pkg] = append(byPkg[f.pkg], f)
	}
	var list [][]*source
	for _, files := range byPkg {
		list = append(list, files)
	}
	slices.SortFunc(list, func(a, b []*source) int { return strings.Compare(a[0].pkg, b[0].pkg) })
	return list
}

// written are the files that people write.
func (t *tree) written() []*source {
	return slices.DeleteFunc(slices.Clone(t.files), func(f *source) bool { return f.generated })
}

// at is a complaint about a place in the source, as editors can follow it.
func (t *tree) at(pos token.Pos, format string, args ...any) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...))
}

// imports are the import paths of a file.
func (f *source) imports() map[string]*ast.ImportSpec {
	m := map[string]*ast.ImportSpec{}
	for _, spec := range f.ast.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // the parser has accepted it
		}
		m[name] = spec
	}
	return m
}

// localName is the name under which a file knows an imported package, given
// the package's own name; empty if it does not import it.
func (f *source) localName(importPath, own string) string {
	spec, ok := f.imports()[importPath]
	switch {
	case !ok:
		return ""
	case spec.Name != nil:
		return spec.Name.Name
	}
	return own
}

// uses calls found for each mention of a package's exported name in a file,
// such as Sleep for time.Sleep.
func (f *source) uses(importPath, own string, found func(name string, pos token.Pos)) {
	local := f.localName(importPath, own)
	if local == "" {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				found(sel.Sel.Name, sel.Pos())
			}
		}
		return true
	})
}

// report fails a test for each complaint.
func report(t *testing.T, complaints []string) {
	t.Helper()
	for _, c := range complaints {
		t.Error(c)
	}
}
