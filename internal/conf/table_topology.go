package conf

import "github.com/stormring/stormring/storm"

// Classes of Storm that are defaults; Java components on a JVM need them.
const (
	classProgressive = "org.apache.storm.policy.WaitStrategyProgressive"
	classStrategy    = "org.apache.storm.scheduler.resource.strategies.scheduling.DefaultResourceAwareStrategy"
)

// topologyTable are the keys that a topology may set.
func topologyTable() []spec {
	rows := append(sizeRows(), tupleRows()...)
	rows = append(rows, queueRows()...)
	rows = append(rows, windowRows()...)
	rows = append(rows, stateRows()...)
	rows = append(rows, foreignRows()...)
	return rows
}

func sizeRows() []spec {
	return []spec{
		opt(storm.ConfTopologyName, "name of the topology, set by the runtime"),
		row(storm.ConfTopologyWorkers, 1, "worker processes", atLeast(1)),
		opt(storm.ConfTopologyTasks, "tasks of a component; null: its parallelism hint", atLeast(0)),
		opt(storm.ConfTopologyMaxTaskParallelism, "cap on tasks and executors of a component", component, atLeast(1)),
		opt(storm.ConfTopologyAckerExecutors, "acker executors; null: as many as workers; 0: no acking", atLeast(0)),
		row(storm.ConfTopologyRasAckerExecutorsPerWorker, 1, "ackers a worker under the resource aware scheduler", atLeast(0)),
		row(storm.ConfTopologyEventloggerExecutors, 0, "event logger executors", atLeast(0)),
		row(storm.ConfTopologyPriority, 29, "rank among the topologies of a user, low first", atLeast(0)),
		row(storm.ConfTopologySchedulerStrategy, classStrategy, "strategy of the resource aware scheduler"),
		row(storm.ConfTopologyIsolatedMachines, 0, "hosts of its own under the multitenant scheduler", atLeast(0)),
		row(storm.ConfTopologyComponentResourcesOnheapMemoryMB, 128, "memory of an executor, MiB", atLeast(0)),
		row(storm.ConfTopologyComponentResourcesOffheapMemoryMB, 0, "memory of an executor outside the heap, MiB", atLeast(0)),
		row(storm.ConfTopologyComponentCPUPcorePercent, 10, "processor time of an executor, percent of a core", atLeast(0)),
		row(storm.ConfTopologyWorkerMaxHeapSizeMB, 768, "most memory that executors of one worker may ask for, MiB", atLeast(0)),
		row(storm.ConfTopologyMinReplicationCount, 1, "Nimbus hosts that must have the code before the start", atLeast(1)),
		row(storm.ConfTopologyMaxReplicationWaitTimeSec, 60, "seconds to wait for that; -1: for ever", atLeast(-1)),
	}
}

func tupleRows() []spec {
	return []spec{
		row(storm.ConfTopologyMessageTimeoutSecs, 30, "seconds until a tuple tree fails; default wait of kill and rebalance", atLeast(1)),
		row(storm.ConfTopologyEnableMessageTimeouts, true, "whether tuple trees time out"),
		opt(storm.ConfTopologyMaxSpoutPending, "tracked tuples under way per spout task; null: no cap", component, atLeast(1)),
		opt(storm.ConfTopologyTickTupleFreqSecs, "seconds between tick tuples; null: none", component, atLeast(0)),
		row(storm.ConfTopologyDebug, false, "log every emitted tuple", component),
		row(storm.ConfTopologyStatsSampleRate, 0.05, "share of tuples whose latency is measured", between(0, 1)),
		row(storm.ConfTopologyBuiltinMetricsBucketSizeSecs, 60, "seconds between metrics ticks", atLeast(1)),
		opt(storm.ConfTopologyMetricsConsumerRegister, "metrics consumers: maps of class, parallelism.hint, argument"),
		row(storm.ConfTopologySerializedMessageSizeMetrics, false, "measure the size of tuples sent to other workers"),
		row(storm.ConfTopologyErrorThrottleIntervalSecs, 10, "seconds over which reports of errors are counted", atLeast(1)),
		row(storm.ConfTopologyMaxErrorReportPerInterval, 5, "errors reported in that time", atLeast(0)),
		row(storm.ConfTopologyDisableLoadAwareMessaging, false, "shuffle grouping that ignores load and place"),
		row(storm.ConfTopologyLocalityAwareHigherBound, 0.8, "load above which shuffle looks farther away", between(0, 1)),
		row(storm.ConfTopologyLocalityAwareLowerBound, 0.2, "load below which shuffle keeps near again", between(0, 1)),
		opt(storm.ConfTopologyTransactionalID, "name of a transactional topology", component),
		row(storm.ConfTopologyTridentBatchEmitIntervalMillis, 500, "milliseconds between Trident batches", atLeast(0)),
	}
}

func queueRows() []spec {
	return []spec{
		// Storm has 32768. Here batches are queued whole, and a short queue stays
		// in the processor's cache.
		row(storm.ConfTopologyExecutorReceiveBufferSize, 4096, "tuples in an executor's queue", atLeast(1)),
		row(storm.ConfTopologyTransferBufferSize, 1000, "batches in a worker's outward queue", atLeast(1)),
		row(storm.ConfTopologyTransferBatchSize, 1, "tuples in a batch of that queue", atLeast(1)),
		row(storm.ConfTopologyProducerBatchSize, 1, "tuples that a producer gathers; 1: as many as load asks for", atLeast(1)),
		row(storm.ConfTopologyBatchFlushIntervalMillis, 1, "milliseconds that a tuple waits for its batch; 0: no limit", atLeast(0)),
		row(storm.ConfTopologyExecutorOverflowLimit, 0, "tuples that wait beside a full queue; 0: no limit", atLeast(0)),
		row(storm.ConfTopologyBackpressureCheckMillis, 50, "milliseconds between looks of a stopped producer", atLeast(1)),
		row(storm.ConfTopologyBackpressureWaitStrategy, classProgressive, "how a stopped Java producer waits"),
		row(storm.ConfTopologySpoutWaitStrategy, classProgressive, "how an idle Java spout waits", component),
		row(storm.ConfTopologyBoltWaitStrategy, classProgressive, "how an idle Java bolt waits"),
		row(storm.ConfTopologySpoutWaitProgressiveLevel3SleepMillis, 1, "milliseconds that a spout rests after an empty nextTuple", atLeast(0)),
		row(storm.ConfTopologyBoltWaitProgressiveLevel1Count, 1, "looks of an idle Java bolt before it parks", atLeast(0)),
		row(storm.ConfTopologyBoltWaitProgressiveLevel2Count, 1000, "parks of an idle Java bolt before it sleeps", atLeast(0)),
		row(storm.ConfTopologyBoltWaitProgressiveLevel3SleepMillis, 1, "milliseconds of that sleep", atLeast(0)),
		row(storm.ConfTopologySleepSpoutWaitStrategyTimeMS, 1, "milliseconds that a spout rests under the sleep strategy", component, atLeast(0)),
		row(storm.ConfTopologySpoutRecvqSkips, 3, "nextTuple calls between looks at a spout's queue", atLeast(0)),
		row(storm.ConfTopologyWorkerSharedThreadPoolSize, 4, "threads that Java components of a worker share", atLeast(1)),
		row(storm.ConfTopologyWorkerReceiverThreadCount, 1, "threads that receive from other workers", atLeast(1)),
		row(storm.ConfTopologyTupleCompressionEnable, false, "compress tuples between workers (Storm 3)"),
		opt(JVMVersion, "release of Storm whose workers run the topology; set at submission"),
		opt(TopologyArgs, "arguments of the program that made the topology; set at submission"),
		row(BatchSize, 100, "tuples that go from executor to executor at once, at most", between(1, 10000)),
		row(ReplayGraceMS, 1000, "milliseconds that trees may take, at least, once a worker that they went through is lost, until they fail; 0: until they time out", millis, atLeast(0)),
		row(TransportCompression, "none", "compression of tuples between workers", oneOf("none", "s2")),
	}
}

func windowRows() []spec {
	return []spec{
		opt(storm.ConfTopologyBoltsWindowLengthCount, "tuples in a window", component, atLeast(1)),
		opt(storm.ConfTopologyBoltsWindowLengthDurationMS, "milliseconds in a window", component, atLeast(1)),
		row(storm.ConfTopologyBoltsSlidingIntervalCount, 1, "tuples that a window slides by", component, atLeast(1)),
		opt(storm.ConfTopologyBoltsSlidingIntervalDurationMS, "milliseconds that a window slides by", component, atLeast(1)),
		row(storm.ConfTopologyBoltsTupleTimestampMaxLagMS, 0, "milliseconds that a tuple may be late", component, atLeast(0)),
		row(storm.ConfTopologyBoltsWatermarkEventIntervalMS, 1000, "milliseconds between watermarks", component, atLeast(1)),
		opt(storm.ConfTopologyBoltsLateTupleStream, "stream of late tuples; null: drop them", component),
		opt(storm.ConfTopologyBoltsMessageIDFieldName, "field that identifies a tuple in a stateful window", component),
	}
}

func stateRows() []spec {
	const mib = 1 << 20
	return []spec{
		row(storm.ConfTopologyStateCheckpointIntervalMS, 1000, "milliseconds between checkpoints", atLeast(100)),
		row(storm.ConfTopologyStateSynchronizationTimeoutSecs, 60, "seconds that a checkpoint may take to be saved", atLeast(1)),
		row(storm.ConfTopologyStateProvider, "org.apache.storm.state.InMemoryKeyValueStateProvider", "state provider of Java bolts", component),
		opt(storm.ConfTopologyStateProviderConfig, "configuration of the state provider, JSON text", component),
		row(storm.ConfTopologySr3Stateful, false, "whether the component keeps state on the ring", component),
		row(storm.ConfTopologySr3StateMaxBytes, 4<<30, "bytes of state that one task may have", component, atLeast(1)),
		row(storm.ConfTopologySr3Recovery, "auto", "how state comes back after a failure", component, oneOf("star", "line", "tree", "auto")),
		row(storm.ConfTopologySr3Resume, "full", "when a recovered task goes on", component, oneOf("full", "ondemand")),
		row(storm.ConfTopologySr3Replicas, 3, "hosts that keep a copy of each shard", component, between(1, 16)),
		row(storm.ConfTopologySr3ShardBytes, 4*mib, "bytes that a shard aims at", component, atLeast(4096)),
		row(storm.ConfTopologySr3StarFanin, 16, "streams of a star recovery, at most", component, atLeast(1)),
		row(storm.ConfTopologySr3StarMaxBytes, 16*mib, "bytes of state up to which auto takes star unmeasured", component, atLeast(0)),
		row(storm.ConfTopologySr3LineLength, 8, "holders in one line, at most", component, atLeast(1)),
		row(storm.ConfTopologySr3TreeFanin, 4, "fan-in of a tree's nodes", component, atLeast(2)),
		row(storm.ConfTopologySr3LatencySensitive, true, "whether auto, unmeasured, prefers tree to line", component),
		row(storm.ConfTopologyRecoveryPairs, false, "run each task as primary and standby on two hosts", component),
	}
}

func foreignRows() []spec {
	return []spec{
		row(storm.ConfTopologyShellboltMaxPending, 100, "tuples under way in a shell bolt", component, atLeast(1)),
		opt(storm.ConfTopologySubprocessTimeoutSecs, "seconds of silence until a shell component is dead; null: supervisor.worker.timeout.secs", component, atLeast(1)),
		row(storm.ConfTopologyMultilangSerializer, "org.apache.storm.multilang.JsonSerializer", "messages of shell components", component),
		row(storm.ConfMultilangStrict, false, "text of a shell component that is no message ends it", component),
		row(storm.ConfMultilangMaxRestarts, 8, "times that a shell component is started again, unless it ran for a minute, before its worker ends", component, atLeast(0)),
		row(storm.ConfMultilangMaxMessageBytes, 64<<20, "bytes of a message of a shell component", component, atLeast(1024)),
		opt(storm.ConfMultilangStartTimeoutSecs, "seconds that a shell component may be silent before it answers the handshake; null: four times topology.subprocess.timeout.secs", component, atLeast(1)),
		opt(storm.ConfTopologyPythonPath, "Python of streamparse components"),
		opt(storm.ConfTopologyEnvironment, "environment variables of workers"),
		opt(storm.ConfTopologyClasspath, "added to the class path of JVM workers"),
		opt(storm.ConfTopologyClasspathBeginning, "put before the class path of JVM workers"),
		opt(storm.ConfTopologyWorkerChildopts, "options of JVM workers"),
		opt(storm.ConfTopologyWorkerGcChildopts, "garbage collector options of JVM workers"),
		opt(storm.ConfTopologyWorkerTimeoutSecs, "seconds of silence until a worker is dead; null: supervisor.worker.timeout.secs", atLeast(1)),
		row(storm.ConfTopologyWorkerNimbusThriftClientUseTLS, false, "workers speak TLS to Nimbus"),
		opt(storm.ConfTopologyBlobstoreMap, "blobs that workers get as files"),
		opt(storm.ConfTopologyAutoTaskHooks, "classes of task hooks"),
		row(storm.ConfTopologyFallBackOnJavaSerialization, false, "Java components may send classes that Kryo does not know"),
		row(storm.ConfTopologySkipMissingKryoRegistrations, false, "ignore registered classes that are missing"),
		opt(storm.ConfTopologyKryoRegister, "classes that Kryo knows, or maps of class to serializer"),
		opt(storm.ConfTopologyKryoDecorators, "classes that set up Kryo"),
		row(storm.ConfTopologyKryoFactory, "org.apache.storm.serialization.DefaultKryoFactory", "class that makes Kryo"),
		row(storm.ConfTopologyTupleSerializer, "org.apache.storm.serialization.types.ListDelegateSerializer", "class that writes value lists"),
		row(storm.ConfTopologyTestingAlwaysTrySerialize, false, "serialise tuples inside a worker too"),
		opt(storm.ConfTopologySubmitterPrincipal, "who submitted, set by the runtime"),
		opt(storm.ConfTopologySubmitterUser, "operating system user of the topology, set by the runtime"),
		opt(storm.ConfTopologyUsers, "users who may act on the topology"),
		opt(storm.ConfTopologyGroups, "groups who may act on the topology"),
	}
}
