package jvm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func version(t *testing.T, text string) Version {
	t.Helper()
	v, err := ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVersionsInOrder(t *testing.T) {
	order := []string{"0.9.7", "1.0", "1.0.6", "1.2.4", "2.0.0-SNAPSHOT", "2.0.0", "2.2.1", "2.8.3", "2.8.10", "2.10.0", "3.0.0"}
	var versions []Version
	for _, text := range order {
		versions = append(versions, version(t, text))
	}
	slices.Reverse(versions)
	slices.SortFunc(versions, Version.Compare)
	for i, v := range versions {
		if v.String() != order[i] {
			t.Errorf("%d is %s, not %s", i, v, order[i])
		}
	}
}

func TestParseVersionRefuses(t *testing.T) {
	for _, text := range []string{"", "2", "x", "2.x", "../2.8.3", "2.8.3/x", "2.8.3 ", "9999999.1", "Unknown", ".2.8.3"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("%q is %+v", text, v)
		}
	}
}

func TestArtifact(t *testing.T) {
	for text, want := range map[string]string{
		"2.8.3": "org.apache.storm:storm-client:2.8.3",
		"1.2.4": "org.apache.storm:storm-core:1.2.4",
		"0.9.7": "version 0.9.7 of Storm is too old; 1.0 is the oldest that has workers to run here",
		"2.8":   "the version 2.8 is not whole; it has to be like 2.8.3",
	} {
		got, err := version(t, text).Artifact()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// install puts a jar into a folder for each version.
func install(t *testing.T, dir string, versions ...string) {
	t.Helper()
	for _, v := range versions {
		folder := filepath.Join(dir, v)
		if err := os.MkdirAll(folder, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "storm-client-"+v+".jar"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	install(t, dir, "1.0.6", "1.2.3", "2.2.0", "2.2.1", "2.6.2", "2.6.4", "2.8.3", ".2.9.0.new", "notes")
	if err := os.Mkdir(filepath.Join(dir, "2.9.0"), 0o750); err != nil { // no jars
		t.Fatal(err)
	}
	i := New(Options{Dir: dir, Extra: []string{"/conf"}})
	for _, c := range []struct {
		wanted, got string
		fit         Fit
	}{
		{"2.8.3", "2.8.3", FitExact},
		{"2.6.3", "2.6.4", FitPatch},   // the next
		{"2.6.0", "2.6.2", FitPatch},   // the nearest
		{"2.6.9", "2.6.4", FitPatch},   // the last
		{"2.3.0", "2.6.4", FitNewer},   // the next minor version, its last patch
		{"2.0.0", "2.2.1", FitNewer},   // the same
		{"2.9.0", "2.8.3", FitOlder},   // none is newer
		{"1.1.0", "1.2.3", FitNewer},   // never another major version
		{"1.9.0", "1.2.3", FitOlder},   // the same
		{"", "2.8.3", FitExact},        // the newest
		{"Unknown", "2.8.3", FitExact}, // Storm says so of builds of its own
		{"2.8.3-SNAPSHOT", "2.8.3", FitPatch},
	} {
		got, err := i.Find(c.wanted)
		if err != nil || got.Version.String() != c.got || got.Fit != c.fit {
			t.Errorf("%s: %s, %s, %v", c.wanted, got.Version, got.Fit, err)
			continue
		}
		if want := []string{filepath.Join(dir, c.got, "*"), "/conf"}; !slices.Equal(got.ClassPath, want) || got.Dir != filepath.Join(dir, c.got) {
			t.Errorf("%s: class path %q, folder %s", c.wanted, got.ClassPath, got.Dir)
		}
		if want := "org.apache.storm.daemon.worker"; got.Version.Major() == 1 && got.Main != want || got.Version.Major() == 2 && got.Main != want+".Worker" {
			t.Errorf("%s: main class %s", c.wanted, got.Main)
		}
	}
}

func TestFindNothing(t *testing.T) {
	dir := t.TempDir()
	install(t, dir, "2.6.4", "2.8.3")
	for _, c := range []struct {
		o            Options
		wanted, want string
	}{
		{Options{Dir: dir}, "1.2.4", "the topology needs the worker libraries of Storm 1.2.4, but there are those of 2.6.4, 2.8.3; get them by: stormring jvm install 1.2.4"},
		{Options{Dir: dir}, "3.0.0", "the topology needs the worker libraries of Storm 3.0.0, but there are those of 2.6.4, 2.8.3; get them by: stormring jvm install 3.0.0"},
		{Options{}, "2.8.3", "the topology needs the worker libraries of Storm 2.8.3, but there are none of any version; get them by: stormring jvm install 2.8.3"},
		{Options{Dir: filepath.Join(dir, "none")}, "", "Java topologies need Storm's worker libraries, and there are none of any version; get them by: stormring jvm install VERSION"},
		{Options{Dir: dir}, "x", `"x" is no version of Storm; it has to be like 2.8.3`},
		{Options{Dir: dir, Default: "x"}, "", `supervisor.worker.default.version: "x" is no version of Storm; it has to be like 2.8.3`},
		{Options{ClassPaths: map[string]string{"x": "/y"}}, "2.8.3", `supervisor.worker.version.classpath.map: "x" is no version of Storm; it has to be like 2.8.3`},
		{Options{Dir: dir, Mains: map[string]string{"x": "y"}}, "2.8.3", `supervisor.worker.version.main.map: "x" is no version of Storm; it has to be like 2.8.3`},
	} {
		if got, err := New(c.o).Find(c.wanted); err == nil || err.Error() != c.want {
			t.Errorf("%s: %+v, %v", c.wanted, got, err)
		}
	}
}

func TestConfiguredClassPaths(t *testing.T) {
	dir := t.TempDir()
	install(t, dir, "2.8.3", "2.6.4")
	o := OptionsOf(map[string]any{
		LibsKey:           dir,
		ClassPathKey:      map[string]any{"2.8.3": "/a/*:/b.jar", "1.2": "/old/*"},
		MainKey:           map[string]any{"1.2": "my.OldMain", "2.7": "my.Main"},
		DefaultVersionKey: "2.6.4",
	}, "/storm")
	i := New(o)
	for wanted, want := range map[string]string{
		"2.8.3": "2.8.3 [/a/* /b.jar] my.Main exact", // of the map of mains the next older one counts
		"2.6.4": "2.6.4 [" + dir + "/2.6.4/*] my.Main exact",
		"1.2.4": "1.2 [/old/*] my.OldMain another patch of the same version",
		"1.1.0": "1.2 [/old/*] my.OldMain newer",
		"":      "2.6.4 [" + dir + "/2.6.4/*] my.Main exact",
	} {
		got, err := i.Find(wanted)
		if text := got.Version.String() + " [" + strings.Join(got.ClassPath, " ") + "] " + got.Main + " " + got.Fit.String(); err != nil || text != want {
			t.Errorf("%s: %s, %v", wanted, text, err)
		}
	}
	list, err := i.List()
	if err != nil || len(list) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	if got := OptionsOf(map[string]any{}, "/storm").Dir; got != "/storm/jvm" {
		t.Errorf("without the key the folder is %s", got)
	}
}

// TestBetterIsAnOrder: whatever is installed and in whatever order it is looked
// at, the same one is found, and none of the same minor version is passed over.
func TestBetterIsAnOrder(t *testing.T) {
	drawn := rapid.Custom(func(t *rapid.T) Version {
		v := Version{major: rapid.IntRange(1, 2).Draw(t, "major"), minor: rapid.IntRange(0, 3).Draw(t, "minor"), patch: rapid.IntRange(-1, 3).Draw(t, "patch")}
		v.text = "x"
		return v
	})
	rapid.Check(t, func(t *rapid.T) {
		wanted := drawn.Draw(t, "wanted")
		have := rapid.SliceOfN(drawn, 1, 6).Draw(t, "have")
		pick := func(list []Version) Version {
			best := list[0]
			for _, v := range list[1:] {
				if v.better(best, wanted) {
					best = v
				}
			}
			return best
		}
		best := pick(have)
		if other := pick(rapid.Permutation(have).Draw(t, "shuffled")); other != best {
			t.Fatalf("%+v or %+v, by order", best, other)
		}
		for _, v := range have {
			if v.fit(wanted) < best.fit(wanted) {
				t.Fatalf("%+v goes before %+v", best, v)
			}
		}
	})
}

func FuzzParseVersion(f *testing.F) {
	f.Add("2.8.3")
	f.Add("2.0.0-SNAPSHOT")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseVersion(text)
		if err != nil {
			return
		}
		if v.String() != text || v.Compare(v) != 0 || v.fit(v) != FitExact || filepath.Base(text) != text {
			t.Errorf("%q is %+v", text, v)
		}
	})
}
