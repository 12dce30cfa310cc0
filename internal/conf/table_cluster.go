package conf

// frame is Storm's limit on the size of a Thrift message, in bytes.
const frame = 1 << 20

// clusterTable are the keys of storm.yaml that concern daemons and clients.
func clusterTable() []spec {
	rows := append(stormRows(), nimbusRows()...)
	rows = append(rows, supervisorRows()...)
	rows = append(rows, serviceRows()...)
	return rows
}

func stormRows() []spec {
	return []spec{
		row(StormLocalDir, "storm-local", "where daemons keep their files", notEmpty),
		opt(StormLocalHostname, "name under which others reach this host; null: the host's own"),
		opt(StormLogDir, "where logs go; null: logs"),
		row(StormWorkersArtifacts, "workers-artifacts", "folder of workers' logs, in the log folder if relative", notEmpty),
		row(StormClusterMode, "distributed", "how the cluster runs", oneOf("distributed", "local")),
		opt(StormScheduler, "scheduler class; null: even scheduling"),
		row(StormThriftTransport, "org.apache.storm.security.auth.SimpleTransportPlugin", "how clients and servers talk"),
		row(StormThriftTimeoutMS, 600000, "milliseconds that a client waits for an answer", atLeast(1)),
		row(StormNimbusRetryTimes, 5, "times that a client tries again to reach Nimbus", atLeast(0)),
		row(StormNimbusRetryMillis, 2000, "milliseconds before it tries again for the first time", atLeast(1)),
		row(StormNimbusRetryCeiling, 60000, "milliseconds before it tries again, at most", atLeast(1)),
		row(ZookeeperServers, []string{"localhost"}, "hosts of ZooKeeper", notEmpty),
		row(ZookeeperPort, 2181, "port of ZooKeeper", port),
		row(ZookeeperRoot, "/storm", "path under which all records lie", notEmpty),
		row(ZookeeperSessionTimeout, 20000, "milliseconds until ZooKeeper forgets a silent client", millis, atLeast(1)),
		row(ZookeeperConnTimeout, 15000, "milliseconds to wait for a connection to ZooKeeper", millis, atLeast(1)),
		row(ZookeeperRetryTimes, 5, "times that an operation on ZooKeeper is tried again", atLeast(0)),
		row(ZookeeperRetryInterval, 1000, "milliseconds before it is tried again for the first time", millis, atLeast(1)),
		row(ZookeeperRetryCeiling, 30000, "milliseconds before it is tried again, at most", atLeast(1)),
	}
}

func nimbusRows() []spec {
	return []spec{
		row(NimbusSeeds, []string{"localhost"}, "hosts where Nimbus may run", notEmpty),
		row(NimbusThriftPort, 6627, "port of Nimbus; 0: a free one", portOrOff),
		row(NimbusThriftTLSPort, 0, "port of Nimbus for TLS; 0: off", portOrOff),
		row(NimbusThriftThreads, 64, "calls that Nimbus works on at once", atLeast(1)),
		row(NimbusThriftMaxBuffer, frame, "bytes of a message to or from Nimbus, at most", atLeast(4096)),
		opt(NimbusAdmins, "users who may do everything"),
		opt(NimbusAuthorizer, "class that says who may do what; null: everybody everything"),
		row(NimbusMonitorFreqSecs, 10, "seconds between looks at the cluster", atLeast(1)),
		row(NimbusTaskTimeoutSecs, 30, "seconds of silence until an executor is dead", atLeast(1)),
		row(NimbusTaskLaunchSecs, 120, "the same for an executor that has just been placed", atLeast(1)),
		row(NimbusSupervisorTimeout, 60, "seconds of silence until a supervisor is dead", atLeast(1)),
		row(NimbusInboxExpirationSecs, 3600, "seconds that an uploaded file waits for its submission", atLeast(1)),
		row(NimbusCleanupInboxSecs, 600, "seconds between looks for such files", atLeast(1)),
		row(NimbusCodeSyncSecs, 120, "seconds between looks for blobs that this Nimbus lacks", atLeast(1)),
		row(NimbusBlobDeletionDelayMS, 300000, "milliseconds until the blobs of a dead topology go", atLeast(0)),
		opt(BlobstoreDir, "where blobs lie; null: in storm.local.dir"),
		row(BlobstoreReplication, 3, "copies of a blob, at most", atLeast(1)),
		row(BlobstoreACLValidation, false, "check who may touch a blob"),
		opt(IsolationMachines, "hosts of its own by topology name"),
		opt(MultitenantUserPools, "hosts by user"),
		opt(ResourceAwareUserPools, "guaranteed cpu and memory by user"),
		row(BlacklistToleranceSecs, 300, "seconds over which failures of a supervisor are counted", atLeast(1)),
		row(BlacklistToleranceCount, 3, "failures in that time that put it on the blacklist", atLeast(1)),
		row(BlacklistResumeSecs, 1800, "seconds until it comes off the blacklist", atLeast(0)),
	}
}

func supervisorRows() []spec {
	return []spec{
		row(SupervisorSlotsPorts, []any{int64(6700), int64(6701), int64(6702), int64(6703)}, "ports of workers, one a slot", ports),
		row(SupervisorThriftPort, 6628, "port of the supervisor; 0: a free one", portOrOff),
		row(SupervisorThriftThreads, 16, "calls that the supervisor works on at once", atLeast(1)),
		row(SupervisorThriftMaxBuffer, frame, "bytes of a message to or from the supervisor, at most", atLeast(4096)),
		row(SupervisorThriftTimeoutMS, 5000, "milliseconds that a supervisor's client waits for an answer", atLeast(1)),
		row(SupervisorWorkerStartSecs, 120, "seconds until a worker that never spoke is dead", atLeast(1)),
		row(SupervisorWorkerTimeoutSecs, 30, "seconds of silence until a worker is dead", atLeast(1)),
		row(SupervisorShutdownSleepSecs, 3, "seconds between asking a worker to end and killing it", atLeast(0)),
		row(SupervisorMonitorSecs, 3, "seconds between looks at a slot", atLeast(1)),
		row(SupervisorBlobsSecs, 30, "seconds between looks for newer blobs", atLeast(1)),
		row(SupervisorCleanupMS, 300000, "milliseconds that files of a topology stay after the last worker that used them", atLeast(0)),
		row(SupervisorHeartbeatSecs, 5, "seconds between heartbeats of a supervisor", atLeast(1)),
		row(SupervisorMemoryCapacityMB, 4096, "memory for workers, MiB", atLeast(0)),
		row(SupervisorCPUCapacity, 400, "processor time for workers, percent of a core", atLeast(0)),
		opt(SupervisorSchedulerMeta, "what a scheduler of your own may want to know of this host"),
		opt(JVMLibs, "folder with one folder of jars for each release of Storm; null: jvm in storm.local.dir"),
		opt(WorkerVersionClasspath, "class path of JVM workers by version of Storm"),
		opt(WorkerVersionMain, "main class of JVM workers by version of Storm"),
		opt(WorkerChildopts, "options of JVM workers of all topologies"),
		opt(WorkerGcChildopts, "garbage collector options of JVM workers of all topologies"),
		row(WorkerHeapMemoryMB, 768, "heap of a JVM worker where its executors do not say, MiB", atLeast(1)),
		row(WorkerHeartbeatSecs, 1, "seconds between heartbeats of a worker to its supervisor", atLeast(1)),
		row(WorkerLogLevelResetSecs, 30, "seconds between looks for log levels that run out", atLeast(1)),
		row(WorkerMaxTimeoutSecs, 600, "cap on topology.worker.timeout.secs", atLeast(1)),
		row(ExecutorMetricsSecs, 60, "seconds between heartbeats with statistics", atLeast(1)),
		row(TaskRefreshPollSecs, 10, "seconds between a worker's looks at its assignment", atLeast(1)),
		row(TaskCredentialsPollSecs, 30, "seconds between its looks at credentials", atLeast(1)),
		row(Sr3Port, 6629, "port of the supervisor's ring node; 0: any", between(0, 65535)),
		opt(Sr3Dir, "folder of the ring node's store; null: sr3 in storm.local.dir"),
		opt(Sr3Rack, "what the host fails with, such as its rack; null: nothing else"),
		row(Sr3VirtualNodes, 32, "positions of a supervisor on the ring", between(1, 256)),
		row(Sr3RepairRate, 64<<20, "bytes a second that a node fetches to repair", atLeast(1)),
		row(Sr3ScrubRate, 4<<20, "bytes a second that a node reads to find damage", atLeast(1)),
		row(Sr3CompressionLevel, 1, "zstd level of state at rest and on the wire; 0: none", between(0, 22)),
		row(Sr3RepairDelaySecs, 10, "seconds until copies of a lost holder are made anew", atLeast(0)),
	}
}

func serviceRows() []spec {
	return []spec{
		row(UIHost, "0.0.0.0", "address of the UI", notEmpty),
		row(UIPort, 8080, "port of the UI", portOrOff),
		row(UIActionsEnabled, true, "whether the UI may change topologies"),
		row(LogviewerPort, 8000, "port of the log viewer", portOrOff),
		row(LogviewerCleanupAge, 10080, "minutes until old logs go", atLeast(1)),
		opt(DRPCServers, "hosts of DRPC servers"),
		row(DRPCPort, 3772, "port of DRPC for clients", port),
		row(DRPCInvocationsPort, 3773, "port of DRPC for topologies", port),
		row(DRPCHTTPPort, 3774, "port of DRPC over HTTP; 0: off", portOrOff),
		row(DRPCWorkerThreads, 64, "DRPC calls worked on at once", atLeast(1)),
		row(DRPCMaxBuffer, frame, "bytes of a DRPC message, at most", atLeast(4096)),
		row(DRPCRequestTimeout, 600, "seconds until a DRPC request fails", atLeast(1)),
	}
}
