package supervisor

import (
	"context"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/supervisor/localizer"
)

// Nimbus is who a supervisor reports to.
type Nimbus interface {
	// Report tells the leader what the workers do. It may fail; the next report
	// has all that this one had.
	Report(ctx context.Context, r cluster.SupervisorReport) error
}

// Localizer brings a topology's blobs to this host's disk, as
// [localizer.Localizer] does. Whoever holds a topology keeps its files there.
// Its methods may be called by several goroutines.
type Localizer interface {
	// Localise fetches what is not there, and with update also newer versions of
	// what is. It is held by the caller meanwhile.
	Localise(ctx context.Context, id cluster.TopologyID, update bool) (localizer.Local, error)
	// Hold and Release take and give back a hold under a name. Files of a
	// version that nobody has held since may go.
	Hold(id cluster.TopologyID, holder string)
	Release(id cluster.TopologyID, holder string)
	// Changed are those of ids of which newer blobs are to be had.
	Changed(ctx context.Context, ids []cluster.TopologyID) ([]cluster.TopologyID, error)
	// Sweep removes what nobody holds and keep does not want.
	Sweep(keep func(cluster.TopologyID) bool) error
}

// NoticedEnv is the environment variable that has Launch.Noticed for the worker, in
// milliseconds since 1970.
const NoticedEnv = "STORMRING_NOTICED_MS"

// DetectEnv is the environment variable that has Launch.Detect for the worker, in
// milliseconds with a point; it is not there if that is not known.
const DetectEnv = "STORMRING_DETECT_MS"

// Launch is a worker to start.
type Launch struct {
	Topology   cluster.TopologyID
	Supervisor cluster.SupervisorID
	Port       cluster.Port
	// Worker is the id of this launch; no other has it.
	Worker string
	// Dir has the topology's files.
	Dir string
	// Link is the supervisor's socket.
	Link string
	// Conf is the host's configuration, Topology's own not included.
	Conf map[string]any
	// Host is that with what set it. Settings are the topology's own.
	Host     *conf.Conf
	Settings storm.Config
	// JVM is the release of Storm whose worker it is; "" for a worker of Go. Such a
	// worker speaks to the supervisor at ThriftPort, and gets so much memory.
	JVM               string
	ThriftPort        int
	HeapMB, OffHeapMB float64
	// Env are the variables that the topology wants, by name.
	Env map[string]string
	// LogDir gets its logs.
	LogDir string
	// Noticed is when it became known that there must be this worker: its
	// predecessor ended, or it was assigned.
	Noticed time.Time
	// Detect is how long it was lost by then, as far as is known: since its end, or
	// its last sign of life; 0 if nothing was lost.
	Detect time.Duration
}

// Launcher runs workers. Its methods may be called by several goroutines.
type Launcher interface {
	// Start starts a worker, which outlives ctx. If it fails there is no process.
	Start(ctx context.Context, l Launch) (Handle, error)
	// Find takes hold of a worker that was started earlier, perhaps by a
	// supervisor before this one; false if nothing of it is alive.
	Find(worker string) (Handle, bool, error)
	// Clear removes what a dead worker has left.
	Clear(ctx context.Context, worker string) error
	// List are the ids of all workers of which anything is left.
	List() ([]string, error)
	// Close leaves the workers running.
	Close() error
}

// Handle is a worker that may be alive.
type Handle interface {
	// PID is its process, 0 if that is not known.
	PID() int
	// Done is closed when it is gone with all that it started.
	Done() <-chan struct{}
	// ExitCode is known once Done is closed; -1 if it is not.
	ExitCode() int
	// Terminate asks it to end, Kill ends it. Neither waits.
	Terminate() error
	Kill() error
}
