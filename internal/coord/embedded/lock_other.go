//go:build !unix

package embedded

import "os"

// lockDir has no lock to hold on this system: that no other process uses the
// folder is up to the user.
func lockDir(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
}
