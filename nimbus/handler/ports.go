package handler

import (
	"context"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus"
	"github.com/stormring/stormring/nimbus/blobstore"
)

// Nimbus is what the handler needs of a *nimbus.Nimbus, whose methods say what
// they do. Errors are those of package nimbus.
type Nimbus interface {
	Submitter
	Actor
	Lister
	Describer
	Overseer
	BlobWatcher
}

// Submitter takes topologies.
type Submitter interface {
	NameAllowed(ctx context.Context, name string) (bool, error)
	Submit(ctx context.Context, s nimbus.Submission) error
	PlanSubmit(ctx context.Context, s nimbus.Submission) (string, error)
}

// Actor changes topologies.
type Actor interface {
	Activate(ctx context.Context, name string) error
	Deactivate(ctx context.Context, name string) error
	Kill(ctx context.Context, name string, o cluster.KillOptions) error
	Rebalance(ctx context.Context, name string, o cluster.RebalanceOptions) error
	PlanRebalance(ctx context.Context, name string, o cluster.RebalanceOptions) (string, error)
	Debug(ctx context.Context, name, component string, o cluster.DebugOptions) error
	SetLogConfig(ctx context.Context, id cluster.TopologyID, c cluster.LogConfig) error
	UploadCredentials(ctx context.Context, name string, c cluster.Credentials) error
}

// Lister tells of topologies in short.
type Lister interface {
	ClusterSummary(ctx context.Context) (cluster.ClusterSummary, error)
	TopologySummaries(ctx context.Context) ([]cluster.TopologySummary, error)
	TopologySummary(ctx context.Context, id cluster.TopologyID) (cluster.TopologySummary, error)
	TopologySummaryByName(ctx context.Context, name string) (cluster.TopologySummary, error)
	TopologyInfo(ctx context.Context, id cluster.TopologyID, choice cluster.ErrorsChoice) (cluster.TopologyInfo, error)
	TopologyInfoByName(ctx context.Context, name string, choice cluster.ErrorsChoice) (cluster.TopologyInfo, error)
	TopologyHistory(ctx context.Context, user string) ([]cluster.TopologyID, error)
	OwnerSummaries(ctx context.Context, owner string) ([]cluster.OwnerSummary, error)
}

// Describer tells all of one thing.
type Describer interface {
	TopologyConf(ctx context.Context, id cluster.TopologyID) (string, error)
	Topology(ctx context.Context, id cluster.TopologyID) (cluster.Topology, error)
	UserTopology(ctx context.Context, id cluster.TopologyID) (cluster.Topology, error)
	TopologyPage(ctx context.Context, id cluster.TopologyID, window string, system bool) (cluster.TopologyPage, error)
	ComponentPage(ctx context.Context, id cluster.TopologyID, component, window string, system bool) (cluster.ComponentPage, error)
	SupervisorPage(ctx context.Context, id cluster.SupervisorID, host string, system bool) (cluster.SupervisorPage, error)
	LogConfig(ctx context.Context, id cluster.TopologyID) (cluster.LogConfig, error)
}

// Overseer knows of nimbuses and supervisors.
type Overseer interface {
	Leader(ctx context.Context) (cluster.NimbusSummary, error)
	NimbusConf() (string, error)
	Report(ctx context.Context, report cluster.SupervisorReport) error
	SetStanding(ctx context.Context, id cluster.SupervisorID, s cluster.Standing) error
	Standings(ctx context.Context) (map[cluster.SupervisorID]cluster.Standing, error)
	RingNodes(ctx context.Context) (map[cluster.SupervisorID]string, error)
}

// BlobWatcher is told of blobs that clients change.
type BlobWatcher interface {
	AnnounceBlob(ctx context.Context, key string) error
	RemovedBlob(ctx context.Context, key string) error
	CheckDelete(ctx context.Context, key string) error
}

// Blobs is what the handler needs of a *blobstore.Store, whose methods say what
// they do. Errors are those of package blobstore.
type Blobs interface {
	Inbox
	BlobWriter
	BlobReader
}

// Inbox takes jars.
type Inbox interface {
	BeginFileUpload() (location string, err error)
	UploadFileChunk(location string, chunk []byte) error
	FinishFileUpload(location string) error
}

// BlobWriter changes blobs.
type BlobWriter interface {
	BeginCreate(key string, meta blobstore.Meta, who blobstore.Subject) (session string, err error)
	BeginUpdate(key string, who blobstore.Subject) (session string, err error)
	UploadKey(session string) (string, error)
	UploadChunk(session string, chunk []byte) error
	FinishUpload(session string) (version int64, err error)
	CancelUpload(session string) error
	SetMeta(key string, meta blobstore.Meta, who blobstore.Subject) error
	Delete(key string, who blobstore.Subject) error
}

// BlobReader tells of blobs.
type BlobReader interface {
	BeginDownload(key string, who blobstore.Subject) (blobstore.Download, error)
	DownloadChunk(session string) ([]byte, error)
	List(session string) (keys []string, next string, err error)
	Meta(key string, who blobstore.Subject) (blobstore.ReadableMeta, error)
	Exists(key string) bool
}

var (
	_ Nimbus = (*nimbus.Nimbus)(nil)
	_ Blobs  = (*blobstore.Store)(nil)
)
