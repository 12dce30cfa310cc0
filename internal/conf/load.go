package conf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// fileName is what the file is called in the folders that are searched.
const fileName = "storm.yaml"

// maxFileBytes bounds storm.yaml, so that a slip in --config does not read a
// disk into memory.
const maxFileBytes = 16 << 20

// Options say where the configuration comes from. The zero Options read what
// a command without arguments reads.
type Options struct {
	// File is the file of --config; it must exist.
	File string
	// Overrides are key=value of -c, the last one wins. A value is JSON, or
	// text if it is not JSON.
	Overrides []string
	// Dir is what relative folders are searched from; empty means the current
	// one.
	Dir string
	// Getenv reads the environment; nil means os.Getenv.
	Getenv func(string) string
}

// Load is the defaults under storm.yaml under Overrides. storm.yaml is File,
// else the first that exists of $STORM_CONF_DIR/storm.yaml (./conf/storm.yaml
// if that variable is not set) and ~/.storm/storm.yaml; without any, the
// defaults hold. Errors name the file and the key.
func Load(o Options) (*Conf, error) {
	path, text, err := find(o)
	if err != nil {
		return nil, err
	}
	c := Defaults()
	if path != "" {
		values, err := parseYAML(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if c, err = c.With(path, values); err != nil {
			return nil, err
		}
	}
	values, err := ParseOverrides(o.Overrides)
	if err != nil {
		return nil, err
	}
	return c.With("the command line", values)
}

// find reads the file that Load speaks of; path is empty if there is none.
func find(o Options) (path string, text []byte, err error) {
	if o.File != "" {
		text, err := readFile(o.File)
		return o.File, text, err
	}
	for _, path := range candidates(o) {
		text, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return path, text, err
	}
	return "", nil, nil
}

func candidates(o Options) []string {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	dir := getenv("STORM_CONF_DIR")
	if dir == "" {
		dir = filepath.Join(o.Dir, "conf")
	}
	paths := []string{filepath.Join(dir, fileName)}
	if home := getenv("HOME"); home != "" {
		paths = append(paths, filepath.Join(home, ".storm", fileName))
	}
	return paths
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes: that is no storm.yaml", path, maxFileBytes)
	}
	return text, nil
}

// parseYAML reads a storm.yaml: a map of keys to values. An empty one is fine.
func parseYAML(text []byte) (map[string]any, error) {
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		// Without the excerpt of the file, which takes several lines.
		return nil, fmt.Errorf("not a map of keys to values in YAML: %s", yaml.FormatError(err, false, false))
	}
	return values, nil
}

// ParseOverrides reads key=value pairs as -c has them; the last one wins. A
// value is JSON, or text if it is not JSON.
func ParseOverrides(pairs []string) (map[string]any, error) {
	values := make(map[string]any, len(pairs))
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, fmt.Errorf("-c %s: write it as key=value", pair)
		}
		values[key] = parseOverride(key, text)
	}
	return values, nil
}

// parseOverride is text as JSON if it is JSON. Where the key wants a string it
// only counts as JSON if it is one: topology.name=2024 is no number.
func parseOverride(key, text string) any {
	v, err := decodeJSON([]byte(text))
	if err != nil {
		return text
	}
	s, known := table[key]
	if _, isString := v.(string); known && s.text && !isString && v != nil {
		return text
	}
	return v
}

// ParseJSON reads a configuration as it is submitted: a JSON object. Whole
// numbers keep all their digits. Empty text is an empty configuration.
func ParseJSON(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	v, err := decodeJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the configuration is not JSON: %w", err)
	}
	switch v := plain(v).(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	default:
		return nil, errors.New("the configuration is JSON, but not an object")
	}
}

func decodeJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}
