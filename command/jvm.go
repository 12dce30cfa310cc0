package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/maven"
	"github.com/stormring/stormring/supervisor/jvm"
)

// jvmFlags say where the worker libraries are.
type jvmFlags struct {
	clusterFlags
	dir        string
	repository string
	asJSON     bool
}

const aboutLibs = `

The libraries are in a folder for each version, in the folder that --dir names
(default: the key stormring.jvm.libs, or jvm in storm.local.dir).`

// jvm is the command `jvm`.
func (v *verbs) jvm() *cobra.Command {
	return group("jvm", "Look after what Java topologies need on this host", `Look after what Java topologies need on this host: a JVM, and the worker
libraries of the version of Storm that their jars were built against. Run it on
each host with a supervisor.`, v.jvmInstall(), v.jvmList(), v.jvmCheck())
}

func (v *verbs) jvmVerb(f *jvmFlags, use, short, long string) *cobra.Command {
	cmd := verb(&f.clusterFlags, use, short, long+aboutLibs)
	cmd.Flags().StringVar(&f.dir, "dir", "", "the folder of the libraries is `DIR`")
	mustComplete(cmd.MarkFlagDirname("dir"))
	return cmd
}

// options are where this host's installations are.
func (f *jvmFlags) options() (jvm.Options, error) {
	c, _, err := f.load()
	if err != nil {
		return jvm.Options{}, err
	}
	o := jvm.OptionsOf(c.All(), c.String(conf.StormLocalDir))
	o.Dir = cmp.Or(f.dir, o.Dir)
	o.Dir, err = filepath.Abs(o.Dir)
	return o, err
}

// jvmInstall is the command `jvm install`.
func (v *verbs) jvmInstall() *cobra.Command {
	var f jvmFlags
	cmd := v.jvmVerb(&f, "install VERSION...", "Get Storm's worker libraries", `Get the worker libraries of versions of Storm, with all that they need, from
the mirror of Maven Central that ~/.m2/settings.xml names, or from where the Maven
of this host has it. Files of the local Maven repository are taken from there; all
are checked. What is there whole
already is left as it is, and what was begun is continued.

With the javac of this host it also makes stormring-state.jar beside them, which keeps
the state of Java topologies on the ring and is one for all versions. Without a
javac that file may be copied from another host.

  stormring jvm install 2.8.3 2.6.4`)
	cmd.Flags().StringVar(&f.repository, "repository", "", "get them from the Maven repository at `URL`")
	completeNothing(cmd, "repository")
	cmd.Args = takes(1, 0, "which version of Storm? one such as 2.8.3")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := f.options()
		if err != nil {
			return err
		}
		for _, text := range args {
			version, err := jvm.ParseVersion(text)
			if err == nil {
				_, err = version.Artifact()
			}
			if err != nil {
				return usagef("%w", err)
			}
		}
		settings, err := mavenSettings(f.repository)
		if err != nil {
			return err
		}
		r, err := maven.NewRepository(settings, nil)
		if err != nil {
			return usagef("%w", err)
		}
		defer r.Close()
		ctx := cmd.Context()
		err = v.each(ctx, args, "versions", "installed", func(name string) error {
			if err := v.installStorm(ctx, r, o.Dir, name); err != nil {
				return err
			}
			v.buildState(ctx, o, name)
			return nil
		})
		if err != nil && ctx.Err() != nil {
			v.say("interrupted; what is here already is used when you try again")
			return errInterrupted
		}
		return err
	}
	return cmd
}

func mavenSettings(repository string) (maven.Settings, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then there are neither settings nor a local repository
	}
	s, err := maven.UserSettings(home)
	s.URL = cmp.Or(repository, s.URL)
	if s.URL == "" && err == nil {
		s.URL, err = maven.Central()
	}
	return s, err
}

// installStorm brings the libraries of a version into dir.
func (v *verbs) installStorm(ctx context.Context, r *maven.Repository, dir, name string) error {
	version, err := jvm.ParseVersion(name)
	if err != nil {
		return err
	}
	if whole(ctx, dir, name) {
		_, err := fmt.Fprintf(v.stdout, "Storm %s is installed in %s\n", name, filepath.Join(dir, name))
		return err
	}
	text, err := version.Artifact()
	if err != nil {
		return err
	}
	root, err := maven.ParseArtifact(text)
	if err != nil {
		return err
	}
	v.say("Storm %s: asking %s what it needs", name, r)
	// Of Storm 1; it is for its UI, and not in Maven Central.
	found, err := maven.Resolve(ctx, r, platformOf(ctx), root, maven.Exclusion{Group: "ring-cors", Name: "ring-cors"})
	if errors.Is(err, maven.ErrNotFound) {
		return fmt.Errorf("version %s of Storm cannot be had whole: %w", name, err)
	}
	if err != nil {
		return err
	}
	for _, warning := range found.Warnings {
		v.say("%s", warning)
	}
	size, names, err := v.fetchStorm(ctx, r, found, dir, version)
	if err == nil {
		err = jvm.Publish(ctx, dir, version, text, names)
	}
	if err != nil {
		return err
	}
	v.warnOfJava(ctx, dir, name)
	_, err = fmt.Fprintf(v.stdout, "installed Storm %s: %d files, %.1f MB, in %s\n", name, len(names), float64(size)/1e6, filepath.Join(dir, name))
	return err
}

// fetchStorm gathers the files of a version.
func (v *verbs) fetchStorm(ctx context.Context, r *maven.Repository, found maven.Resolution, dir string, version jvm.Version) (size int64, names []string, err error) {
	stage, err := jvm.Stage(dir, version)
	if err != nil {
		return 0, nil, err
	}
	var artifacts []maven.Artifact
	for _, n := range found.Needs {
		artifacts = append(artifacts, n.Artifact)
		names = append(names, n.File())
	}
	err = r.Fetch(ctx, artifacts, stage, func(p maven.Progress) {
		size += p.Bytes
		v.say("%*d of %d  %s", len(strconv.Itoa(p.Total)), p.Done, p.Total, p.Artifact.File())
	})
	return size, names, err
}

// warnOfJava says if what was installed does not run here.
func (v *verbs) warnOfJava(ctx context.Context, dir, name string) {
	i, err := jvm.New(jvm.Options{Dir: dir}).Find(name)
	if err == nil {
		var j jvm.Java
		if j, err = jvm.FindJava(ctx, os.Getenv); err == nil {
			err = i.RunsOn(j)
		}
	}
	if err != nil {
		v.say("%s", oneLine(err))
	}
}

// whole tells whether just that version is in dir, with nothing amiss.
func whole(ctx context.Context, dir, version string) bool {
	i, err := jvm.New(jvm.Options{Dir: dir}).Find(version)
	return err == nil && i.Fit == jvm.FitExact && i.Version.String() == version && i.Check(ctx) == nil
}

// platformOf is what profiles in POMs may ask for.
func platformOf(ctx context.Context) maven.Platform {
	p := maven.Platform{JDK: "17", OS: runtime.GOOS, Family: "unix", Arch: runtime.GOARCH}
	if j, err := jvm.FindJava(ctx, os.Getenv); err == nil {
		p.JDK = j.Version
	}
	if p.Arch == "arm64" {
		p.Arch = "aarch64"
	}
	if p.OS == "darwin" {
		p.OS, p.Family = "mac os x", "mac"
	}
	return p
}

// installed is an installation for people and programs.
type installed struct {
	Version   string   `json:"version"`
	Java      int      `json:"java,omitempty"`
	Main      string   `json:"main"`
	ClassPath []string `json:"classPath"`
	Problem   string   `json:"problem,omitempty"`
}

func show(i jvm.Installation) installed {
	return installed{Version: i.Version.String(), Main: i.Main, ClassPath: i.ClassPath}
}

// jvmList is the command `jvm list`.
func (v *verbs) jvmList() *cobra.Command {
	var f jvmFlags
	cmd := v.jvmVerb(&f, "list", "Show which worker libraries are installed", `Show of which versions of Storm the worker libraries are on this host, the oldest
version of Java that each needs, and whether Java topologies can keep state on the ring.`)
	cmd.Args = noArgs
	flagJSON(cmd, &f.asJSON)
	cmd.RunE = func(*cobra.Command, []string) error {
		o, err := f.options()
		if err != nil {
			return err
		}
		list, err := jvm.New(o).List()
		if err != nil {
			return err
		}
		shown := make([]installed, len(list))
		rows := [][]string{{"STORM", "JAVA", "CLASS PATH"}}
		for n, i := range list {
			shown[n] = show(i)
			java := "?"
			if least, err := i.NeedsJava(); err == nil {
				shown[n].Java, java = least, strconv.Itoa(least)
			} else {
				shown[n].Problem = oneLine(err)
			}
			rows = append(rows, []string{shown[n].Version, java, joinPath(i.ClassPath)})
		}
		switch {
		case f.asJSON:
			return v.printJSON(shown)
		case len(list) == 0:
			_, err := fmt.Fprintf(v.stdout, "No worker libraries in %s.\n", o.Dir)
			return err
		}
		if err := v.table(rows); err != nil {
			return err
		}
		_, err = fmt.Fprint(v.stdout, keptStateOf(o).text())
		return err
	}
	return cmd
}

// checked is what `jvm check` found.
type checked struct {
	Java struct {
		Path    string `json:"path,omitempty"`
		Version string `json:"version,omitempty"`
		Problem string `json:"problem,omitempty"`
	} `json:"java"`
	Storm []installed `json:"storm"`
	// State is no check: workers run without it.
	State keptState `json:"state"`
}

// jvmCheck is the command `jvm check`.
func (v *verbs) jvmCheck() *cobra.Command {
	var f jvmFlags
	cmd := v.jvmVerb(&f, "check", "Check that Java topologies can run on this host", `Check that there is a JVM, that worker libraries are installed and whole, and
that they run on that JVM. It fails if anything is amiss.`)
	cmd.Args = noArgs
	flagJSON(cmd, &f.asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := f.options()
		if err != nil {
			return err
		}
		list, err := jvm.New(o).List()
		if err != nil {
			return err
		}
		found, amiss := checkJVM(cmd.Context(), list)
		found.State = keptStateOf(o)
		if err := cmd.Context().Err(); err != nil {
			return errInterrupted
		}
		if f.asJSON {
			err = v.printJSON(found)
		} else {
			_, err = fmt.Fprint(v.stdout, found.text())
		}
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return &jvm.NotInstalledError{}
		case amiss > 0:
			return fmt.Errorf("%d of %d checks failed", amiss, len(list)+1)
		}
		return nil
	}
	return cmd
}

// checkJVM looks at everything and counts what is amiss.
func checkJVM(ctx context.Context, list []jvm.Installation) (found checked, amiss int) {
	j, noJava := jvm.FindJava(ctx, os.Getenv)
	found.Java.Path, found.Java.Version = j.Path, j.Version
	if noJava != nil {
		found.Java.Problem = oneLine(noJava)
		amiss++
	}
	found.Storm = make([]installed, len(list))
	for n, i := range list {
		found.Storm[n] = show(i)
		err := i.Check(ctx)
		if err == nil {
			found.Storm[n].Java, err = i.NeedsJava()
		}
		if err == nil && noJava == nil {
			err = i.RunsOn(j)
		}
		if err != nil {
			found.Storm[n].Problem = oneLine(err)
			amiss++
		}
	}
	return found, amiss
}

func (c checked) text() string {
	var b strings.Builder
	if c.Java.Problem != "" {
		fmt.Fprintf(&b, "Java: %s\n", c.Java.Problem)
	} else {
		fmt.Fprintf(&b, "Java: %s, %s\n", c.Java.Version, c.Java.Path)
	}
	for _, i := range c.Storm {
		fmt.Fprintf(&b, "Storm %s: %s\n", i.Version, cmp.Or(i.Problem, "whole, "+joinPath(i.ClassPath)))
	}
	if len(c.Storm) > 0 {
		b.WriteString(c.State.text())
	}
	return b.String()
}
