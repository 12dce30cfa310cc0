//go:build unix

package process

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// explain says why a program could not be started, and what to do.
func explain(program, dir string, err error) error {
	var hint string
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w; install it on this host, or put it in the PATH of the supervisor", err)
	case dir != "" && !isDir(dir):
		return fmt.Errorf("the working directory %s is not there: %w", dir, err)
	case errors.Is(err, unix.ENOENT):
		hint = explainMissing(program)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		hint = "it may not be executed; check its mode (chmod +x), its owner, and that its disk is not mounted noexec"
	case errors.Is(err, unix.ENOEXEC):
		hint = explainFormat(program)
	case errors.Is(err, unix.ETXTBSY):
		hint = "somebody is writing to it"
	case errors.Is(err, unix.E2BIG):
		hint = "its arguments and environment are too long; shorten topology.environment"
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM):
		hint = "the host has no room for another process; check its memory, and the limits of processes of the supervisor's user"
	default:
		return fmt.Errorf("%s: %w", program, err)
	}
	return fmt.Errorf("%s: %w; %s", program, err, hint)
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func explainMissing(program string) string {
	head := headOf(program)
	if head == nil {
		return "it is not there; check that the topology's code was fetched whole"
	}
	if line, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		return fmt.Sprintf("it is a script, and its interpreter %q is not there; install that on this host", strings.TrimSpace(string(line)))
	}
	return "it is there, but the loader that it is linked for is not; build it statically (CGO_ENABLED=0)"
}

func explainFormat(program string) string {
	head := headOf(program)
	here := fmt.Sprintf("this host needs one built with GOOS=%s GOARCH=%s", runtime.GOOS, runtime.GOARCH)
	switch {
	case len(head) == 0:
		return "it is empty; check that the topology's code was fetched whole"
	case bytes.HasPrefix(head, []byte("PK")):
		return "it is a zip or jar, not a program"
	case bytes.HasPrefix(head, []byte("MZ")):
		return "it is a program for Windows; " + here
	case bytes.HasPrefix(head, []byte("\xcf\xfa\xed\xfe")), bytes.HasPrefix(head, []byte("\xca\xfe\xba\xbe")):
		return "it is a program for macOS; " + here
	case !bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return "it is not a program; a script needs a first line such as #!/bin/sh"
	}
	f, err := elf.Open(program)
	if err != nil {
		return "it is a damaged program; check that the topology's code was fetched whole"
	}
	defer f.Close()
	return fmt.Sprintf("it is a program for %v (%v); %s", f.Machine, f.Class, here)
}

// headOf is how a file begins; nil if it cannot be read.
func headOf(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 128)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return head[:n]
}
