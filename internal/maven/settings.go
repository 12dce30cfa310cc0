package maven

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Settings are what Maven's settings.xml says about where files are.
type Settings struct {
	// URL is the mirror that stands for Maven Central; "" for none, see Central.
	URL string
	// Local is the folder of the local repository; "" for none.
	Local string
}

// UserSettings are the settings of the user whose home is given: those in
// .m2/settings.xml, or Maven's defaults if there is none.
func UserSettings(home string) (Settings, error) {
	s := Settings{}
	if home == "" {
		return s, nil
	}
	s.Local = filepath.Join(home, ".m2", "repository")
	file := filepath.Join(home, ".m2", "settings.xml")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if s, err = s.with(text, home); err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// with is s with what the text of a settings.xml says.
func (s Settings) with(text []byte, home string) (Settings, error) {
	var file struct {
		LocalRepository string `xml:"localRepository"`
		Mirrors         []struct {
			Of      string `xml:"mirrorOf"`
			URL     string `xml:"url"`
			Blocked string `xml:"blocked"`
		} `xml:"mirrors>mirror"`
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = charset
	if err := d.Decode(&file); err != nil {
		return s, fmt.Errorf("it cannot be read: %w", err)
	}
	fill := strings.NewReplacer("${user.home}", home, "${env.HOME}", home)
	s.Local = fill.Replace(cmp.Or(strings.TrimSpace(file.LocalRepository), s.Local))
	for _, m := range file.Mirrors {
		if strings.TrimSpace(m.Blocked) != "true" && mirrorsCentral(m.Of) {
			s.URL = fill.Replace(strings.TrimSpace(m.URL))
			break
		}
	}
	return s, nil
}

// mirrorsCentral tells whether a mirrorOf covers Maven Central.
func mirrorsCentral(of string) bool {
	covers := false
	for word := range strings.SplitSeq(of, ",") {
		switch strings.TrimSpace(word) {
		case "central", "*", "external:*":
			covers = true
		case "!central":
			return false
		}
	}
	return covers
}
