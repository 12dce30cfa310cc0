package jvm

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// manifestFile lists the jars of a folder.
	manifestFile = "stormring.json"
	// manifestFormat is the version of its format.
	manifestFormat = 1
	// maxManifestBytes bounds it.
	maxManifestBytes = 8 << 20
	// classBase and the version of Java are the version of a class file.
	classBase = 44
	// leastJava is what Storm 1 needs, the class files of whose worker, made by
	// Clojure, are older.
	leastJava = 7
)

// manifest says what was installed, so that it can be told whether it is whole.
type manifest struct {
	Format   int    `json:"format"`
	Artifact string `json:"artifact"`
	Jars     []jar  `json:"jars"`
}

type jar struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Stage is the folder in which the libraries of a version are gathered before
// they are an installation in dir. What an earlier try left there may be used.
func Stage(dir string, v Version) (string, error) {
	stage := filepath.Join(dir, "."+v.String()+".new")
	if err := os.MkdirAll(stage, 0o755); err != nil {
		return "", fmt.Errorf("a folder for Storm %s: %w", v, err)
	}
	return stage, nil
}

// Publish makes what is staged the installation of v in dir, in place of
// what may have been there. names are the files that belong to it; what else is
// there goes. artifact is what they were got for.
func Publish(ctx context.Context, dir string, v Version, artifact string, names []string) error {
	stage, err := Stage(dir, v)
	if err != nil {
		return err
	}
	m := manifest{Format: manifestFormat, Artifact: artifact}
	for _, name := range slices.Sorted(slices.Values(names)) {
		j, err := readJar(ctx, stage, name)
		if err != nil {
			return fmt.Errorf("the worker libraries of Storm %s: %w", v, err)
		}
		m.Jars = append(m.Jars, j)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := publish(stage, filepath.Join(dir, v.String()), names, append(text, '\n')); err != nil {
		return fmt.Errorf("the worker libraries of Storm %s: %w", v, err)
	}
	return nil
}

func publish(stage, final string, names []string, text []byte) error {
	entries, err := os.ReadDir(stage)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) && e.Name() != manifestFile {
			if err := os.RemoveAll(filepath.Join(stage, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := writeFile(filepath.Join(stage, manifestFile), text, 0o644); err != nil {
		return err
	}
	old := filepath.Join(filepath.Dir(final), "."+filepath.Base(final)+".old")
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(final, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(stage, final); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

func readJar(ctx context.Context, dir, name string) (jar, error) {
	if err := ctx.Err(); err != nil {
		return jar{}, err
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return jar{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return jar{Name: name, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// Check tells what is wrong with an installation: libraries that are missing or
// damaged, or that do not have the worker. Of a folder that was filled by hand
// it only knows that it has the worker.
func (i Installation) Check(ctx context.Context) error {
	if i.Dir != "" {
		if err := checkManifest(ctx, i.Dir); err != nil {
			return i.broken(err)
		}
	}
	_, err := i.NeedsJava()
	return err
}

func (i Installation) broken(err error) error {
	if i.Dir == "" {
		return fmt.Errorf("the worker libraries of Storm %s: %w; mend %s", i.Version, err, ClassPathKey)
	}
	return fmt.Errorf("the worker libraries of Storm %s: %w; get them anew by: stormring jvm install %s", i.Version, err, i.Version)
}

func checkManifest(ctx context.Context, dir string) error {
	m, err := readManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // filled by hand
	}
	if err != nil {
		return err
	}
	for _, want := range m.Jars {
		got, err := readJar(ctx, dir, want.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s is missing", want.Name)
		case err != nil:
			return err
		case got != want:
			return fmt.Errorf("%s is damaged", want.Name)
		}
	}
	for _, name := range jars(dir) {
		if !slices.ContainsFunc(m.Jars, func(j jar) bool { return j.Name == name }) {
			return fmt.Errorf("%s does not belong there", name)
		}
	}
	return nil
}

func readManifest(dir string) (manifest, error) {
	f, err := os.Open(filepath.Join(dir, manifestFile))
	if err != nil {
		return manifest{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifestBytes))
	if err != nil {
		return manifest{}, err
	}
	return parseManifest(text)
}

func parseManifest(text []byte) (manifest, error) {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return manifest{}, fmt.Errorf("%s cannot be read: %w", manifestFile, err)
	}
	if m.Format != manifestFormat {
		return manifest{}, fmt.Errorf("%s has format %d; this program knows %d", manifestFile, m.Format, manifestFormat)
	}
	for _, j := range m.Jars {
		if j.Name == "" || j.Name[0] == '.' || j.Name != filepath.Base(j.Name) {
			return manifest{}, fmt.Errorf("%s lists %q, which is no plain name", manifestFile, j.Name)
		}
	}
	return m, nil
}

// NeedsJava is the oldest version of Java that its worker runs on, by its class
// file. An error says that the class path does not have the worker.
func (i Installation) NeedsJava() (int, error) {
	class := strings.ReplaceAll(i.Main, ".", "/") + ".class"
	for _, path := range i.ClassPath {
		for _, part := range expand(path) {
			n, err := classVersion(part, class)
			switch {
			case err != nil:
				return 0, i.broken(err)
			case n > 0:
				return n, nil
			}
		}
	}
	return 0, i.broken(fmt.Errorf("there is no class %s on the class path", i.Main))
}

// expand is a part of a class path, as the JVM understands it.
func expand(part string) []string {
	dir, ok := strings.CutSuffix(part, "*")
	if !ok {
		return []string{part}
	}
	var out []string
	for _, name := range jars(dir) {
		out = append(out, filepath.Join(dir, name))
	}
	return out
}

// classVersion is the version of Java that a class in a jar or a folder needs;
// 0 if it is not there.
func classVersion(part, class string) (int, error) {
	info, err := os.Stat(part)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // for a JVM this is no error either
	}
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		return classVersionIn(os.DirFS(part), part, class)
	}
	if !strings.EqualFold(filepath.Ext(part), ".jar") {
		return 0, nil
	}
	z, err := zip.OpenReader(part)
	if err != nil {
		return 0, fmt.Errorf("%s is no jar: %w", part, err)
	}
	defer z.Close()
	return classVersionIn(z, part, class)
}

func classVersionIn(files fs.FS, part, class string) (int, error) {
	f, err := files.Open(class)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", part, err)
	}
	defer f.Close()
	var head [8]byte
	if _, err := io.ReadFull(f, head[:]); err != nil || binary.BigEndian.Uint32(head[:]) != 0xcafebabe {
		return 0, fmt.Errorf("%s: %s is no class", part, class)
	}
	return max(int(binary.BigEndian.Uint16(head[6:]))-classBase, leastJava), nil
}
