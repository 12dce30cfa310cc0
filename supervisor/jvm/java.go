package jvm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// askWithin bounds how long a JVM may take to tell its version.
const askWithin = 30 * time.Second

// Java is a JVM of this host.
type Java struct {
	// Path is the program, absolute.
	Path string
	// Version is as the JVM has it, such as 17.0.15 or 1.8.0_292.
	Version string
	// Major is 17, or 8 for 1.8.
	Major int
}

// NoJavaError tells why workers in Java cannot run on this host.
type NoJavaError struct {
	// Err is what is wrong.
	Err error
}

// Error says what is wrong and what to do about it.
func (e *NoJavaError) Error() string {
	return fmt.Sprintf("there is no Java on this host: %v; install a JRE, or set JAVA_HOME", e.Err)
}

// Unwrap is the cause.
func (e *NoJavaError) Unwrap() error { return e.Err }

// FindJava finds the JVM that Storm's supervisor would take: the one at
// JAVA_HOME, which getenv tells, else the one in PATH. The error is a
// *NoJavaError.
func FindJava(ctx context.Context, getenv func(string) string) (Java, error) {
	j, err := findJava(ctx, getenv)
	if err != nil {
		return Java{}, &NoJavaError{Err: err}
	}
	return j, nil
}

func findJava(ctx context.Context, getenv func(string) string) (Java, error) {
	var path string
	if home := strings.TrimSpace(getenv("JAVA_HOME")); home != "" {
		path = filepath.Join(home, "bin", "java")
		if err := executable(path); err != nil {
			return Java{}, fmt.Errorf("JAVA_HOME is wrong: %w", err)
		}
	} else {
		for _, dir := range filepath.SplitList(getenv("PATH")) {
			if file := filepath.Join(dir, "java"); dir != "" && executable(file) == nil {
				path = file
				break
			}
		}
		if path == "" {
			return Java{}, errors.New("java is not in PATH")
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Java{}, err
	}
	version := releasedVersion(path)
	if version == "" {
		if version, err = askVersion(ctx, path); err != nil {
			return Java{}, err
		}
	}
	major, err := majorOf(version)
	if err != nil {
		return Java{}, fmt.Errorf("%s: %w", path, err)
	}
	return Java{Path: path, Version: version, Major: major}, nil
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
		err = fmt.Errorf("%s is no program", path)
	}
	return err
}

// releasedVersion is what the file says that comes with most JVMs; "" if it is
// not there.
func releasedVersion(path string) string {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(file)), "release"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "JAVA_VERSION="); ok {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

var versionLine = regexp.MustCompile(`version "([^"]+)"`)

// askVersion asks the JVM.
func askVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-version")
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s -version: %w", path, cmp.Or(context.Cause(ctx), err))
	}
	m := versionLine.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s -version does not tell its version", path)
	}
	return string(m[1]), nil
}

// majorOf is the number by which a version of Java is called.
func majorOf(version string) (int, error) {
	rest := strings.TrimPrefix(version, "1.")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no version of Java", version)
	}
	return n, nil
}

// JavaMismatchError is about an installation that does not run on the JVM that
// is here.
type JavaMismatchError struct {
	Storm       string
	Java        Java
	Least, Most int // versions of Java that it runs on; Most is 0 if that is not known
}

// Error says which version of Java is needed.
func (e *JavaMismatchError) Error() string {
	wants := fmt.Sprintf("Java %d or newer", e.Least)
	if e.Most > 0 {
		wants = fmt.Sprintf("Java %d to %d", e.Least, e.Most)
	}
	return fmt.Sprintf("workers of Storm %s need %s, but %s is %s; install another one and set JAVA_HOME", e.Storm, wants, e.Java.Path, e.Java.Version)
}

const (
	// Workers before 2.4 have a client of ZooKeeper 3.4, which cannot find its
	// servers on Java 14 or newer: it reads their names from a text that was
	// changed then.
	oldZooKeeperMajor, oldZooKeeperMinor = 2, 4
	oldZooKeeperJava                     = 13
)

// RunsOn tells whether workers of this installation run on a JVM. The error is
// a *JavaMismatchError, or one of [Installation.NeedsJava].
func (i Installation) RunsOn(j Java) error {
	least, err := i.NeedsJava()
	if err != nil {
		return err
	}
	most := 0
	if v := i.Version; v.major < oldZooKeeperMajor || v.major == oldZooKeeperMajor && v.minor < oldZooKeeperMinor {
		most = oldZooKeeperJava
	}
	if j.Major < least || most > 0 && j.Major > most {
		return &JavaMismatchError{Storm: i.Version.String(), Java: j, Least: least, Most: most}
	}
	return nil
}
