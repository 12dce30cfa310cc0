package jvm

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// StateJar is the name of the jar that keeps the state of bolts on the ring, in the
	// folder of the installations: it is one for all of them.
	StateJar = "stormring-state.jar"
	// stateManifest is where it says what it was made from.
	stateManifest = "META-INF/MANIFEST.MF"
	stateSources  = "Stormring-Sources: "
	// stateFile is how workers find the agent, in storm.local.dir.
	stateFile = "jvm-state"
	// compileWithin bounds how long the compiler may take.
	compileWithin = 3 * time.Minute
)

// ErrNoCompiler says that this host cannot make the jar.
var ErrNoCompiler = errors.New("there is no javac on this host: state of Java topologies on the ring needs a JDK once; " +
	"install one and run the command again, or copy " + StateJar + " from another host")

// StatePath is where the jar for state is, if it is.
func (o Options) StatePath() string { return filepath.Join(o.Dir, StateJar) }

// HasState tells whether the jar for state is there.
func (o Options) HasState() bool {
	info, err := os.Stat(o.StatePath())
	return err == nil && info.Mode().IsRegular()
}

// StateFile is the file that tells workers where the agent for their state is:
// its host, its port and a secret, in one line. localDir is storm.local.dir.
func StateFile(localDir string) string { return filepath.Join(localDir, stateFile) }

// StateIsFresh tells whether the jar was made from these sources.
func (o Options) StateIsFresh(sources fs.FS) bool {
	want, _, err := digest(sources)
	if err != nil {
		return false
	}
	z, err := zip.OpenReader(o.StatePath())
	if err != nil {
		return false
	}
	defer z.Close()
	f, err := z.Open(stateManifest)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifestBytes))
	return err == nil && bytes.Contains(text, []byte(stateSources+want+"\r\n"))
}

// digest names a state of the sources, whose paths it gives, too.
func digest(sources fs.FS) (sum string, paths []string, err error) {
	h := sha256.New()
	err = fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".java") {
			return err
		}
		text, err := fs.ReadFile(sources, path)
		paths = append(paths, path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:32], paths, err
}

// BuildState makes the jar for state from its sources with the compiler of this host,
// against the libraries of an installation. Errors wrap ErrNoCompiler if there is
// none.
func (o Options) BuildState(ctx context.Context, i Installation, sources fs.FS, getenv func(string) string) error {
	javac, err := findCompiler(ctx, getenv)
	if err != nil {
		return err
	}
	sum, paths, err := digest(sources)
	if err != nil {
		return fmt.Errorf("%s: %w", StateJar, err)
	}
	work, err := os.MkdirTemp(o.Dir, ".state-*")
	if err != nil {
		return fmt.Errorf("%s: %w", StateJar, err)
	}
	defer os.RemoveAll(work)
	classes := filepath.Join(work, "classes")
	if err := compile(ctx, javac, work, classes, i, sources, paths); err != nil {
		return fmt.Errorf("%s cannot be made: %w", StateJar, err)
	}
	text, err := pack(os.DirFS(classes), sum)
	if err == nil {
		err = writeFile(o.StatePath(), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", StateJar, err)
	}
	return nil
}

// findCompiler looks beside the JVM, and then in PATH.
func findCompiler(ctx context.Context, getenv func(string) string) (string, error) {
	dirs := filepath.SplitList(getenv("PATH"))
	if j, err := FindJava(ctx, getenv); err == nil {
		if file, err := filepath.EvalSymlinks(j.Path); err == nil {
			dirs = append([]string{filepath.Dir(file)}, dirs...)
		}
	}
	for _, dir := range dirs {
		if file := filepath.Join(dir, "javac"); dir != "" && executable(file) == nil {
			return filepath.Abs(file)
		}
	}
	return "", ErrNoCompiler
}

// compile makes classes that Java 8 can run.
func compile(ctx context.Context, javac, work, classes string, i Installation, sources fs.FS, paths []string) error {
	from := filepath.Join(work, "sources")
	if err := os.CopyFS(from, sources); err != nil {
		return err
	}
	if err := os.Mkdir(classes, 0o750); err != nil {
		return err
	}
	args := []string{"-nowarn", "-proc:none", "-encoding", "UTF-8", "-cp", strings.Join(i.ClassPath, string(os.PathListSeparator)), "-d", classes}
	for _, p := range paths {
		args = append(args, filepath.Join(from, filepath.FromSlash(p)))
	}
	ctx, cancel := context.WithTimeout(ctx, compileWithin)
	defer cancel()
	run := func(target ...string) error {
		cmd := exec.CommandContext(ctx, javac, append(target, args...)...)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w: %s", javac, strings.Join(target, " "), err, bytes.TrimSpace(out))
		}
		return nil
	}
	err := run("--release", "8")
	if err != nil && ctx.Err() == nil {
		if older := run("-source", "8", "-target", "8"); older == nil { // Java 8 does not know the other
			return nil
		}
	}
	return err
}

// pack is the jar of classes. The same classes make the same bytes.
func pack(classes fs.FS, sum string) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	write := func(name string, text []byte) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	if err := write(stateManifest, []byte("Manifest-Version: 1.0\r\n"+stateSources+sum+"\r\n\r\n")); err != nil {
		return nil, err
	}
	err := fs.WalkDir(classes, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(classes, path)
		if err != nil {
			return err
		}
		return write(path, text)
	})
	if err == nil {
		err = z.Close()
	}
	return out.Bytes(), err
}
