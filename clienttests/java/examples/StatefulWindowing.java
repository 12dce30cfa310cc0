package stormring.examples;

import java.util.Iterator;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseStatefulWindowedBolt;
import org.apache.storm.topology.base.BaseWindowedBolt.Count;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.windowing.TupleWindow;

/**
 * Bolts with windows and state: both add up the numbers of their windows of ten and write
 * "WHO LEAST GREATEST SUM-OF-WINDOW SUM". The windows of "kept" are state themselves.
 */
public final class StatefulWindowing {
    private StatefulWindowing() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new Numbers("source", n -> new Values(n), "number"));
        builder.setBolt("plain", new Sum("plain", new Seen(args)).withTumblingWindow(Count.of(10)).withMessageIdField("number")).shuffleGrouping("numbers");
        builder.setBolt("kept", new Sum("kept", new Seen(args)).withTumblingWindow(Count.of(10)).withPersistence()).shuffleGrouping("numbers");
        Config conf = Run.conf(args);
        conf.put(Config.TOPOLOGY_STATE_CHECKPOINT_INTERVAL, 500);
        Run.submit(args, conf, builder.createTopology());
    }

    private static final class Sum extends BaseStatefulWindowedBolt<KeyValueState<String, Long>> {
        private final String name;
        private final Seen seen;
        private transient KeyValueState<String, Long> state;

        Sum(String name, Seen seen) {
            this.name = name;
            this.seen = seen;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        }

        @Override
        public void initState(KeyValueState<String, Long> kept) {
            state = kept;
        }

        @Override
        public void execute(TupleWindow window) {
            long least = Long.MAX_VALUE;
            long greatest = -1;
            long sum = 0;
            // A window that is kept can only be iterated over, another one only be had as a list.
            for (Iterator<Tuple> all = name.equals("kept") ? window.getIter() : window.get().iterator(); all.hasNext();) {
                long n = all.next().getLong(0);
                least = Math.min(least, n);
                greatest = Math.max(greatest, n);
                sum += n;
            }
            long before = state.get("sum", 0L);
            state.put("sum", before + sum);
            seen.write(name, least, greatest, sum, before + sum);
        }
    }
}
