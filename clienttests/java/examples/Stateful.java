package stormring.examples;

import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseStatefulBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Two bolts with state in a row: one adds up the numbers, one counts the sums; it writes "NUMBER SUM COUNT". */
public final class Stateful {
    private Stateful() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new Numbers("source", n -> new Values(n), "number"));
        builder.setBolt("sum", new Sum()).shuffleGrouping("numbers");
        builder.setBolt("count", new Count(new Seen(args))).shuffleGrouping("sum");
        Config conf = Run.conf(args);
        conf.put(Config.TOPOLOGY_STATE_CHECKPOINT_INTERVAL, 500);
        Run.submit(args, conf, builder.createTopology());
    }

    private abstract static class Keeps extends BaseStatefulBolt<KeyValueState<String, Long>> {
        protected transient OutputCollector collector;
        private transient KeyValueState<String, Long> state;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
            collector = out;
        }

        @Override
        public void initState(KeyValueState<String, Long> kept) {
            state = kept;
        }

        long add(long n) {
            long sum = state.get("sum", 0L) + n;
            state.put("sum", sum);
            return sum;
        }
    }

    private static final class Sum extends Keeps {
        @Override
        public void execute(Tuple input) {
            collector.emit(input, new Values(input.getLong(0), add(input.getLong(0))));
            collector.ack(input);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number", "sum"));
        }
    }

    private static final class Count extends Keeps {
        private final Seen seen;

        Count(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void execute(Tuple input) {
            seen.write(input.getLong(0), input.getLong(1), add(1));
            collector.ack(input);
        }
    }
}
