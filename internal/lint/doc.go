// Package lint keeps the picture of the house true. It has no code of its own,
// only tests that read the module's source:
//
//   - house_test.go is the picture: every package with its floor and the rule
//     that goes with it. A new package gets a row there.
//   - imports_test.go checks imports against it, pure_test.go that pure cores
//     touch neither clock nor world, style_test.go lengths, comments, names.
//
// What a general linter can find is left to golangci-lint, see .golangci.yml.
package lint
