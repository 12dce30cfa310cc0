package multilang

import (
	"embed"
	"fmt"
	"path"
)

// adapters are the child's side of the protocol in each language.
//
//go:embed python/stormring.py node/stormring.js ruby/stormring.rb posix/stormring.sh
var adapters embed.FS

// AdapterFile is the adapter for a language, "python", "node", "ruby" or
// "posix", and the name of the file that it has to stand in.
func AdapterFile(language string) (name string, text []byte, err error) {
	entries, err := adapters.ReadDir(language)
	if err != nil || len(entries) != 1 {
		return "", nil, fmt.Errorf("there is no adapter for the language %q", language)
	}
	name = entries[0].Name()
	text, err = adapters.ReadFile(path.Join(language, name))
	return name, text, err
}
