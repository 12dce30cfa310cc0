package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkImports holds all imports against the house.
func checkImports(t *tree) []string {
	var complaints []string
	for _, files := range t.packages() {
		pkg := files[0].pkg
		from, ok := roomOf(pkg)
		if !ok {
			complaints = append(complaints, fmt.Sprintf("%s: package %s is not in the house: give it a row in internal/lint/house_test.go", files[0].path, pkg))
			continue
		}
		for _, f := range files {
			complaints = append(complaints, checkFile(t, f, from)...)
		}
	}
	return complaints
}

func checkFile(t *tree, f *source, from room) []string {
	var complaints []string
	imports := f.imports()
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		why := ""
		if to, ours := strings.CutPrefix(name, t.module+"/"); ours {
			why = whyNot(f.pkg, from, to, f.test)
		} else if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") && !f.test {
			why = whyNotForeign(from, name)
		}
		if why != "" {
			complaints = append(complaints, t.at(imports[name].Pos(), "%s", why))
		}
	}
	return complaints
}

// whyNot says why package pkg, which lives in room from, may not import
// package to; empty if it may.
func whyNot(pkg string, from room, to string, test bool) string {
	target, ok := roomOf(to)
	switch {
	case !ok:
		return fmt.Sprintf("imports %s, which is not in the house", to)
	case to == pkg:
		return "" // an external test of the package itself
	case test && (matches(from.tests, to) || target.forTests && from.just == ""):
		return ""
	case target.forTests:
		return fmt.Sprintf("%s imports %s, which is for tests only", pkg, to)
	case target.by != "" && !matches(target.by, pkg):
		return fmt.Sprintf("%s imports %s, which only these may import: %s", pkg, to, target.by)
	case from.just != "" && !matches(from.just, to):
		return fmt.Sprintf("%s imports %s, but of the project it may import only: %s", pkg, to, from.just)
	case matches(from.also, to) || from.just != "" && target.kind <= from.kind:
		return ""
	case below(pkg, from.kind, to, target.kind):
		return ""
	}
	return fmt.Sprintf("%s (%s) imports %s (%s): %s", pkg, kinds[from.kind].name, to, kinds[target.kind].name, kinds[from.kind].rule)
}

// below is the rule of each kind.
func below(pkg string, from kind, to string, target kind) bool {
	kin := family(pkg) == family(to) && target <= from
	switch from {
	case pure:
		return target == noun
	case adapter:
		return target == noun || kin
	case shell:
		return target == noun || target == adapter || kin
	case sample:
		return to == "storm" || kin
	case composition:
		return target < composition
	default:
		return false
	}
}

// whyNotForeign keeps modules of others off the two lowest floors.
func whyNotForeign(from room, name string) string {
	if from.kind > pure {
		return ""
	}
	for mod := range strings.FieldsSeq(from.mods) {
		if matches(mod+"/...", name) {
			return ""
		}
	}
	return fmt.Sprintf("%s imports %s: nouns and pure cores live on the standard library", from.path, name)
}
