package maven

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
)

// superPOM is the POM above all others, in a jar of Maven's: it says where Maven
// Central is.
const (
	superPOM     = "org/apache/maven/model/pom-4.0.0.xml"
	superPOMJars = "maven-model-builder-*.jar"
	mostSuperPOM = 1 << 20
)

// ErrNoCentral is that nothing tells where Maven Central is.
var ErrNoCentral = errors.New("nothing tells where Maven Central is: install Maven, name a mirror in ~/.m2/settings.xml, or give the repository's address")

// Central asks the Maven of this host where Maven Central is, as its own super POM has
// it. Errors wrap ErrNoCentral.
func Central() (string, error) {
	path, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoCentral, err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoCentral, err)
	}
	return centralOf(filepath.Dir(filepath.Dir(path)))
}

// centralOf is what the Maven in a folder says.
func centralOf(home string) (string, error) {
	jars, err := filepath.Glob(filepath.Join(home, "lib", superPOMJars))
	if err != nil {
		return "", err
	}
	for _, jar := range jars {
		address, err := centralIn(jar)
		if err != nil {
			return "", fmt.Errorf("%s: %w", jar, err)
		}
		if address != "" {
			return address, nil
		}
	}
	return "", fmt.Errorf("%w: there is no super POM in %s", ErrNoCentral, home)
}

func centralIn(jar string) (string, error) {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return "", err
	}
	defer z.Close()
	f, err := z.Open(superPOM)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	var pom struct {
		Repositories []struct {
			ID  string `xml:"id"`
			URL string `xml:"url"`
		} `xml:"repositories>repository"`
	}
	if err := xml.NewDecoder(io.LimitReader(f, mostSuperPOM)).Decode(&pom); err != nil {
		return "", err
	}
	for _, r := range pom.Repositories {
		if r.ID == "central" {
			return r.URL, nil
		}
	}
	return "", nil
}
