package stormring.examples;

import org.apache.storm.Config;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/** The three most frequent words of the last seconds, counted, ranked and merged. */
public final class RollingTopWords {
    private RollingTopWords() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", Rolling.words());
        builder.setBolt("count", new Rolling.Count(), 2).fieldsGrouping("words", new Fields("word"));
        builder.setBolt("rank", new Rolling.Rank(), 2).fieldsGrouping("count", new Fields("word"));
        builder.setBolt("total", new Rolling.Total(new Seen(args))).globalGrouping("rank");
        Config conf = Run.conf(args);
        conf.registerSerialization(Rolling.Counted.class);
        Run.submit(args, conf, builder.createTopology());
    }
}
