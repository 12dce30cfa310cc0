package lint

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
)

// worldly are the packages that a pure core does not import, with all below
// them: through them it would touch the world, wait, or share memory.
const worldly = "net/... os/... log/... sync/... context io/fs syscall/... crypto/rand time/tzdata"

// clocky are the functions of package time that look at a clock.
var clocky = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}

// seeded are the names of package math/rand that do not draw from the global
// source.
var seeded = []string{"New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf"}

// checkPure looks for what makes a core impure.
func checkPure(t *tree) []string {
	var complaints []string
	for _, f := range t.files {
		r, ok := roomOf(f.pkg)
		if !ok || r.kind != pure || f.test {
			continue
		}
		complain := func(pos token.Pos, what string) {
			complaints = append(complaints, t.at(pos, "%s is a pure core and %s", f.pkg, what))
		}
		imports := f.imports()
		for _, name := range slices.Sorted(maps.Keys(imports)) {
			if matches(worldly, name) && !matches(r.std, name) {
				complain(imports[name].Pos(), "imports "+name)
			}
		}
		f.uses("time", "time", func(name string, pos token.Pos) {
			if slices.Contains(clocky, name) {
				complain(pos, "calls time."+name+": take the time as an argument")
			}
		})
		for _, pkg := range []string{"math/rand", "math/rand/v2"} {
			f.uses(pkg, "rand", func(name string, pos token.Pos) {
				if !slices.Contains(seeded, name) {
					complain(pos, "calls rand."+name+": take a *rand.Rand as an argument")
				}
			})
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				complain(g.Pos(), "starts a goroutine")
			}
			return true
		})
	}
	return complaints
}
