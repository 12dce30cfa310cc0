package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
)

// Limits. In the functions of tests, tables do not count.
const (
	maxFileLines        = 600
	maxFuncLines        = 70
	maxInterfaceMethods = 8
)

// vague are names that say nothing of what is in the folder.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}

// marker finds notes to do a thing later. The brackets keep it from finding
// itself.
var marker = regexp.MustCompile(`\b(T[O]DO|F[I]XME|X[X]X|H[A]CK)\b`)

// checkStyle holds all that people wrote against the rules of CONTRIBUTING.md.
func checkStyle(t *tree) []string {
	complaints := checkFolders(t)
	for _, f := range t.written() {
		complaints = append(complaints, checkLengths(t, f)...)
		complaints = append(complaints, checkLeftovers(t, f)...)
		if !f.test && f.ast.Name.Name != "main" {
			complaints = append(complaints, checkDocs(t, f)...)
		}
	}
	return complaints
}

func checkFolders(t *tree) []string {
	var complaints []string
	for _, files := range t.packages() {
		pkg := files[0].pkg
		if slices.Contains(vague, path.Base(pkg)) {
			complaints = append(complaints, fmt.Sprintf("%s: %q does not say what is in it", pkg, path.Base(pkg)))
		}
		hasCode, hasComment := false, false
		for _, f := range files {
			hasCode = hasCode || !f.test && !f.generated
			hasComment = hasComment || !f.test && f.ast.Doc != nil
		}
		if hasCode && !hasComment {
			complaints = append(complaints, fmt.Sprintf("%s: no package comment; tell a newcomer what it is for and where to start", pkg))
		}
	}
	return complaints
}

func checkLengths(t *tree, f *source) []string {
	var complaints []string
	if f.lines > maxFileLines {
		complaints = append(complaints, fmt.Sprintf("%s: %d lines, more than %d; split it by concept", f.path, f.lines, maxFileLines))
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			lines := t.lines(n)
			if f.test {
				lines -= t.tableLines(n)
			}
			if lines > maxFuncLines {
				complaints = append(complaints, t.at(n.Pos(), "%s has %d lines, more than %d", n.Name.Name, lines, maxFuncLines))
			}
		case *ast.InterfaceType:
			if methods := n.Methods.NumFields(); methods > maxInterfaceMethods {
				complaints = append(complaints, t.at(n.Pos(), "an interface of %d methods, more than %d; declare what is used where it is used", methods, maxInterfaceMethods))
			}
		}
		return true
	})
	return complaints
}

// lines is how many lines a node covers.
func (t *tree) lines(n ast.Node) int {
	return t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
}

// tableLines is how many lines within n are those of composite literals.
func (t *tree) tableLines(n ast.Node) int {
	lines := 0
	ast.Inspect(n, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if ok {
			lines += t.lines(table) - 1
		}
		return !ok // tables within tables count once
	})
	return lines
}

func checkLeftovers(t *tree, f *source) []string {
	var complaints []string
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if word := marker.FindString(c.Text); word != "" {
				complaints = append(complaints, t.at(c.Pos(), "%s: do it, or write an issue", word))
			}
		}
	}
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			complaints = append(complaints, t.at(fn.Pos(), "init runs behind everybody's back; call a function from where it is needed"))
		}
	}
	if f.test {
		f.uses("time", "time", func(name string, pos token.Pos) {
			if name == "Sleep" {
				complaints = append(complaints, t.at(pos, "a test sleeps; wait for the event, or use testing/synctest or internal/clock"))
			}
		})
	}
	return complaints
}

// checkDocs looks for exported names without a comment. One comment above a
// block of constants or variables is enough for all of them.
func checkDocs(t *tree, f *source) []string {
	var complaints []string
	want := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		documented := slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d != nil })
		if id.IsExported() && !documented {
			complaints = append(complaints, t.at(id.Pos(), "%s is exported and has no comment", id.Name))
		}
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d)) {
				want(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					want(spec.Name, d.Doc, spec.Doc)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						want(name, d.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return complaints
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}
