package nimbus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/nimbus/submit"
	"github.com/stormring/stormring/nimbus/survey"
)

// maxCode bounds what is read of a blob with code or configuration.
const maxCode = 256 << 20

// Ends of the keys of a topology's blobs.
const (
	jarEnd  = "-stormjar.jar"
	codeEnd = "-stormcode.ser"
	confEnd = "-stormconf.ser"
)

func blobKeys(id cluster.TopologyID) []string {
	return []string{string(id) + jarEnd, string(id) + codeEnd, string(id) + confEnd}
}

// topologyOf is the topology that a blob belongs to, if it is one of these.
func topologyOf(key string) (cluster.TopologyID, bool) {
	for _, end := range []string{jarEnd, codeEnd, confEnd} {
		if id, ok := strings.CutSuffix(key, end); ok {
			return cluster.TopologyID(id), true
		}
	}
	return "", false
}

// catalog reads topologies' code and configuration, and keeps what it has read
// as long as the blobs stay the same.
type catalog struct {
	blobs Blobs
	conf  *conf.Conf

	mu    sync.Mutex
	known map[cluster.TopologyID]edition
}

// edition is what blobs of certain versions say.
type edition struct {
	codeVersion, confVersion int64
	code                     *survey.Code
	err                      error
}

func newCatalog(b Blobs, c *conf.Conf) *catalog {
	return &catalog{blobs: b, conf: c, known: map[cluster.TopologyID]edition{}}
}

// code is a topology's code. The error tells people what is wrong with it.
func (c *catalog) code(ctx context.Context, id cluster.TopologyID) (*survey.Code, error) {
	codeVersion, err := c.blobs.Version(ctx, string(id)+codeEnd)
	if err != nil {
		return nil, c.missing(id, err)
	}
	confVersion, err := c.blobs.Version(ctx, string(id)+confEnd)
	if err != nil {
		return nil, c.missing(id, err)
	}
	c.mu.Lock()
	e, ok := c.known[id]
	c.mu.Unlock()
	if ok && e.codeVersion == codeVersion && e.confVersion == confVersion {
		return e.code, e.err
	}
	e = edition{codeVersion: codeVersion, confVersion: confVersion}
	e.code, e.err = c.read(ctx, id)
	if e.err != nil && ctx.Err() != nil {
		return nil, e.err
	}
	c.mu.Lock()
	c.known[id] = e
	c.mu.Unlock()
	return e.code, e.err
}

func (c *catalog) missing(id cluster.TopologyID, err error) error {
	if errors.Is(err, ErrKeyNotFound) {
		return fmt.Errorf("the code of %s is not on this nimbus: %w; if no other nimbus has it, kill the topology and submit it again", id, err)
	}
	return err
}

func (c *catalog) forget(id cluster.TopologyID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, id)
}

func (c *catalog) read(ctx context.Context, id cluster.TopologyID) (*survey.Code, error) {
	data, err := c.get(ctx, string(id)+codeEnd)
	if err != nil {
		return nil, err
	}
	code := &survey.Code{}
	if code.User, err = wire.DecodeCode(data); err != nil {
		return nil, fmt.Errorf("blob %s%s: %w", id, codeEnd, err)
	}
	if data, err = c.get(ctx, string(id)+confEnd); err != nil {
		return nil, err
	}
	if code.Conf, err = wire.DecodeConf(data); err != nil {
		return nil, fmt.Errorf("blob %s%s: %w", id, confEnd, err)
	}
	if code, err = planned(c.conf, *code); err != nil {
		return nil, fmt.Errorf("the code of %s: %w", id, err)
	}
	return code, nil
}

// planned is code with what follows from it.
func planned(c *conf.Conf, code survey.Code) (*survey.Code, error) {
	var err error
	if code.Layout, err = layout.Plan(code.User, submit.Layers(c, code.Conf)); err != nil {
		return nil, err
	}
	code.Needs, err = submit.Needs(code.Layout)
	return &code, err
}

func (c *catalog) get(ctx context.Context, key string) ([]byte, error) {
	r, _, err := c.blobs.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", key, err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxCode+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("blob %s: %w", key, err)
	}
	if len(data) > maxCode {
		return nil, fmt.Errorf("blob %s has more than %d bytes", key, maxCode)
	}
	return data, nil
}

// write stores code and configuration of a topology.
func (c *catalog) write(ctx context.Context, id cluster.TopologyID, owner string, t *cluster.Topology, settings map[string]any) error {
	if t != nil {
		data, err := wire.EncodeCode(*t)
		if err != nil {
			return err
		}
		if _, err := c.blobs.Put(ctx, string(id)+codeEnd, owner, bytes.NewReader(data)); err != nil {
			return err
		}
	}
	if settings == nil {
		return nil
	}
	data, err := wire.EncodeConf(settings)
	if err != nil {
		return err
	}
	_, err = c.blobs.Put(ctx, string(id)+confEnd, owner, bytes.NewReader(data))
	return err
}

// remove deletes all blobs of a topology.
func (c *catalog) remove(ctx context.Context, id cluster.TopologyID) error {
	c.forget(id)
	var errs []error
	for _, key := range blobKeys(id) {
		errs = append(errs, c.blobs.Delete(ctx, key))
	}
	return errors.Join(errs...)
}
