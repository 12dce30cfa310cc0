package stormring.examples;

import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.StormTopology;

/** What all examples share: their arguments, their configuration, and how they are submitted. */
final class Run {
    /** The key of the folder to which an example writes what it sees. */
    static final String FOLDER = "examples.folder";

    private Run() {
    }

    /** The configuration of an example that is run as {@code CLASS NAME FOLDER}. */
    static Config conf(String[] args) {
        Config conf = new Config();
        conf.put(FOLDER, args[1]);
        conf.setNumWorkers(2);
        conf.setMessageTimeoutSecs(10);
        conf.setMaxSpoutPending(200);
        conf.setStatsSampleRate(1.0);
        conf.setTopologyWorkerMaxHeapSize(256.0);
        conf.put(Config.TOPOLOGY_WORKER_CHILDOPTS, "-Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        return conf;
    }

    static void submit(String[] args, Config conf, StormTopology topology) throws Exception {
        StormSubmitter.submitTopology(args[0], conf, topology);
    }
}
