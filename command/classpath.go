package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// stormHome is where a release of Apache Storm is, whose Java classes clients
// need. Storm's own script is in it; we are told by the environment.
const stormHome = "STORM_HOME"

// classpathFlags say where Storm's Java classes are.
type classpathFlags struct {
	lib    string
	server bool
}

const libHelp = "find Storm's Java classes in the jars of `DIR` (default: those of the Storm release at $" + stormHome + ")"

// classpath is the command `classpath`.
func (v *verbs) classpath() *cobra.Command {
	return v.printClasspath("classpath", "Print the Java class path of a Storm client", classpathFlags{})
}

// serverClasspath is the command `server_classpath`.
func (v *verbs) serverClasspath() *cobra.Command {
	return v.printClasspath("server_classpath", "Print the Java class path of Storm's daemons", classpathFlags{server: true})
}

func (v *verbs) printClasspath(name, short string, f classpathFlags) *cobra.Command {
	var ignored clusterFlags
	cmd := verb(&ignored, name, short, "")
	cmd.Args = noArgs
	cmd.Flags().StringVar(&f.lib, "storm-lib", "", libHelp)
	mustComplete(cmd.MarkFlagDirname("storm-lib"))
	var asJSON bool
	flagJSON(cmd, &asJSON)
	cmd.RunE = func(*cobra.Command, []string) error {
		parts, err := f.find()
		switch {
		case err != nil:
			return err
		case asJSON:
			return v.printJSON(parts)
		}
		_, err = fmt.Fprintln(v.stdout, joinPath(parts))
		return err
	}
	return cmd
}

func joinPath(parts []string) string { return strings.Join(parts, string(os.PathListSeparator)) }

// find is where Storm's Java classes are, in Storm's order.
func (f classpathFlags) find() ([]string, error) {
	var parts []string
	if f.lib != "" {
		if parts = jarsIn(f.lib); parts == nil {
			return nil, fmt.Errorf("--storm-lib %s does not exist", f.lib)
		}
	} else {
		home := os.Getenv(stormHome)
		if home == "" {
			return nil, errors.New("where are Storm's Java classes? set " + stormHome + " to a release of Apache Storm, or name a directory of its jars by --storm-lib; topologies in Go need none")
		}
		lib := filepath.Join(home, "lib-worker")
		if f.server {
			lib = filepath.Join(home, "lib")
		}
		classes := jarsIn(lib)
		if classes == nil {
			return nil, fmt.Errorf("%s is %s, but there is no %s: it must be a release of Apache Storm", stormHome, home, lib)
		}
		parts = append(append(jarsIn(home), classes...), jarsIn(filepath.Join(home, "extlib"))...)
		if f.server {
			parts = append(parts, jarsIn(filepath.Join(home, "extlib-daemon"))...)
		}
	}
	if more := os.Getenv("STORM_EXT_CLASSPATH"); more != "" {
		parts = append(parts, more)
	}
	if more := os.Getenv("STORM_EXT_CLASSPATH_DAEMON"); more != "" && f.server {
		parts = append(parts, more)
	}
	return parts, nil
}

// jarsIn is the entry of a class path for what is at path, nil if that is
// nothing.
func jarsIn(path string) []string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return []string{filepath.Join(path, "*")}
	default:
		return []string{path}
	}
}
