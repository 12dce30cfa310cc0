package flux

import (
	"fmt"
	"strings"
	"testing"
)

// times is what f makes of 0 to n-1, one after the other.
func times(n int, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i))
	}
	return b.String()
}

// line1 is the first line of an error, cut to what a test wants to see.
func line1(err error, n int) string {
	if err == nil {
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text[:min(n, len(text))]
}

// TestBounded: large and nested files end soon, with a result or a mistake.
func TestBounded(t *testing.T) {
	const n = 20_000
	for _, tt := range []struct{ name, text, want string }{
		{"replaced in one line", spout + "x-a: \"" + strings.Repeat("${a}", 5*n) + "\"\n", ""},
		{"replaced in a list in one line", spout + "x-a: [" + strings.Repeat("${a},", 2*n) + "]\n", ""},
		{"keys with anchors", spout + times(n/10, func(i int) string { return fmt.Sprintf("x-%d: &a%d 1\n", i, i) }), ""},
		{"bolts and streams", spout + "bolts:\n" + times(n/4, func(i int) string { return fmt.Sprintf("- {id: b%d, command: [a]}\n", i) }) +
			"streams:\n" + times(n/4, func(i int) string { return fmt.Sprintf("- {from: s, to: b%d, grouping: {type: ALL}}\n", i) }), ""},
		{"a stream many times", spout + "bolts: [{id: b, command: [a]}]\nstreams:\n" + strings.Repeat("- {from: s, to: b, grouping: {type: ALL}}\n", n/4), ""},
		{"an alias of aliases", spout + "x-0: &a0 [1,1,1,1,1,1,1,1,1,1]\n" + times(12, func(i int) string {
			return fmt.Sprintf("x-%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
		}) + "config: {k: *a12}\n", "t.yaml:4:"},
		{"mistakes", spout + times(n/10, func(i int) string { return fmt.Sprintf("qq%d: 1\n", i) }), "t.yaml: there are more than 100 mistakes; the others are not listed"},
		{"brackets", spout + "x-a: " + strings.Repeat("[", 900) + strings.Repeat("]", 900) + "\n", "t.yaml:4:106: x-a[0][0]"},
		{"more brackets", spout + "x-a: " + strings.Repeat("[", n) + "\n", "t.yaml:4:1: is nested more than 100 deep"},
		{"maps", spout + "x-a:\n" + times(1500, func(i int) string { return strings.Repeat(" ", i+1) + "a:\n" }), "t.yaml:105:102: x-a.a.a"},
		{"colons", spout + strings.Repeat("a: ", n) + "\n", "t.yaml:4:4: is no YAML: mapping value is not allowed in this context"},
		{"quotes", spout + "x-a: " + strings.Repeat("'", 2*n) + "\n", ""},
		{"documents", strings.Repeat("---\n", n), "t.yaml: is empty; a topology needs at least name and spouts"},
		{"too large", spout + strings.Repeat("# a\n", 2<<20), "t.yaml: has 8388665 bytes; a topology's file has at most 4194304"},
		{"too large with its properties", spout + "x-a: \"" + strings.Repeat("${big}", 5) + "\"\n", "t.yaml:4:1: has more than 4194304 bytes with its properties replaced"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := files{"t.yaml": tt.text}.options()
			o.Properties = map[string]string{"a": "bc", "big": strings.Repeat("x", 1<<20)}
			if _, err := Load(o); line1(err, len(tt.want)) != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("got %.200v", err)
			}
		})
	}
}
