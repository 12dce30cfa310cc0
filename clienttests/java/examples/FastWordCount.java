package stormring.examples;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Counts words as fast as it goes, and writes how many every now and then. */
public final class FastWordCount {
    private FastWordCount() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("sentences", Numbers.sentences().pause(0));
        builder.setBolt("split", new Split(), 2).localOrShuffleGrouping("sentences");
        builder.setBolt("count", new Count(new Seen(args)), 2).fieldsGrouping("split", new Fields("word"));
        Run.submit(args, Run.conf(args), builder.createTopology());
    }

    private static final class Split extends BaseBasicBolt {
        @Override
        public void execute(Tuple input, BasicOutputCollector collector) {
            for (String word : input.getString(0).split(" ")) {
                collector.emit(new Values(word));
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }

    private static final class Count extends BaseBasicBolt {
        private static final int BLOCK = 1000;
        private final Map<String, Long> counts = new HashMap<>();
        private final Seen seen;
        private long all;

        Count(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void execute(Tuple input, BasicOutputCollector collector) {
            String word = input.getString(0);
            if (!word.matches("n[0-9]+")) {
                counts.merge(word, 1L, Long::sum);
            }
            if (++all % BLOCK == 0) {
                seen.write(BLOCK, counts);
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
