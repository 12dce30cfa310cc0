package stormring.compare;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/**
 * Submits one of the topologies that are compared.
 *
 * <pre>Submit NAME SHAPE KEY=VALUE...</pre>
 *
 * <p>SHAPE is null, identity, words, python or state. Keys: folder (of the
 * journals), ack, rate, workers, executors, pending, keys, size, redis (host:port; none: the
 * cluster's own state provider).
 */
public final class Submit {
    private final Map<String, String> options = new HashMap<>();

    private Submit(String[] args) {
        for (int i = 2; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            options.put(pair[0], pair[1]);
        }
    }

    public static void main(String[] args) throws Exception {
        Submit s = new Submit(args);
        Config conf = new Config();
        conf.setNumWorkers(s.number("workers"));
        TopologyBuilder builder = s.build(args[1], conf);
        StormSubmitter.submitTopology(args[0], conf, builder.createTopology());
    }

    private int number(String key) {
        return Integer.parseInt(options.get(key));
    }

    private TopologyBuilder build(String shape, Config conf) throws IOException {
        TopologyBuilder builder = new TopologyBuilder();
        String folder = options.get("folder");
        int executors = number("executors");
        if (shape.equals("state")) {
            builder.setSpout("keys", new Hold.Keys(number("keys")));
            builder.setBolt("hold", new Hold(folder, number("size"))).localOrShuffleGrouping("keys");
            if (!options.get("redis").isEmpty()) {
                String[] address = options.get("redis").split(":");
                conf.put(Config.TOPOLOGY_STATE_PROVIDER, "org.apache.storm.redis.state.RedisKeyValueStateProvider");
                conf.put(Config.TOPOLOGY_STATE_PROVIDER_CONFIG,
                    "{\"jedisPoolConfig\":{\"host\":\"" + address[0] + "\",\"port\":" + address[1] + "}}");
            }
            return builder;
        }
        boolean ack = Boolean.parseBoolean(options.get("ack"));
        if (ack) {
            conf.setMaxSpoutPending(number("pending"));
        } else {
            conf.setNumAckers(0);
        }
        boolean constant = shape.equals("null") || shape.equals("identity");
        String[] lines = constant ? new String[] {"constant"} : lines();
        builder.setSpout("source", new Source(folder, lines, ack, number("rate")), executors);
        switch (shape) {
            case "null":
                builder.setBolt("null", new Bolts.Null(folder), executors).localOrShuffleGrouping("source");
                break;
            case "identity":
                builder.setBolt("identity", new Bolts.Identity(), executors).localOrShuffleGrouping("source");
                builder.setBolt("null", new Bolts.Null(folder), executors).localOrShuffleGrouping("identity");
                break;
            case "words":
                builder.setBolt("split", new Bolts.Split(), executors).localOrShuffleGrouping("source");
                builder.setBolt("count", new Bolts.Count(folder, Bolts.MANY), executors).fieldsGrouping("split", new Fields("word"));
                break;
            case "python":
                builder.setBolt("split", new Bolts.PythonSplit(), executors).localOrShuffleGrouping("source");
                builder.setBolt("count", new Bolts.Count(folder, Bolts.FEW), executors).fieldsGrouping("split", new Fields("word"));
                break;
            default:
                throw new IllegalArgumentException("there is no shape " + shape);
        }
        return builder;
    }

    /** The text that is counted, a resource of the jar. */
    private static String[] lines() throws IOException {
        try (InputStream in = Submit.class.getResourceAsStream("/text.txt");
            BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            return reader.lines().map(String::strip).filter(line -> !line.isEmpty()).toArray(String[]::new);
        }
    }
}
