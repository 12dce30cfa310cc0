package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// endWithin is how long a client that is interrupted may take to end.
const endWithin = 10 * time.Second

type jarFlags struct {
	clusterFlags
	classpathFlags
	jars, artifacts string
	dryRun          bool
}

// jar is the command `jar`.
func (v *verbs) jar() *cobra.Command {
	var f jarFlags
	cmd := verb(&f.clusterFlags, "jar FILE [MAIN-CLASS] [ARG…]", "Submit the topology in a jar, or in a Go program", `Submit a topology by the code that makes it:

  a jar         its MAIN-CLASS is run by java with ARGs, as Storm's script does
  a Go program  it is run as FILE submit ARGs

Flags of this command stand before FILE; -c and --config may follow it too.
java is that of $JAVA_HOME, else of $PATH; $STORM_JAR_JVM_OPTS are options for it,
with blanks between.`)
	cmd.Args = takes(1, 0, "which jar or program?")
	cmd.ValidArgsFunction = nil // files
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringVar(&f.jars, "jars", "", "send these `JARS` too, with commas between")
	flags.StringVar(&f.artifacts, "artifacts", "", "not here: fetch the `ARTIFACTS` yourself and name them by --jars")
	flags.BoolVar(&f.server, "storm-server-classpath", false, "run with the classes of Storm's daemons too")
	flags.StringVar(&f.lib, "storm-lib", "", libHelp)
	flags.BoolVar(&f.dryRun, "dry-run", false, "print where everything would run, and submit nothing; Go programs only")
	mustComplete(cmd.MarkFlagDirname("storm-lib"))
	completeNothing(cmd, "artifacts")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		java, err := isZip(args[0])
		switch {
		case err != nil:
			return err
		case java && len(args) > 1 && args[1] == fluxClass:
			if done, err := v.fluxJar(cmd.Context(), args, &f); done {
				return err
			}
			return v.runJava(cmd.Context(), args, &f)
		case java:
			return v.runJava(cmd.Context(), args, &f)
		default:
			return v.runProgram(cmd.Context(), args, &f)
		}
	}
	return cmd
}

// isZip tells a jar from an executable file, by how it begins.
func isZip(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	var start [4]byte
	if _, err := io.ReadFull(file, start[:]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	if bytes.HasPrefix(start[:], []byte("PK")) {
		return true, nil
	}
	for _, program := range []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "#!"} {
		if bytes.HasPrefix(start[:], []byte(program)) {
			return false, nil
		}
	}
	return false, fmt.Errorf("%s is neither a jar nor a program for this kind of machine", path)
}

// runProgram has a Go program submit itself.
func (v *verbs) runProgram(ctx context.Context, args []string, f *jarFlags) error {
	if f.jars != "" || f.artifacts != "" || f.lib != "" || f.server {
		return usagef("%s is a program and no jar: --jars, --artifacts, --storm-lib and --storm-server-classpath are not for it", args[0])
	}
	path, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%s is not executable: run chmod +x on it", args[0])
	}
	line := []string{"submit"}
	for _, s := range f.settings {
		line = append(line, "-c", s)
	}
	if f.file != "" {
		line = append(line, "--config", f.file)
	}
	if f.dryRun {
		line = append(line, "--dry-run")
	}
	return v.client(ctx, path, append(line, args[1:]...))
}

// client runs another program that submits, with our input and output.
func (v *verbs) client(ctx context.Context, path string, args []string) error {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = v.stdin, v.stdout.w, v.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endWithin
	err := cmd.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil, ended && exit.ExitCode() == exitInterrupted:
		return errInterrupted
	case ended && exit.ExitCode() == exitUsage:
		return usagef("%s did not take its arguments: %w", filepath.Base(path), err)
	case err != nil:
		return fmt.Errorf("%s has failed: %w", filepath.Base(path), err)
	default:
		return nil
	}
}

// takeShared takes -c and --config out of the arguments of a main class, as
// Storm's script does.
func (f *clusterFlags) takeShared(args []string) ([]string, error) {
	rest := []string{}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case name == "--config" && joined:
			f.file = value
			continue
		case args[i] != "-c" && args[i] != "--config":
			rest = append(rest, args[i])
			continue
		case i+1 == len(args):
			return nil, usagef("%s needs a value", args[i])
		case args[i] == "-c":
			f.settings = append(f.settings, args[i+1])
		default:
			f.file = args[i+1]
		}
		i++
	}
	return rest, nil
}
