package maven

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// poms are POMs by group:artifact:version: what is between <project> and
// </project> without the coordinates.
type poms map[string]string

// POM implements POMs.
func (p poms) POM(_ context.Context, c Coordinates) ([]byte, error) {
	body, ok := p[c.String()]
	if !ok {
		return nil, ErrNotFound
	}
	if strings.HasPrefix(body, "<?xml") {
		return []byte(body), nil
	}
	return []byte(fmt.Sprintf("<project><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>%s</project>", c.Group, c.Name, c.Version, body)), nil
}

// dep is a dependency on group:artifact[:version], with more elements.
func dep(name string, more ...string) string {
	parts := strings.Split(name, ":")
	text := "<groupId>" + parts[0] + "</groupId><artifactId>" + parts[1] + "</artifactId>"
	if len(parts) > 2 {
		text += "<version>" + parts[2] + "</version>"
	}
	return "<dependency>" + text + strings.Join(more, "") + "</dependency>"
}

func deps(list ...string) string {
	return "<dependencies>" + strings.Join(list, "") + "</dependencies>"
}

func managed(list ...string) string {
	return "<dependencyManagement>" + deps(list...) + "</dependencyManagement>"
}

func parent(name string) string {
	parts := strings.Split(name, ":")
	return "<parent><groupId>" + parts[0] + "</groupId><artifactId>" + parts[1] + "</artifactId><version>" + parts[2] + "</version></parent>"
}

func without(names ...string) string {
	text := ""
	for _, name := range names {
		group, artifact, _ := strings.Cut(name, ":")
		text += "<exclusion><groupId>" + group + "</groupId><artifactId>" + artifact + "</artifactId></exclusion>"
	}
	return "<exclusions>" + text + "</exclusions>"
}

var platform = Platform{JDK: "17.0.2", OS: "linux", Family: "unix", Arch: "amd64"}

// resolve is the result for g:root:1 in few words.
func resolve(t *testing.T, p POMs, without ...Exclusion) (string, []string, error) {
	t.Helper()
	root, err := ParseArtifact("g:root:1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Resolve(t.Context(), p, platform, root, without...)
	var names []string
	for _, n := range got.Needs {
		names = append(names, strings.TrimPrefix(n.String(), "g:"))
	}
	return strings.Join(names, " "), got.Warnings, err
}

func TestResolve(t *testing.T) {
	const optional, test, provided, runtime = "<optional>true</optional>", "<scope>test</scope>", "<scope>provided</scope>", "<scope>runtime</scope>"
	const importPOM = "<type>pom</type><scope>import</scope>"
	for name, c := range map[string]struct {
		poms poms
		want string
	}{
		"alone": {poms{"g:root:1": ""}, "root:1"},
		"scopes": {poms{
			"g:root:1": deps(dep("g:a:1"), dep("g:b:1", runtime), dep("g:c:1", test), dep("g:d:1", provided), dep("g:e:1", "<scope>system</scope>"), dep("g:f:1", optional)),
			"g:a:1":    deps(dep("g:g:1", test), dep("g:h:1", provided), dep("g:i:1", optional), dep("g:j:1", runtime)),
			"g:b:1":    "", "g:j:1": "",
		}, "root:1 a:1 b:1 j:1"},
		"nearest wins": {poms{
			"g:root:1": deps(dep("g:a:1"), dep("g:x:1")),
			"g:a:1":    deps(dep("g:x:2")), "g:x:1": "", "g:x:2": deps(dep("g:lost:1")),
		}, "root:1 a:1 x:1"},
		"then the first declared": {poms{
			"g:root:1": deps(dep("g:a:1"), dep("g:b:1")),
			"g:a:1":    deps(dep("g:x:2")), "g:b:1": deps(dep("g:x:3")), "g:x:2": "", "g:x:3": "",
		}, "root:1 a:1 b:1 x:2"},
		"a circle": {poms{"g:root:1": deps(dep("g:a:1")), "g:a:1": deps(dep("g:root:2"), dep("g:a:3"))}, "root:1 a:1"},
		"exclusions": {poms{
			"g:root:1": deps(dep("g:a:1", without("g:x", "h:*")), dep("g:b:1", without("*:*"))),
			"g:a:1":    deps(dep("g:c:1"), dep("h:y:1")), "g:c:1": deps(dep("g:x:1"), dep("g:z:1")), "g:z:1": "",
			"g:b:1": deps(dep("g:q:1")),
		}, "root:1 a:1 b:1 c:1 z:1"},
		"an excluded one may come by another way": {poms{
			"g:root:1": deps(dep("g:a:1", without("g:x")), dep("g:b:1")),
			"g:a:1":    deps(dep("g:x:1")), "g:b:1": deps(dep("g:x:2")), "g:x:2": "",
		}, "root:1 a:1 b:1 x:2"},
		"parents and properties": {poms{
			"g:root:1": parent("g:up:7") + "<properties><b.version>3</b.version></properties>" + deps(dep("g:a"), dep("${project.groupId}:${project.artifactId}-more:${project.version}")),
			"g:up:7":   parent("g:top:7") + "<properties><a.version>2</a.version><b.version>1</b.version></properties>" + deps(dep("g:b:${b.version}")),
			"g:top:7":  "<properties><a.version>1</a.version></properties>" + managed(dep("g:a:${a.version}")),
			"g:a:2":    "", "g:b:3": "", "g:root-more:1": "",
		}, "root:1 a:2 root-more:1 b:3"},
		"the child's version counts": {poms{
			"g:root:1": parent("g:up:7") + deps(dep("g:a:5")), "g:up:7": deps(dep("g:a:4")), "g:a:5": "",
		}, "root:1 a:5"},
		"imports": {poms{
			"g:root:1":  managed(dep("g:bom:1", importPOM), dep("g:late:1", importPOM), dep("g:c:own")) + deps(dep("g:a"), dep("g:b"), dep("g:c")),
			"g:bom:1":   parent("g:bomup:1") + "<properties><v>6</v></properties>" + managed(dep("g:a:${v}"), dep("g:c:bom"), dep("g:deep:1", importPOM)),
			"g:bomup:1": managed(dep("g:b:up")), "g:late:1": managed(dep("g:a:late")), "g:deep:1": managed(dep("g:d:deep")),
			"g:a:6": deps(dep("g:d:0")), "g:b:up": "", "g:c:own": "", "g:d:deep": "",
		}, "root:1 a:6 b:up c:own d:deep"},
		"management of the root holds below": {poms{
			"g:root:1": managed(dep("g:x:9", without("g:y")), dep("g:t:1", test), dep("g:o:1", optional)) + deps(dep("g:a:1")),
			"g:a:1":    deps(dep("g:x:1"), dep("g:t:1"), dep("g:o:1")), "g:x:9": deps(dep("g:y:1")),
		}, "root:1 a:1 x:9"},
		"management of others does not": {poms{
			"g:root:1": deps(dep("g:a:1")), "g:a:1": managed(dep("g:x:9")) + deps(dep("g:b:1")), "g:b:1": deps(dep("g:x:1")), "g:x:1": "",
		}, "root:1 a:1 b:1 x:1"},
		"what is declared goes before management": {poms{
			"g:root:1": managed(dep("g:a:9", test)) + deps(dep("g:a:1", runtime)), "g:a:1": "",
		}, "root:1 a:1"},
		"classifiers are things of their own": {poms{
			"g:root:1": deps(dep("g:a:1"), dep("g:a:2", "<classifier>linux</classifier>"), dep("g:a:1", "<type>test-jar</type>"), dep("g:p:1", "<type>pom</type>")),
			"g:a:1":    "", "g:a:2": "", "g:p:1": deps(dep("g:q:1")), "g:q:1": "",
		}, "root:1 a:1 a:jar:linux:2 a:jar:tests:1 q:1"},
		"a pinned version": {poms{"g:root:1": deps(dep("g:a:[1.5]")), "g:a:1.5": ""}, "root:1 a:1.5"},
		"moved": {poms{
			"g:root:1": deps(dep("g:old:1"), dep("g:older:1")), "g:old:1": "<distributionManagement><relocation><artifactId>new</artifactId></relocation></distributionManagement>",
			"g:older:1": "<distributionManagement><relocation><artifactId>new</artifactId></relocation></distributionManagement>", "g:new:1": deps(dep("g:a:1")), "g:a:1": "",
		}, "root:1 new:1 a:1"},
		"profiles": {poms{
			"g:root:1": "<profiles><profile><activation><jdk>[9,)</jdk></activation>" + deps(dep("g:a:1")) + "</profile>" +
				"<profile><activation><jdk>1.8</jdk></activation>" + deps(dep("g:b:1")) + "</profile>" +
				"<profile><activation><os><family>windows</family></os></activation>" + deps(dep("g:c:1")) + "</profile></profiles>",
			"g:a:1": "",
		}, "root:1 a:1"},
		"an old encoding, and entities": {poms{
			"g:root:1": "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><project><name>J\xf6rg &eacute; </name>" + deps(dep("g:a: 1 ")) + "</project>", "g:a:1": "",
		}, "root:1 a:1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings, err := resolve(t, c.poms)
			if err != nil || got != c.want || len(warnings) > 0 {
				t.Errorf("%s %v, %v; not %s", got, warnings, err, c.want)
			}
		})
	}
}

func TestResolveWithout(t *testing.T) {
	p := poms{"g:root:1": deps(dep("g:a:1"), dep("h:b:1")), "g:a:1": deps(dep("h:c:1"))}
	if got, _, err := resolve(t, p, Exclusion{Group: "h", Name: "*"}); err != nil || got != "root:1 a:1" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestResolveWarnsOfMissingPOM(t *testing.T) {
	got, warnings, err := resolve(t, poms{"g:root:1": deps(dep("g:a:1"))})
	want := "g:a:1 (by way of g:root:1) has no POM; what it needs is not known"
	if err != nil || got != "root:1 a:1" || len(warnings) != 1 || warnings[0] != want {
		t.Errorf("%s %q %v", got, warnings, err)
	}
}

func TestResolveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		poms poms
		want string
	}{
		"no root":          {poms{}, "g:root:1: the POM of g:root:1: not in the repository"},
		"a range":          {poms{"g:root:1": deps(dep("g:a:[1,2)"))}, "g:a:[1,2) (by way of g:root:1): g:a:[1,2): its version is a range, of which there is no way here to find the newest; name one version"},
		"no version":       {poms{"g:root:1": deps(dep("g:a"))}, "g:a: (by way of g:root:1): g:a:: the version is missing"},
		"no property":      {poms{"g:root:1": deps(dep("g:b:1"), dep("g:a:${v}")), "g:b:1": ""}, "g:root:1 needs g:a:${v}, with a property that nothing sets"},
		"no parent":        {poms{"g:root:1": parent("g:up:1")}, "g:root:1: the parent of g:root:1: the POM of g:up:1: not in the repository"},
		"its own ancestor": {poms{"g:root:1": parent("g:root:1")}, "g:root:1 has more than 32 ancestors, or is its own"},
		"no import":        {poms{"g:root:1": managed(dep("g:b:1", "<type>pom</type><scope>import</scope>"))}, "g:root:1: g:root:1 imports g:b:1: the POM of g:b:1: not in the repository"},
		"parent of another missing": {
			poms{"g:root:1": deps(dep("g:a:1")), "g:a:1": parent("g:up:1")},
			"g:a:1 (by way of g:root:1): the parent of g:a:1: the POM of g:up:1: not in the repository",
		},
		"no POM at all": {poms{"g:root:1": "<?xml version='1.0'?><html>"}, "g:root:1: the POM of g:root:1: it is no POM: XML syntax error on line 1: unexpected EOF"},
		"an evil name":  {poms{"g:root:1": deps(dep("g:../../x:1"))}, `g:../../x:1 (by way of g:root:1): g:../../x:1: the artifact "../../x" is not a plain name`},
		"a property without end": {
			poms{"g:root:1": "<properties><a>xxxxxxxxxxxxxxxx</a>" + doubling(40) + "</properties>"},
			"g:root:1: the POM of g:root:1: the property p13 is larger than 65536 bytes when it is filled in",
		},
		"moving for ever": {
			poms{"g:root:1": "<distributionManagement><relocation><artifactId>root</artifactId></relocation></distributionManagement>"},
			"g:root:1 (by way of g:root:1, g:root:1, g:root:1, g:root:1, g:root:1, g:root:1, g:root:1, g:root:1) has moved more than 8 times",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := resolve(t, c.poms)
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%v, not %s", err, c.want)
			}
		})
	}
}

// doubling are n properties, each twice as large as the one before.
func doubling(n int) string {
	text, last := "", "a"
	for i := range n {
		text += fmt.Sprintf("<p%d>${%s}${%s}</p%d>", i+1, last, last, i+1)
		last = fmt.Sprintf("p%d", i+1)
	}
	return text
}

// counted counts the requests for each POM.
type counted struct {
	poms
	mu   sync.Mutex
	seen map[Coordinates]int
}

// POM implements POMs.
func (c *counted) POM(ctx context.Context, of Coordinates) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[of]++
	return c.poms.POM(ctx, of)
}

func TestResolveAsksOnce(t *testing.T) {
	c := &counted{seen: map[Coordinates]int{}, poms: poms{
		"g:root:1": parent("g:up:1") + deps(dep("g:a:1"), dep("g:b:1")), "g:a:1": parent("g:up:1") + deps(dep("g:c:1")), "g:b:1": parent("g:up:1") + deps(dep("g:c:1")),
		"g:c:1": parent("g:up:1"), "g:up:1": "",
	}}
	if _, _, err := resolve(t, c); err != nil {
		t.Fatal(err)
	}
	for of, n := range c.seen {
		if n != 1 {
			t.Errorf("%s was asked for %d times", of, n)
		}
	}
}

// broken fails for one POM.
type broken struct{ poms }

var errBroken = errors.New("broken")

// POM implements POMs.
func (b broken) POM(ctx context.Context, c Coordinates) ([]byte, error) {
	if c.Name == "a" {
		return nil, errBroken
	}
	return b.poms.POM(ctx, c)
}

func TestResolveKeepsErrors(t *testing.T) {
	if _, _, err := resolve(t, broken{poms{"g:root:1": deps(dep("g:a:1"))}}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := NewRepository(Settings{URL: "http://127.0.0.1:1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	root, err := ParseArtifact("g:root:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve(ctx, r, platform, root); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestResolveRandom holds any graph to what has to be true of a result: the root
// first, one version of each, and each wanted by one that is there.
func TestResolveRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("g:%c:%d", 'a'+rapid.IntRange(0, 5).Draw(t, "name"), rapid.IntRange(1, 3).Draw(t, "version"))
		})
		p := poms{"g:root:1": deps(dep(name.Draw(t, "first"), ""), dep(name.Draw(t, "second"), ""))}
		for n := range 6 {
			for v := range 3 {
				var list []string
				for range rapid.IntRange(0, 3).Draw(t, "needs") {
					list = append(list, dep(name.Draw(t, "need")))
				}
				p[fmt.Sprintf("g:%c:%d", 'a'+n, v+1)] = deps(list...)
			}
		}
		root, err := ParseArtifact("g:root:1")
		if err != nil {
			t.Fatal(err)
		}
		got, err := Resolve(context.Background(), p, platform, root)
		if err != nil {
			t.Fatal(err)
		}
		if got.Needs[0].String() != "g:root:1" {
			t.Fatalf("first comes %s", got.Needs[0])
		}
		there := map[Coordinates]bool{}
		names := map[string]bool{}
		depth := 0
		for i, n := range got.Needs {
			if names[n.Name] {
				t.Fatalf("two versions of %s", n.Name)
			}
			if len(n.By) < depth {
				t.Fatalf("%s comes after what is farther away", n)
			}
			depth = len(n.By)
			names[n.Name] = true
			if i > 0 {
				by := n.By[len(n.By)-1]
				if !there[by] || !strings.Contains(p[by.String()], dep(n.Coordinates.String())) && by.Name != "root" {
					t.Fatalf("%s does not need %s", by, n)
				}
			}
			there[n.Coordinates] = true
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("<project>" + parent("g:up:1") + deps(dep("g:a:${v}", without("*:*"))) + "</project>"))
	f.Add([]byte("<?xml version='1.0' encoding='latin1'?><project><properties><a>${b}</a><b>${a}</b></properties></project>"))
	f.Add([]byte("<project><profiles><profile><activation><jdk>[1,</jdk></activation></profile></profiles></project>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := decode(text); err != nil {
			return
		}
		c := Coordinates{Group: "g", Name: "root", Version: "1"}
		_, _, err := newModels(raw(text), platform).whole(t.Context(), c)
		_ = err // any, but it ends
	})
}

// raw is the same text for every POM.
type raw []byte

// POM implements POMs.
func (r raw) POM(context.Context, Coordinates) ([]byte, error) { return r, nil }
