package storm

// The keys of topology settings. Each comment says what the setting does, its
// unit and the default that holds if neither the topology nor storm.yaml sets
// it ("none" is Storm's null). Keys marked (component) may be set for a single
// component too; what a component sets of the other keys is ignored, as Storm
// does it. Package internal/conf checks values against ranges.

// Size and placement.
const (
	// ConfTopologyName is the topology's name; the runtime sets it.
	ConfTopologyName Key[string] = "topology.name"
	// ConfTopologyWorkers is the number of worker processes. Default 1.
	ConfTopologyWorkers Key[int] = "topology.workers"
	// ConfTopologyTasks is the number of tasks of a component, fixed for the
	// topology's life. Default: the parallelism hint.
	ConfTopologyTasks Key[int] = "topology.tasks"
	// ConfTopologyMaxTaskParallelism caps tasks and executors of every
	// component (component). Default none.
	ConfTopologyMaxTaskParallelism Key[int] = "topology.max.task.parallelism"
	// ConfTopologyAckerExecutors is the number of ackers; 0 acks at once at
	// the spout. Default none: as many as workers.
	ConfTopologyAckerExecutors Key[int] = "topology.acker.executors"
	// ConfTopologyRasAckerExecutorsPerWorker is the number of ackers a worker
	// under the resource aware scheduler. Default 1.
	ConfTopologyRasAckerExecutorsPerWorker Key[int] = "topology.ras.acker.executors.per.worker"
	// ConfTopologyEventloggerExecutors is the number of event loggers. Default 0.
	ConfTopologyEventloggerExecutors Key[int] = "topology.eventlogger.executors"
	// ConfTopologyPriority ranks topologies of a user, low first. Default 29.
	ConfTopologyPriority Key[int] = "topology.priority"
	// ConfTopologySchedulerStrategy names the resource aware scheduler's
	// strategy. Default: DefaultResourceAwareStrategy.
	ConfTopologySchedulerStrategy Key[string] = "topology.scheduler.strategy"
	// ConfTopologyIsolatedMachines is how many hosts the topology has for
	// itself under the multitenant scheduler. Default 0.
	ConfTopologyIsolatedMachines Key[int] = "topology.isolate.machines"
	// ConfTopologyComponentResourcesOnheapMemoryMB is the memory of one
	// executor, in MiB. Default 128.
	ConfTopologyComponentResourcesOnheapMemoryMB Key[float64] = "topology.component.resources.onheap.memory.mb"
	// ConfTopologyComponentResourcesOffheapMemoryMB is the memory of one
	// executor outside the heap, in MiB. Default 0.
	ConfTopologyComponentResourcesOffheapMemoryMB Key[float64] = "topology.component.resources.offheap.memory.mb"
	// ConfTopologyComponentCPUPcorePercent is the processor time of one
	// executor, in percent of a core. Default 10.
	ConfTopologyComponentCPUPcorePercent Key[float64] = "topology.component.cpu.pcore.percent"
	// ConfTopologyWorkerMaxHeapSizeMB is the most memory that executors of one
	// worker may ask for together, in MiB. Default 768.
	ConfTopologyWorkerMaxHeapSizeMB Key[float64] = "topology.worker.max.heap.size.mb"
	// ConfTopologyMinReplicationCount is how many Nimbus hosts must have the
	// code before the topology starts. Default 1.
	ConfTopologyMinReplicationCount Key[int] = "topology.min.replication.count"
	// ConfTopologyMaxReplicationWaitTimeSec is how long, in seconds, a
	// submission waits for that; -1 waits for ever. Default 60.
	ConfTopologyMaxReplicationWaitTimeSec Key[int] = "topology.max.replication.wait.time.sec"
)

// Tuples and their acking.
const (
	// ConfTopologyMessageTimeoutSecs is how long a tuple tree may take, in
	// seconds, and the default wait of kill and rebalance. Default 30.
	ConfTopologyMessageTimeoutSecs Key[int] = "topology.message.timeout.secs"
	// ConfTopologyEnableMessageTimeouts: false lets no tuple time out. Default true.
	ConfTopologyEnableMessageTimeouts Key[bool] = "topology.enable.message.timeouts"
	// ConfTopologyMaxSpoutPending caps tracked tuples under way per spout task
	// (component). Default none.
	ConfTopologyMaxSpoutPending Key[int] = "topology.max.spout.pending"
	// ConfTopologyTickTupleFreqSecs is the interval of tick tuples, in seconds
	// (component). Default none.
	ConfTopologyTickTupleFreqSecs Key[int] = "topology.tick.tuple.freq.secs"
	// ConfTopologyDebug logs every emitted tuple (component). Default false.
	ConfTopologyDebug Key[bool] = "topology.debug"
	// ConfTopologyStatsSampleRate is the share of tuples whose latency is
	// measured, 0 to 1. Default 0.05.
	ConfTopologyStatsSampleRate Key[float64] = "topology.stats.sample.rate"
	// ConfTopologyBuiltinMetricsBucketSizeSecs is the interval of metrics
	// ticks, in seconds. Default 60.
	ConfTopologyBuiltinMetricsBucketSizeSecs Key[int] = "topology.builtin.metrics.bucket.size.secs"
	// ConfTopologyMetricsConsumerRegister lists metrics consumers, see
	// Config.RegisterMetricsConsumer. Default none.
	ConfTopologyMetricsConsumerRegister Key[[]any] = "topology.metrics.consumer.register"
	// ConfTopologySerializedMessageSizeMetrics measures the size of tuples
	// sent to other workers. Default false.
	ConfTopologySerializedMessageSizeMetrics Key[bool] = "topology.serialized.message.size.metrics"
	// ConfTopologyErrorThrottleIntervalSecs and
	// ConfTopologyMaxErrorReportPerInterval: at most so many errors of a
	// component are reported per interval, in seconds. Default 10.
	ConfTopologyErrorThrottleIntervalSecs Key[int] = "topology.error.throttle.interval.secs"
	// ConfTopologyMaxErrorReportPerInterval: see
	// ConfTopologyErrorThrottleIntervalSecs. Default 5.
	ConfTopologyMaxErrorReportPerInterval Key[int] = "topology.max.error.report.per.interval"
	// ConfTopologyDisableLoadAwareMessaging makes shuffle grouping blind to
	// load and place. Default false.
	ConfTopologyDisableLoadAwareMessaging Key[bool] = "topology.disable.loadaware.messaging"
	// ConfTopologyLocalityAwareHigherBound is the load, 0 to 1, above which
	// shuffle grouping looks farther than the near tasks. Default 0.8.
	ConfTopologyLocalityAwareHigherBound Key[float64] = "topology.localityaware.higher.bound"
	// ConfTopologyLocalityAwareLowerBound is the load, 0 to 1, below which it
	// keeps to the near tasks again. Default 0.2.
	ConfTopologyLocalityAwareLowerBound Key[float64] = "topology.localityaware.lower.bound"
	// ConfTopologyTransactionalID names a transactional topology (component).
	// Default none.
	ConfTopologyTransactionalID Key[string] = "topology.transactional.id"
	// ConfTopologyTridentBatchEmitIntervalMillis spaces Trident's batches, in
	// milliseconds. Default 500.
	ConfTopologyTridentBatchEmitIntervalMillis Key[int] = "topology.trident.batch.emit.interval.millis"
)

// Queues, batches and waiting.
const (
	// ConfTopologyExecutorReceiveBufferSize bounds an executor's queue, in
	// tuples. Default 4096; Storm has 32768.
	ConfTopologyExecutorReceiveBufferSize Key[int] = "topology.executor.receive.buffer.size"
	// ConfTopologyTransferBufferSize bounds a worker's outward queue, in
	// batches. Default 1000.
	ConfTopologyTransferBufferSize Key[int] = "topology.transfer.buffer.size"
	// ConfTopologyTransferBatchSize is the batch of that queue, in tuples. Default 1.
	ConfTopologyTransferBatchSize Key[int] = "topology.transfer.batch.size"
	// ConfTopologyProducerBatchSize is how many tuples a producer gathers
	// before it hands them on. Default 1: the runtime then sizes batches by
	// load.
	ConfTopologyProducerBatchSize Key[int] = "topology.producer.batch.size"
	// ConfTopologyBatchFlushIntervalMillis is the longest that a tuple waits
	// for its batch, in milliseconds; 0 never flushes by time. Default 1.
	ConfTopologyBatchFlushIntervalMillis Key[int] = "topology.batch.flush.interval.millis"
	// ConfTopologyExecutorOverflowLimit bounds what waits beside a full queue,
	// in tuples; 0 means no bound. Default 0.
	ConfTopologyExecutorOverflowLimit Key[int] = "topology.executor.overflow.limit"
	// ConfTopologyBackpressureCheckMillis is how often a stopped producer
	// looks again, in milliseconds. Default 50.
	ConfTopologyBackpressureCheckMillis Key[int] = "topology.backpressure.check.millis"
	// ConfTopologyBackpressureWaitStrategy, ConfTopologySpoutWaitStrategy and
	// ConfTopologyBoltWaitStrategy name classes that say how an idle thread
	// waits; only Java components look at them. Default: progressive waiting.
	ConfTopologyBackpressureWaitStrategy Key[string] = "topology.backpressure.wait.strategy"
	// ConfTopologySpoutWaitStrategy: see ConfTopologyBackpressureWaitStrategy
	// (component).
	ConfTopologySpoutWaitStrategy Key[string] = "topology.spout.wait.strategy"
	// ConfTopologyBoltWaitStrategy: see ConfTopologyBackpressureWaitStrategy.
	ConfTopologyBoltWaitStrategy Key[string] = "topology.bolt.wait.strategy"
	// ConfTopologySpoutWaitProgressiveLevel3SleepMillis is how long a spout
	// rests after an empty NextTuple, in milliseconds. Default 1.
	ConfTopologySpoutWaitProgressiveLevel3SleepMillis Key[int] = "topology.spout.wait.progressive.level3.sleep.millis"
	// ConfTopologyBoltWaitProgressiveLevel1Count is the number of looks before
	// an idle Java bolt first parks. Default 1.
	ConfTopologyBoltWaitProgressiveLevel1Count Key[int] = "topology.bolt.wait.progressive.level1.count"
	// ConfTopologyBoltWaitProgressiveLevel2Count is the number of short parks
	// before it sleeps. Default 1000.
	ConfTopologyBoltWaitProgressiveLevel2Count Key[int] = "topology.bolt.wait.progressive.level2.count"
	// ConfTopologyBoltWaitProgressiveLevel3SleepMillis is that sleep, in
	// milliseconds. Default 1.
	ConfTopologyBoltWaitProgressiveLevel3SleepMillis Key[int] = "topology.bolt.wait.progressive.level3.sleep.millis"
	// ConfTopologySleepSpoutWaitStrategyTimeMS is the rest of a spout under
	// Storm's sleep strategy, in milliseconds (component). Default 1.
	ConfTopologySleepSpoutWaitStrategyTimeMS Key[int] = "topology.sleep.spout.wait.strategy.time.ms"
	// ConfTopologySpoutRecvqSkips is how many NextTuple calls may pass between
	// two looks at a spout's queue. Default 3.
	ConfTopologySpoutRecvqSkips Key[int] = "topology.spout.recvq.skips"
	// ConfTopologyWorkerSharedThreadPoolSize is the size of the pool that Java
	// components of a worker share. Default 4.
	ConfTopologyWorkerSharedThreadPoolSize Key[int] = "topology.worker.shared.thread.pool.size"
	// ConfTopologyWorkerReceiverThreadCount is the number of threads that
	// receive tuples from other workers. Default 1.
	ConfTopologyWorkerReceiverThreadCount Key[int] = "topology.worker.receiver.thread.count"
	// ConfTopologyTupleCompressionEnable compresses tuples between workers
	// (Storm 3). Default false.
	ConfTopologyTupleCompressionEnable Key[bool] = "topology.tuple.compression.enable"
)

// Windows.
const (
	// ConfTopologyBoltsWindowLengthCount is a window's length in tuples
	// (component). Default none.
	ConfTopologyBoltsWindowLengthCount Key[int] = "topology.bolts.window.length.count"
	// ConfTopologyBoltsWindowLengthDurationMS is a window's length in
	// milliseconds (component). Default none.
	ConfTopologyBoltsWindowLengthDurationMS Key[int] = "topology.bolts.window.length.duration.ms"
	// ConfTopologyBoltsSlidingIntervalCount is how far a window slides, in
	// tuples (component). Default 1.
	ConfTopologyBoltsSlidingIntervalCount Key[int] = "topology.bolts.window.sliding.interval.count"
	// ConfTopologyBoltsSlidingIntervalDurationMS is how far a window slides,
	// in milliseconds (component). Default none.
	ConfTopologyBoltsSlidingIntervalDurationMS Key[int] = "topology.bolts.window.sliding.interval.duration.ms"
	// ConfTopologyBoltsTupleTimestampMaxLagMS is how late a tuple may be by
	// its own timestamp, in milliseconds (component). Default 0.
	ConfTopologyBoltsTupleTimestampMaxLagMS Key[int] = "topology.bolts.tuple.timestamp.max.lag.ms"
	// ConfTopologyBoltsWatermarkEventIntervalMS is the interval of watermarks,
	// in milliseconds (component). Default 1000.
	ConfTopologyBoltsWatermarkEventIntervalMS Key[int] = "topology.bolts.watermark.event.interval.ms"
	// ConfTopologyBoltsLateTupleStream is the stream that late tuples go to
	// (component). Default none: they are dropped.
	ConfTopologyBoltsLateTupleStream Key[string] = "topology.bolts.late.tuple.stream"
	// ConfTopologyBoltsMessageIDFieldName is the field that identifies a tuple
	// of a stateful windowed bolt (component). Default none.
	ConfTopologyBoltsMessageIDFieldName Key[string] = "topology.bolts.message.id.field.name"
)

// State and its recovery. The sr3 keys are ours.
const (
	// ConfTopologyStateCheckpointIntervalMS is the time between two
	// checkpoints, in milliseconds, at least 100. Default 1000.
	ConfTopologyStateCheckpointIntervalMS Key[int] = "topology.state.checkpoint.interval.ms"
	// ConfTopologyStateSynchronizationTimeoutSecs is how long the tasks of a
	// topology may take to save a checkpoint, all together, in seconds. Default 60.
	ConfTopologyStateSynchronizationTimeoutSecs Key[int] = "topology.state.synchronization.timeout.secs"
	// ConfTopologyStateProvider is the class of a Java bolt's state provider
	// (component). Default: state in memory.
	ConfTopologyStateProvider Key[string] = "topology.state.provider"
	// ConfTopologyStateProviderConfig is the provider's own configuration, as
	// JSON text (component). Default none.
	ConfTopologyStateProviderConfig Key[string] = "topology.state.provider.config"
	// ConfTopologySr3Stateful says that a component keeps state on the ring
	// (component). Build sets it for Stateful components; for shell components it
	// is set by hand. Default false.
	ConfTopologySr3Stateful Key[bool] = "topology.sr3.stateful"
	// ConfTopologySr3StateMaxBytes is how large the state of one task may become,
	// in bytes: it is kept in memory (component). Default 4 GiB.
	ConfTopologySr3StateMaxBytes Key[int] = "topology.sr3.state.max.bytes"
	// ConfTopologySr3Recovery is how state comes back after a failure: "star",
	// "line", "tree" or "auto" (component). Default "auto".
	ConfTopologySr3Recovery Key[string] = "topology.sr3.recovery"
	// ConfTopologySr3Resume is when a recovered task goes on: "full" after all
	// its state is there, "ondemand" as soon as its parts are known
	// (component). Default "full".
	ConfTopologySr3Resume Key[string] = "topology.sr3.resume"
	// ConfTopologySr3Replicas is the number of hosts that keep a copy of each
	// shard (component). Default 3.
	ConfTopologySr3Replicas Key[int] = "topology.sr3.replicas"
	// ConfTopologySr3ShardBytes is the size a shard aims at, in bytes
	// (component). Default 4 MiB.
	ConfTopologySr3ShardBytes Key[int] = "topology.sr3.shard.bytes"
	// ConfTopologySr3StarFanin is the most streams of a star recovery
	// (component). Default 16.
	ConfTopologySr3StarFanin Key[int] = "topology.sr3.star.fanin"
	// ConfTopologySr3StarMaxBytes is the size, in bytes, up to which "auto"
	// without measurements takes star (component). Default 16 MiB.
	ConfTopologySr3StarMaxBytes Key[int] = "topology.sr3.star.max.bytes"
	// ConfTopologySr3LineLength is the most holders in one line (component).
	// Default 8.
	ConfTopologySr3LineLength Key[int] = "topology.sr3.line.length"
	// ConfTopologySr3TreeFanin is the fan-in of a tree's nodes (component).
	// Default 4.
	ConfTopologySr3TreeFanin Key[int] = "topology.sr3.tree.fanin"
	// ConfTopologySr3LatencySensitive: false lets "auto" without measurements
	// prefer the slower but frugal line (component). Default true.
	ConfTopologySr3LatencySensitive Key[bool] = "topology.sr3.latency.sensitive"
	// ConfTopologyRecoveryPairs runs each task as a primary and a standby on
	// two hosts (component). Default false.
	ConfTopologyRecoveryPairs Key[bool] = "topology.recovery.pairs"
)

// Components in other languages, and their processes.
const (
	// ConfTopologyShellboltMaxPending bounds tuples under way in a shell bolt.
	// Default 100.
	ConfTopologyShellboltMaxPending Key[int] = "topology.shellbolt.max.pending"
	// ConfTopologySubprocessTimeoutSecs is how long a shell component may be
	// silent, in seconds. Default none: supervisor.worker.timeout.secs.
	ConfTopologySubprocessTimeoutSecs Key[int] = "topology.subprocess.timeout.secs"
	// ConfTopologyMultilangSerializer names the messages of the shell protocol,
	// by a class of Storm or streamparse or as json or msgpack. Default: Storm's
	// JsonSerializer.
	ConfTopologyMultilangSerializer Key[string] = "topology.multilang.serializer"
	// ConfMultilangStrict makes text on a child's standard output that is no
	// message, and messages that cannot be used, the end of the child. Default
	// false: they are logged and counted.
	ConfMultilangStrict Key[bool] = "stormring.multilang.strict"
	// ConfMultilangMaxRestarts is how often a child is started again before the
	// error is final and the worker ends. A child that has run for a minute
	// begins to count anew. Default 8.
	ConfMultilangMaxRestarts Key[int] = "stormring.multilang.max.restarts"
	// ConfMultilangMaxMessageBytes is how large a message of a child may be.
	// Default 64 MiB.
	ConfMultilangMaxMessageBytes Key[int] = "stormring.multilang.max.message.bytes"
	// ConfMultilangStartTimeoutSecs is how long a child may be silent, on
	// standard error too, before it has answered the handshake. Default four
	// times topology.subprocess.timeout.secs.
	ConfMultilangStartTimeoutSecs Key[int] = "stormring.multilang.start.timeout.secs"
	// ConfTopologyPythonPath is the Python of streamparse components. Default none.
	ConfTopologyPythonPath Key[string] = "topology.python.path"
	// ConfTopologyEnvironment maps environment variables of workers to their
	// values. Default none.
	ConfTopologyEnvironment Key[map[string]any] = "topology.environment"
	// ConfTopologyClasspath is added to the class path of JVM workers. Default none.
	ConfTopologyClasspath Key[[]string] = "topology.classpath"
	// ConfTopologyClasspathBeginning is put before it. Default none.
	ConfTopologyClasspathBeginning Key[[]string] = "topology.classpath.beginning"
	// ConfTopologyWorkerChildopts are options of JVM workers. Default none.
	ConfTopologyWorkerChildopts Key[[]string] = "topology.worker.childopts"
	// ConfTopologyWorkerGcChildopts are garbage collector options of JVM
	// workers. Default none.
	ConfTopologyWorkerGcChildopts Key[[]string] = "topology.worker.gc.childopts"
	// ConfTopologyWorkerTimeoutSecs is how long a worker may be silent, in
	// seconds, up to worker.max.timeout.secs. Default none:
	// supervisor.worker.timeout.secs.
	ConfTopologyWorkerTimeoutSecs Key[int] = "topology.worker.timeout.secs"
	// ConfTopologyWorkerNimbusThriftClientUseTLS has workers speak TLS to
	// Nimbus. Default false.
	ConfTopologyWorkerNimbusThriftClientUseTLS Key[bool] = "topology.worker.nimbus.thrift.client.use.tls"
	// ConfTopologyBlobstoreMap maps keys of blobs that workers get as files to
	// how they get them. Default none.
	ConfTopologyBlobstoreMap Key[map[string]any] = "topology.blobstore.map"
	// ConfTopologyAutoTaskHooks lists classes of task hooks. Default none.
	ConfTopologyAutoTaskHooks Key[[]string] = "topology.auto.task.hooks"
	// ConfTopologyFallBackOnJavaSerialization lets Java components send
	// classes that Kryo does not know. Default false.
	ConfTopologyFallBackOnJavaSerialization Key[bool] = "topology.fall.back.on.java.serialization"
	// ConfTopologySkipMissingKryoRegistrations ignores registered classes that
	// are missing. Default false.
	ConfTopologySkipMissingKryoRegistrations Key[bool] = "topology.skip.missing.kryo.registrations"
	// ConfTopologyKryoRegister lists classes, or maps of class to serializer,
	// that Kryo is to know. Default none.
	ConfTopologyKryoRegister Key[[]any] = "topology.kryo.register"
	// ConfTopologyKryoDecorators lists classes that set up Kryo. Default none.
	ConfTopologyKryoDecorators Key[[]string] = "topology.kryo.decorators"
	// ConfTopologyKryoFactory is the class that makes Kryo. Default:
	// DefaultKryoFactory.
	ConfTopologyKryoFactory Key[string] = "topology.kryo.factory"
	// ConfTopologyTupleSerializer is the class that writes value lists.
	// Default: ListDelegateSerializer.
	ConfTopologyTupleSerializer Key[string] = "topology.tuple.serializer"
	// ConfTopologyTestingAlwaysTrySerialize serialises tuples inside a worker
	// too, to find what cannot travel. Default false.
	ConfTopologyTestingAlwaysTrySerialize Key[bool] = "topology.testing.always.try.serialize"
)

// Who may do what; the runtime sets the submitter.
const (
	// ConfTopologySubmitterPrincipal is who submitted the topology.
	ConfTopologySubmitterPrincipal Key[string] = "topology.submitter.principal"
	// ConfTopologySubmitterUser is the operating system user it runs as.
	ConfTopologySubmitterUser Key[string] = "topology.submitter.user"
	// ConfTopologyUsers lists users who may act on the topology. Default none.
	ConfTopologyUsers Key[[]string] = "topology.users"
	// ConfTopologyGroups lists groups who may act on the topology. Default none.
	ConfTopologyGroups Key[[]string] = "topology.groups"
)
