package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stormring/stormring/internal/conf"
)

// runJava runs a jar's main class, which submits by itself. args are the jar,
// the class and its arguments.
func (v *verbs) runJava(ctx context.Context, args []string, f *jarFlags) error {
	switch {
	case f.artifacts != "":
		return errors.New("--artifacts is not here: fetch the artifacts and name them by --jars")
	case f.dryRun:
		return usagef("--dry-run is for Go programs: only a jar's main class knows its topology, and it submits it")
	case len(args) < 2:
		return usagef("which main class of %s?", args[0])
	}
	rest, err := f.takeShared(args[2:])
	if err != nil {
		return err
	}
	c, _, err := f.load()
	if err != nil {
		return err
	}
	line, err := f.javaLine(c, args[0], args[1])
	if err != nil {
		return err
	}
	java, err := findJava()
	if err != nil {
		return err
	}
	return v.client(ctx, java, append(line, rest...))
}

func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java := filepath.Join(home, "bin", "java")
		if _, err := os.Stat(java); err != nil {
			return "", fmt.Errorf("JAVA_HOME is wrong: %w", err)
		}
		return java, nil
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", errors.New("a jar needs java, which is not in PATH: install it or set JAVA_HOME")
	}
	return java, nil
}

// javaLine are java's arguments up to the main class, as Storm's script has
// them.
func (f *jarFlags) javaLine(c *conf.Conf, jar, class string) ([]string, error) {
	classes, err := f.find()
	if err != nil {
		return nil, err
	}
	classes = append(classes, jar)
	if dir := confDir(); dir != "" {
		classes = append(classes, dir)
	}
	if f.jars != "" {
		classes = append(classes, strings.Split(f.jars, ",")...)
	}
	options := make([]string, len(f.settings))
	for i, s := range f.settings {
		options[i] = url.QueryEscape(s)
	}
	file := f.file
	if file != "" {
		if file, err = filepath.Abs(file); err != nil {
			return nil, err
		}
	}
	home := os.Getenv(stormHome)
	logs := cmp.Or(c.String(conf.StormLogDir), filepath.Join(home, "logs"))
	line := []string{
		"-Dstorm.options=" + strings.Join(options, ","),
		"-Dstorm.home=" + home,
		"-Dstorm.log.dir=" + logs,
		"-Dstorm.conf.file=" + file,
	}
	if path, ok := c.Value("java.library.path").(string); ok {
		line = append(line, "-Djava.library.path="+path)
	}
	line = append(line, "-cp", joinPath(classes))
	line = append(line, strings.Fields(os.Getenv("STORM_JAR_JVM_OPTS"))...)
	return append(line, "-Dstorm.jar="+jar, "-Dstorm.dependency.jars="+f.jars, "-Dstorm.dependency.artifacts={}", class), nil
}

// confDir is the directory with the storm.yaml that is read without --config,
// for the class path; "" if there is none.
func confDir() string {
	dirs := []string{cmp.Or(os.Getenv("STORM_CONF_DIR"), "conf")}
	if home := os.Getenv("HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".storm"))
	}
	if home := os.Getenv(stormHome); home != "" {
		dirs = append(dirs, filepath.Join(home, "conf"))
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "storm.yaml")); err == nil {
			return dir
		}
	}
	return ""
}
