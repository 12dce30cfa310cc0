// Package java has the sources of stormring-state.jar, which keeps the state of Java
// topologies on the ring: see README.md. `stormring jvm install` compiles them.
package java

import (
	"embed"
	"io/fs"

	"github.com/stormring/stormring/internal/assert"
)

//go:embed src/main/java
var sources embed.FS

// Sources are the files, by their path as Java has it, such as
// stormring/state/RingState.java.
func Sources() fs.FS {
	files, err := fs.Sub(sources, "src/main/java")
	assert.That(err == nil, "the sources are embedded: %v", err)
	return files
}
