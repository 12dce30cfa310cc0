package maven

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseArtifact(t *testing.T) {
	for _, c := range []struct{ text, file, path, again string }{
		{"org.apache.storm:storm-client:2.8.3", "storm-client-2.8.3.jar", "org/apache/storm/storm-client/2.8.3/storm-client-2.8.3.jar", "org.apache.storm:storm-client:2.8.3"},
		{"g:a:jar:1", "a-1.jar", "g/a/1/a-1.jar", "g:a:1"},
		{"g:a:zip:1", "a-1.zip", "g/a/1/a-1.zip", "g:a:zip:1"},
		{"g:a:jar:tests:1", "a-1-tests.jar", "g/a/1/a-1-tests.jar", "g:a:jar:tests:1"},
	} {
		a, err := ParseArtifact(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if a.File() != c.file || a.path() != c.path || a.String() != c.again {
			t.Errorf("%s: file %s, path %s, text %s", c.text, a.File(), a.path(), a)
		}
	}
}

func TestParseArtifactRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"g:a":            `"g:a" is no artifact; it has to be group:artifact:version, such as org.apache.storm:storm-client:2.8.3`,
		"g:a:b:c:d:e":    `"g:a:b:c:d:e" is no artifact; it has to be group:artifact:version, such as org.apache.storm:storm-client:2.8.3`,
		"g:a:":           "g:a:: the version is missing",
		"g:a:[1,2)":      "g:a:[1,2): its version is a range, of which there is no way here to find the newest; name one version",
		"g:a:LATEST":     "g:a:LATEST: LATEST may be another one tomorrow; name one version",
		"g:a:1-SNAPSHOT": "g:a:1-SNAPSHOT: snapshots are not supported; name a release",
		"g:a:../x":       `g:a:../x: the version "../x" is not a plain name`,
		"g:..:1":         `g:..:1: the artifact ".." is not a plain name`,
		"g/x:a:1":        `g/x:a:1: the group "g/x" is not a plain name`,
		"g:a:${v}":       "g:a:${v}: the version is ${v}, which nothing defines",
		"g:a:jar:x y:1":  `g:a:jar:x y:1: the classifier "x y" is not a plain name`,
		"g:a:j?r:1":      `g:a:j?r:1: the extension "j?r" is not a plain name`,
	} {
		if _, err := ParseArtifact(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
}

func TestArtifactOf(t *testing.T) {
	c := Coordinates{Group: "g", Name: "a", Version: "1"}
	for _, x := range []struct{ kind, classifier, file string }{
		{"", "", "a-1.jar"},
		{"bundle", "", "a-1.jar"},
		{"test-jar", "", "a-1-tests.jar"},
		{"ejb-client", "", "a-1-client.jar"},
		{"java-source", "", "a-1-sources.jar"},
		{"javadoc", "", "a-1-javadoc.jar"},
		{"jar", "linux-x86_64", "a-1-linux-x86_64.jar"},
		{"so", "", "a-1.so"},
	} {
		if got := artifactOf(c, x.kind, x.classifier).File(); got != x.file {
			t.Errorf("%q %q: %s, not %s", x.kind, x.classifier, got, x.file)
		}
	}
}
