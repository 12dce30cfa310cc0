package maven

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCentralOfMaven(t *testing.T) {
	pom := func(repositories string) string {
		return `<project xmlns="x"><repositories>` + repositories + `</repositories></project>`
	}
	for name, tt := range map[string]struct{ file, text, want, wrong string }{
		"there":        {superPOM, pom(`<repository><id>other</id><url>http://a</url></repository><repository><id>central</id><url>http://b/m2</url></repository>`), "http://b/m2", ""},
		"another name": {superPOM, pom(`<repository><id>other</id><url>http://a</url></repository>`), "", "no super POM"},
		"no POM":       {"x.xml", "", "", "no super POM"},
		"no XML":       {superPOM, "<project", "", "maven-model-builder-1.jar"},
	} {
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, "lib"), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(home, "lib", "maven-model-builder-1.jar"))
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(f)
		w, err := z.Create(tt.file)
		if err == nil {
			_, err = w.Write([]byte(tt.text))
		}
		if err = errors.Join(err, z.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := centralOf(home)
		switch {
		case got != tt.want, (err == nil) != (tt.wrong == ""):
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		case err != nil && !strings.Contains(err.Error(), tt.wrong):
			t.Errorf("%s: %q does not say %q", name, err, tt.wrong)
		}
	}
	if _, err := centralOf(t.TempDir()); !errors.Is(err, ErrNoCentral) {
		t.Errorf("without Maven: %v", err)
	}
}
