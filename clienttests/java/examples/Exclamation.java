package stormring.examples;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.ConfigurableTopology;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Two bolts in a row, each of which adds marks to a word. */
public final class Exclamation extends ConfigurableTopology {
    public static void main(String[] args) {
        ConfigurableTopology.start(new Exclamation(), args);
    }

    @Override
    protected int run(String[] args) {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new Numbers("source", n -> new Values("w" + n), "word"));
        builder.setBolt("exclaim1", new Exclaim(null), 2).shuffleGrouping("words");
        builder.setBolt("exclaim2", new Exclaim(new Seen(args)), 2).shuffleGrouping("exclaim1");
        conf.putAll(Run.conf(args));
        return submit(args[0], conf, builder);
    }

    private static final class Exclaim extends BaseRichBolt {
        private final Seen seen;
        private transient OutputCollector collector;

        Exclaim(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
            collector = out;
        }

        @Override
        public void execute(Tuple input) {
            String word = input.getString(0) + "!!!";
            collector.emit(input, new Values(word));
            if (seen != null) {
                seen.write(word);
            }
            collector.ack(input);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }
}
