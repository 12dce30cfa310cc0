package conf

import "github.com/stormring/stormring/storm"

// Keys of the cluster, by their names in Storm. What each means is in
// table_cluster.go. Keys of topologies are in package storm.
const (
	StormLocalDir           storm.Key[string]   = "storm.local.dir"
	StormLocalHostname      storm.Key[string]   = "storm.local.hostname"
	StormLogDir             storm.Key[string]   = "storm.log.dir"
	StormWorkersArtifacts   storm.Key[string]   = "storm.workers.artifacts.dir"
	StormClusterMode        storm.Key[string]   = "storm.cluster.mode"
	StormScheduler          storm.Key[string]   = "storm.scheduler"
	StormThriftTransport    storm.Key[string]   = "storm.thrift.transport"
	StormThriftTimeoutMS    storm.Key[int]      = "storm.thrift.socket.timeout.ms"
	StormNimbusRetryTimes   storm.Key[int]      = "storm.nimbus.retry.times"
	StormNimbusRetryMillis  storm.Key[int]      = "storm.nimbus.retry.interval.millis"
	StormNimbusRetryCeiling storm.Key[int]      = "storm.nimbus.retry.intervalceiling.millis"
	ZookeeperServers        storm.Key[[]string] = "storm.zookeeper.servers"
	ZookeeperPort           storm.Key[int]      = "storm.zookeeper.port"
	ZookeeperRoot           storm.Key[string]   = "storm.zookeeper.root"
	ZookeeperSessionTimeout storm.Key[int]      = "storm.zookeeper.session.timeout"
	ZookeeperConnTimeout    storm.Key[int]      = "storm.zookeeper.connection.timeout"
	ZookeeperRetryTimes     storm.Key[int]      = "storm.zookeeper.retry.times"
	ZookeeperRetryInterval  storm.Key[int]      = "storm.zookeeper.retry.interval"
	ZookeeperRetryCeiling   storm.Key[int]      = "storm.zookeeper.retry.intervalceiling.millis"
)

// Keys of Nimbus, its schedulers and the blob store.
const (
	NimbusSeeds               storm.Key[[]string]       = "nimbus.seeds"
	NimbusThriftPort          storm.Key[int]            = "nimbus.thrift.port"
	NimbusThriftTLSPort       storm.Key[int]            = "nimbus.thrift.tls.port"
	NimbusThriftThreads       storm.Key[int]            = "nimbus.thrift.threads"
	NimbusThriftMaxBuffer     storm.Key[int]            = "nimbus.thrift.max_buffer_size"
	NimbusAdmins              storm.Key[[]string]       = "nimbus.admins"
	NimbusAuthorizer          storm.Key[string]         = "nimbus.authorizer"
	NimbusMonitorFreqSecs     storm.Key[int]            = "nimbus.monitor.freq.secs"
	NimbusTaskTimeoutSecs     storm.Key[int]            = "nimbus.task.timeout.secs"
	NimbusTaskLaunchSecs      storm.Key[int]            = "nimbus.task.launch.secs"
	NimbusSupervisorTimeout   storm.Key[int]            = "nimbus.supervisor.timeout.secs"
	NimbusInboxExpirationSecs storm.Key[int]            = "nimbus.inbox.jar.expiration.secs"
	NimbusCleanupInboxSecs    storm.Key[int]            = "nimbus.cleanup.inbox.freq.secs"
	NimbusCodeSyncSecs        storm.Key[int]            = "nimbus.code.sync.freq.secs"
	NimbusBlobDeletionDelayMS storm.Key[int]            = "nimbus.topology.blobstore.deletion.delay.ms"
	BlobstoreDir              storm.Key[string]         = "blobstore.dir"
	BlobstoreReplication      storm.Key[int]            = "storm.blobstore.replication.factor"
	BlobstoreACLValidation    storm.Key[bool]           = "storm.blobstore.acl.validation.enabled"
	IsolationMachines         storm.Key[map[string]any] = "isolation.scheduler.machines"
	MultitenantUserPools      storm.Key[map[string]any] = "multitenant.scheduler.user.pools"
	ResourceAwareUserPools    storm.Key[map[string]any] = "resource.aware.scheduler.user.pools"
	BlacklistToleranceSecs    storm.Key[int]            = "blacklist.scheduler.tolerance.time.secs"
	BlacklistToleranceCount   storm.Key[int]            = "blacklist.scheduler.tolerance.count"
	BlacklistResumeSecs       storm.Key[int]            = "blacklist.scheduler.resume.time.secs"
)

// Keys of supervisors and workers, and of the ring between supervisors.
const (
	SupervisorSlotsPorts        storm.Key[[]any]          = "supervisor.slots.ports"
	SupervisorThriftPort        storm.Key[int]            = "supervisor.thrift.port"
	SupervisorThriftThreads     storm.Key[int]            = "supervisor.thrift.threads"
	SupervisorThriftMaxBuffer   storm.Key[int]            = "supervisor.thrift.max_buffer_size"
	SupervisorThriftTimeoutMS   storm.Key[int]            = "supervisor.thrift.socket.timeout.ms"
	SupervisorWorkerStartSecs   storm.Key[int]            = "supervisor.worker.start.timeout.secs"
	SupervisorWorkerTimeoutSecs storm.Key[int]            = "supervisor.worker.timeout.secs"
	SupervisorShutdownSleepSecs storm.Key[int]            = "supervisor.worker.shutdown.sleep.secs"
	SupervisorMonitorSecs       storm.Key[int]            = "supervisor.monitor.frequency.secs"
	SupervisorBlobsSecs         storm.Key[int]            = "supervisor.localizer.update.blob.interval.secs"
	SupervisorCleanupMS         storm.Key[int]            = "supervisor.localizer.cleanup.interval.ms"
	SupervisorHeartbeatSecs     storm.Key[int]            = "supervisor.heartbeat.frequency.secs"
	SupervisorMemoryCapacityMB  storm.Key[float64]        = "supervisor.memory.capacity.mb"
	SupervisorCPUCapacity       storm.Key[float64]        = "supervisor.cpu.capacity"
	SupervisorSchedulerMeta     storm.Key[map[string]any] = "supervisor.scheduler.meta"
	WorkerVersionClasspath      storm.Key[map[string]any] = "supervisor.worker.version.classpath.map"
	WorkerVersionMain           storm.Key[map[string]any] = "supervisor.worker.version.main.map"
	WorkerChildopts             storm.Key[[]string]       = "worker.childopts"
	WorkerGcChildopts           storm.Key[[]string]       = "worker.gc.childopts"
	WorkerHeapMemoryMB          storm.Key[float64]        = "worker.heap.memory.mb"
	WorkerHeartbeatSecs         storm.Key[int]            = "worker.heartbeat.frequency.secs"
	WorkerLogLevelResetSecs     storm.Key[int]            = "worker.log.level.reset.poll.secs"
	WorkerMaxTimeoutSecs        storm.Key[int]            = "worker.max.timeout.secs"
	ExecutorMetricsSecs         storm.Key[int]            = "executor.metrics.frequency.secs"
	TaskRefreshPollSecs         storm.Key[int]            = "task.refresh.poll.secs"
	TaskCredentialsPollSecs     storm.Key[int]            = "task.credentials.poll.secs"
	Sr3Port                     storm.Key[int]            = "sr3.port"
	Sr3Dir                      storm.Key[string]         = "sr3.dir"
	Sr3Rack                     storm.Key[string]         = "sr3.rack"
	Sr3VirtualNodes             storm.Key[int]            = "sr3.virtual.nodes"
	Sr3RepairRate               storm.Key[int]            = "sr3.repair.bytes.per.sec"
	Sr3ScrubRate                storm.Key[int]            = "sr3.scrub.bytes.per.sec"
	Sr3CompressionLevel         storm.Key[int]            = "sr3.compression.level"
	Sr3RepairDelaySecs          storm.Key[int]            = "sr3.repair.delay.secs"
)

// Keys of the services for people and clients.
const (
	UIHost              storm.Key[string]   = "ui.host"
	UIPort              storm.Key[int]      = "ui.port"
	UIActionsEnabled    storm.Key[bool]     = "ui.actions.enabled"
	LogviewerPort       storm.Key[int]      = "logviewer.port"
	LogviewerCleanupAge storm.Key[int]      = "logviewer.cleanup.age.mins"
	DRPCServers         storm.Key[[]string] = "drpc.servers"
	DRPCPort            storm.Key[int]      = "drpc.port"
	DRPCInvocationsPort storm.Key[int]      = "drpc.invocations.port"
	DRPCHTTPPort        storm.Key[int]      = "drpc.http.port"
	DRPCWorkerThreads   storm.Key[int]      = "drpc.worker.threads"
	DRPCMaxBuffer       storm.Key[int]      = "drpc.max_buffer_size"
	DRPCRequestTimeout  storm.Key[int]      = "drpc.request.timeout.secs"
)

// Keys of our own. They may be set for a single topology too.
const (
	// BatchSize is the most tuples that go from executor to executor at once.
	BatchSize storm.Key[int] = "stormring.batch.size"
	// TransportCompression is "none" or "s2".
	TransportCompression storm.Key[string] = "stormring.transport.compression"
	// ReplayGraceMS is how long trees that were under way when another worker
	// was lost may still take, in milliseconds, before their spout fails them;
	// 0 leaves them to time out.
	ReplayGraceMS storm.Key[int] = "stormring.replay.grace.ms"
	// TopologyArgs are the arguments with which the definition of a Go topology
	// made it; workers make it again with them.
	TopologyArgs storm.Key[[]string] = "stormring.topology.args"
	// JVMVersion says that a topology's workers are Storm's own, and of which
	// release: nimbus writes it, the scheduler and supervisors go by it.
	JVMVersion storm.Key[string] = "stormring.jvm.version"
	// JVMLibs is the folder with one folder of jars for each release of Storm.
	JVMLibs storm.Key[string] = "stormring.jvm.libs"
)
