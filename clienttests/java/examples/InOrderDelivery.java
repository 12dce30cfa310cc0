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

/**
 * What one task sends to another arrives in its order: each spout's numbers go to one
 * task, which writes "ok SPOUT NUMBER" for what follows the number before, and "jump"
 * for what does not.
 */
public final class InOrderDelivery {
    private InOrderDelivery() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("source", new Numbers("source", n -> new Values("source", n), "spout", "number").unreliable());
        builder.setSpout("other", new Numbers("other", n -> new Values("other", n), "spout", "number").unreliable());
        builder.setBolt("check", new Check(new Seen(args)), 2)
            .fieldsGrouping("source", new Fields("spout")).fieldsGrouping("other", new Fields("spout"));
        Run.submit(args, Run.conf(args), builder.createTopology());
    }

    private static final class Check extends BaseBasicBolt {
        private final Map<String, Long> last = new HashMap<>();
        private final Seen seen;

        Check(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void execute(Tuple input, BasicOutputCollector collector) {
            long number = input.getLong(1);
            Long before = last.put(input.getString(0), number);
            boolean ok = before == null || before + 1 == number;
            seen.write(ok ? "ok" : "jump", input.getString(0), number, before);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
