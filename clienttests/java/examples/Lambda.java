package stormring.examples;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/** Spout and bolts are lambda expressions: numbers, their squares, and what writes them. */
public final class Lambda {
    private static Source source;

    private Lambda() {
    }

    public static void main(String[] args) throws Exception {
        Seen seen = new Seen(args);
        String folder = args[1];
        long factor = 3; // captured
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", () -> next(folder));
        builder.setBolt("multiply", (tuple, collector) -> collector.emit(new Values(tuple.getLong(0), factor * tuple.getLong(0))), 2, "number", "product")
            .shuffleGrouping("numbers");
        builder.setBolt("write", tuple -> seen.write(tuple.getLongByField("number"), tuple.getLongByField("product"))).shuffleGrouping("multiply");
        Run.submit(args, Run.conf(args), builder.createTopology());
    }

    private static synchronized long next(String folder) {
        if (source == null) {
            source = new Source(folder, "source");
        }
        Utils.sleep(5);
        long n = source.take();
        source.done(n); // such a spout has no acks
        return n;
    }
}
