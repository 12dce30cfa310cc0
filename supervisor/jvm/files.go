package jvm

import (
	_ "embed" // for worker.xml
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
)

//go:embed worker.xml
var workerLog []byte

// LogConfKey names the folder of an operator's own worker.xml for Log4j.
const LogConfKey = "storm.log4j2.conf.dir"

// LogConf is the path of the configuration of Log4j: the operator's own if the
// host's configuration names its folder, absolute or in home, storm.home; else ours, which is
// written into localDir.
func LogConf(host map[string]any, home, localDir string) (string, error) {
	if dir, ok := host[LogConfKey].(string); ok && dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(home, dir)
		}
		return filepath.Join(dir, "worker.xml"), nil
	}
	path := filepath.Join(localDir, "jvm-worker.xml")
	if err := writeFile(path, workerLog, 0o640); err != nil {
		return "", fmt.Errorf("the log configuration of JVM workers: %w", err)
	}
	return path, nil
}

// HostConf is the storm.yaml for workers in Java: what c sets, but for its
// defaults, for each version of Storm has its own; and what a worker cannot do
// without. A JSON text is YAML, too.
func HostConf(c *conf.Conf, s Spec) ([]byte, error) {
	values := map[string]any{}
	for key, v := range c.All() {
		if c.Layer(key) != "" && v != nil {
			values[key] = v
		}
	}
	for _, key := range []string{
		string(conf.ZookeeperServers), string(conf.ZookeeperPort), string(conf.ZookeeperRoot),
		string(conf.SupervisorShutdownSleepSecs),
	} {
		values[key] = c.Value(key)
	}
	values[string(conf.NimbusSeeds)], values[string(conf.NimbusThriftPort)] = conf.SeedsOfStorm(c)
	for key, v := range map[storm.Key[string]]string{
		conf.StormLocalDir: s.LocalDir, conf.StormLogDir: s.LogDir, conf.StormWorkersArtifacts: s.artifacts(),
		conf.StormClusterMode: "distributed",
	} {
		values[string(key)] = v
	}
	values[string(conf.SupervisorThriftPort)] = s.SupervisorPort
	text, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the configuration of JVM workers: %w", err)
	}
	return append(text, '\n'), nil
}

// writeFile makes a file whole or not at all, if it does not have that text
// already.
func writeFile(path string, text []byte, mode os.FileMode) error {
	if now, err := os.ReadFile(path); err == nil && string(now) == string(text) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // if it is still there
	if _, err = f.Write(text); err == nil {
		err = f.Chmod(mode)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
