package command

import (
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestProperties(t *testing.T) {
	cases := map[string]map[string]string{
		"":                           {},
		"# a\n! b\n\n  \t\n":         {},
		"a=b":                        {"a": "b"},
		"a = b \r\nc:d\re f g":       {"a": "b ", "c": "d", "e": "f g"},
		"a":                          {"a": ""},
		"=b":                         {"": "b"},
		`a\ b\=\:=c`:                 {"a b=:": "c"},
		"a=b\\\n   c\\\n\td":         {"a": "bcd"},
		"a=b\\\\\nc=d":               {"a": `b\`, "c": "d"},
		"a=b\\":                      {"a": "b"},
		`a=\t\n\r\f\x\\`:             {"a": "\t\n\r\fx\\"},
		`a=\u00e4\uD83D\uDE00\uD83D`: {"a": "ä😀\uFFFD"},
		"a=1\na=2":                   {"a": "2"},
		"a==b":                       {"a": "=b"},
		"a : = b":                    {"a": "= b"},
		"  a\t\f=ü":                  {"a": "ü"},
		"# no \\\na=b":               {"a": "b"},
	}
	for text, want := range cases {
		if got, err := parseProperties(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a=b\nc=\\\n\\u12": `line 2: the value: \u needs 4 hexadecimal digits`,
		`\uxyzw=b`:         `line 1: \u needs 4 hexadecimal digits`,
	} {
		if _, err := parseProperties(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestPropertiesRoundTrip: whatever is escaped comes back.
func TestPropertiesRoundTrip(t *testing.T) {
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\f", `\f`, " ", `\ `, "=", `\=`, ":", `\:`, "#", `\#`, "!", `\!`)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "properties")
		var b strings.Builder
		for key, value := range want {
			b.WriteString(escape.Replace(key) + "=" + escape.Replace(value) + "\n")
		}
		got, err := parseProperties(b.String())
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Add("a=b\\\n c\\u00e4")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseProperties(text)
		if err == nil && len(got) > strings.Count(text, "\n")+strings.Count(text, "\r")+1 {
			t.Errorf("%d properties in %q", len(got), text)
		}
	})
}
