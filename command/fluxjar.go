package command

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/stormring/stormring/flux"
)

// fluxClass is the main class of Storm's Flux, which is done here if it can be.
const fluxClass = "org.apache.storm.flux.Flux"

// fluxSleep is how long a local run lasts that does not say so, as in Storm 1.
const fluxSleep = time.Minute

// fluxJarFlags are the options of Flux's main class.
type fluxJarFlags struct {
	fluxFlags
	resource, noDetail bool
	sleep              int64 // ms
}

// parse reads the arguments of the main class.
func (f *fluxJarFlags) parse(args []string) (path string, err error) {
	flags := pflag.NewFlagSet(fluxClass, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVarP(&f.local, "local", "l", false, "")
	remote := flags.BoolP("remote", "r", false, "")
	flags.BoolVarP(&f.resource, "resource", "R", false, "")
	flags.Int64VarP(&f.sleep, "sleep", "s", fluxSleep.Milliseconds(), "")
	flags.BoolVarP(&f.dryRun, "dry-run", "d", false, "")
	flags.BoolVarP(&f.noDetail, "no-detail", "q", false, "")
	flags.BoolP("no-splash", "n", false, "")
	flags.BoolVarP(&f.inactive, "inactive", "i", false, "")
	flags.StringP("zookeeper", "z", "", "")
	flags.StringVarP(&f.filter, "filter", "f", "", "")
	flags.BoolVarP(&f.envFilter, "env-filter", "e", false, "")
	err = flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return "", usagef("the options of %s are --local, --remote, --sleep MS, --resource, --filter FILE, --env-filter, --dry-run, --inactive, --no-detail and --no-splash", fluxClass)
	case err != nil:
		return "", usagef("%s: %w", fluxClass, err)
	case flags.NArg() != 1:
		return "", usagef("%s takes one file, but got %d", fluxClass, flags.NArg())
	case f.sleep < 0:
		return "", usagef("--sleep is %d; it must not be negative", f.sleep)
	}
	f.local = f.local && !*remote
	f.quiet = f.noDetail
	if f.sleep <= math.MaxInt64/int64(time.Millisecond) {
		f.runFor = max(time.Duration(f.sleep)*time.Millisecond, 1)
	}
	return flags.Arg(0), nil
}

// fluxJar does what Flux's main class in a jar would do. done is false if the
// topology needs Java, which has been said then.
func (v *verbs) fluxJar(ctx context.Context, args []string, shared *jarFlags) (done bool, err error) {
	f := fluxJarFlags{fluxFlags: fluxFlags{clusterFlags: clusterFlags{settings: shared.settings, file: shared.file}}}
	rest, err := f.takeShared(args[2:])
	if err != nil {
		return true, err
	}
	file, err := f.parse(rest)
	if err != nil {
		return true, err
	}
	f.dryRun = f.dryRun || shared.dryRun
	jar, err := zip.OpenReader(args[0])
	if err != nil {
		return true, fmt.Errorf("%s: %w", args[0], err)
	}
	defer jar.Close()
	fromJar := func(name string) ([]byte, error) { return readEntry(&jar.Reader, name) }
	read := v.readFile
	if f.resource {
		read = fromJar
	}
	opts := flux.Options{File: file, Read: v.readFile, Resource: fromJar, InResource: f.resource, Components: v.program.Components}
	if err := f.filters(&opts, read); err != nil {
		return true, err
	}
	t, err := flux.Load(opts)
	if all, ok := errors.AsType[flux.Problems](err); ok && all.Java() {
		return false, nil
	}
	if err != nil {
		return true, v.mistakes(file, err)
	}
	return true, v.performJar(ctx, t, args[0], &jar.Reader, &f)
}

// performJar is perform for a topology whose resources are in a jar.
func (v *verbs) performJar(ctx context.Context, t *flux.Topology, name string, jar *zip.Reader, f *fluxJarFlags) error {
	dir, err := os.MkdirTemp("", "stormring-flux-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := &pack{dir: dir, jar: name}
	if p.there, err = extract(ctx, jar, dir); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !f.noDetail && !f.dryRun {
		if err := v.showFlux(t, t.Conf, false); err != nil {
			return err
		}
	}
	p.shown = name + "!/" + resourcesName
	return v.perform(ctx, t, p, &f.fluxFlags)
}

// readEntry reads a file of a jar.
func readEntry(jar *zip.Reader, name string) ([]byte, error) {
	file, err := jar.Open(strings.TrimPrefix(path.Clean("/"+name), "/"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxYAMLBytes))
}

// extract unpacks what a jar has in resources/. It reports whether there was
// anything.
func extract(ctx context.Context, jar *zip.Reader, dir string) (bool, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, err
	}
	defer root.Close()
	some, left := false, int64(maxPackBytes)
	for i, f := range jar.File {
		name, ok := strings.CutPrefix(f.Name, resourcesName+"/")
		if !ok || name == "" {
			continue
		}
		if i > maxPackFiles {
			return false, fmt.Errorf("has more than %d files", maxPackFiles)
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		some = true
		n, err := extractEntry(root, f, name, left)
		if left -= n; err != nil {
			return false, fmt.Errorf("entry %q: %w", f.Name, err)
		}
	}
	return some, nil
}

func extractEntry(root *os.Root, f *zip.File, name string, left int64) (int64, error) {
	mode := f.Mode()
	switch {
	case strings.HasSuffix(name, "/") || mode.IsDir():
		return 0, root.MkdirAll(strings.TrimSuffix(name, "/"), 0o755)
	case !mode.IsRegular() && mode.Type() != fs.ModeSymlink:
		return 0, fmt.Errorf("is neither a file nor a folder (%s)", mode.Type())
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return 0, err
	}
	from, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer from.Close()
	if mode.Type() == fs.ModeSymlink {
		target, err := io.ReadAll(io.LimitReader(from, 4096))
		if err != nil {
			return 0, err
		}
		return 0, root.Symlink(string(target), name)
	}
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644|mode.Perm()&0o111)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(to, io.LimitReader(from, left+1))
	if n > left {
		err = errors.Join(err, fmt.Errorf("the resources have more than %d MiB", maxPackBytes>>20))
	}
	return n, errors.Join(err, to.Close())
}
