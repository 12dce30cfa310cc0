package bench

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

//go:embed scripts
var scripts embed.FS

// script is a bolt in another language that emits each input again and acks
// it.
type script struct {
	name     string // in reports
	program  string // the interpreter
	file     string // in scripts
	language string // whose adapter it uses; "" is none
	needed   bool   // no report without it
}

const (
	stockPython = "python-stock"
	ourPython   = "python"
)

func allScripts() []script {
	return []script{
		{name: stockPython, program: "python3", file: "stock.py", needed: true},
		{name: ourPython, program: "python3", file: "echo.py", language: "python", needed: true},
		{name: "node", program: "node", file: "echo.js", language: "node"},
		{name: "ruby", program: "ruby", file: "echo.rb", language: "ruby"},
	}
}

// command is a script ready to be run.
type command struct {
	script
	argv []string
	dir  string
	pids string // where children leave files named after their process ids
}

// install lays a script out below dir.
func (s script) install(ctx context.Context, dir string) (*command, error) {
	interpreter, err := s.interpreter(ctx)
	if err != nil {
		return nil, err
	}
	c := &command{script: s, argv: []string{interpreter, s.file}, dir: filepath.Join(dir, s.name)}
	c.pids = c.path("pids")
	if err := os.MkdirAll(c.pids, 0o700); err != nil {
		return nil, err
	}
	text, err := scripts.ReadFile(path.Join("scripts", s.file))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(c.path(s.file), text, 0o600); err != nil {
		return nil, err
	}
	if s.language == "" {
		return c, nil
	}
	name, text, err := multilang.AdapterFile(s.language)
	if err != nil {
		return nil, err
	}
	return c, os.WriteFile(c.path(name), text, 0o600)
}

// interpreter finds the program, and for Python the one behind the launchers
// that may stand before it.
func (s script) interpreter(ctx context.Context) (string, error) {
	file, err := exec.LookPath(s.program)
	if err != nil {
		return "", fmt.Errorf("%s is not installed, so it cannot be measured: %w", s.program, err)
	}
	if s.program != "python3" {
		return file, nil
	}
	out, err := exec.CommandContext(ctx, file, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return "", fmt.Errorf("%s does not run: %w", file, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (c *command) path(name string) string { return filepath.Join(c.dir, name) }

// environment is what children get beside the environment of this process.
func (*command) environment() []string {
	return []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8"}
}

// spec is the shell component that runs the script.
func (c *command) spec() multilang.Spec {
	return multilang.Spec{
		Argv: c.argv, Dir: c.dir, Env: c.environment(), PIDDir: c.pids,
		Streams: map[string]storm.StreamSpec{storm.DefaultStream: {Fields: storm.Fields{"word", "n"}}},
	}
}
