package stormring.examples;

import org.apache.storm.Config;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/** As RollingTopWords, with the words of one kind on two tasks, whose counts are added up. */
public final class SkewedRollingTopWords {
    private SkewedRollingTopWords() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", Rolling.words());
        builder.setBolt("count", new Rolling.Count(), 2).partialKeyGrouping("words", new Fields("word"));
        builder.setBolt("sum", new Rolling.Sum(), 2).fieldsGrouping("count", new Fields("word"));
        builder.setBolt("rank", new Rolling.Rank(), 2).fieldsGrouping("sum", new Fields("word"));
        builder.setBolt("total", new Rolling.Total(new Seen(args))).globalGrouping("rank");
        Config conf = Run.conf(args);
        conf.registerSerialization(Rolling.Counted.class);
        Run.submit(args, conf, builder.createTopology());
    }
}
