package command

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/storm"
)

// clusterFlags are those of every command that has to do with a cluster.
type clusterFlags struct {
	settings []string
	file     string
}

func (f *clusterFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.settings, "set", "c", nil, "set a configuration key, as `KEY=VALUE`; may be repeated")
	flags.StringVar(&f.file, "config", "", "read `FILE` (default: the first storm.yaml in $STORM_CONF_DIR, ./conf if that is not set, or ~/.storm)")
}

// load is the configuration, and what of it the command line sets.
func (f *clusterFlags) load() (*conf.Conf, storm.Config, error) {
	overrides, err := parseSettings(f.settings)
	if err != nil {
		return nil, nil, err
	}
	c, err := conf.Load(conf.Options{File: f.file, Overrides: f.settings})
	return c, overrides, err
}

// connect reaches the cluster's leader.
func connect(ctx context.Context, c *conf.Conf, stderr io.Writer) (*client.Client, error) {
	return client.Connect(ctx, client.ConfigOf(c, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))))
}
