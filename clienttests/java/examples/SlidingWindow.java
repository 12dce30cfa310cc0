package stormring.examples;

import java.util.LongSummaryStatistics;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseWindowedBolt;
import org.apache.storm.topology.base.BaseWindowedBolt.Count;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.windowing.TupleWindow;

/**
 * Sums of the last 30 numbers after every 10, written as "sum LEAST GREATEST COUNT SUM",
 * and of three such sums at a time, written as "three SUM SUM SUM".
 */
public final class SlidingWindow {
    private SlidingWindow() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new Numbers("source", n -> new Values(n), "number"));
        builder.setBolt("sum", new Sum(new Seen(args)).withWindow(Count.of(30), Count.of(10))).shuffleGrouping("numbers");
        builder.setBolt("three", new Three(new Seen(args)).withTumblingWindow(Count.of(3))).shuffleGrouping("sum");
        Run.submit(args, Run.conf(args), builder.createTopology());
    }

    private static final class Sum extends BaseWindowedBolt {
        private final Seen seen;
        private transient OutputCollector collector;

        Sum(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
            collector = out;
        }

        @Override
        public void execute(TupleWindow window) {
            LongSummaryStatistics all = window.get().stream().mapToLong(t -> t.getLong(0)).summaryStatistics();
            seen.write("sum", all.getMin(), all.getMax(), all.getCount(), all.getSum());
            collector.emit(new Values(all.getSum()));
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("sum"));
        }
    }

    private static final class Three extends BaseWindowedBolt {
        private final Seen seen;

        Three(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void execute(TupleWindow window) {
            Object[] words = new Object[1 + window.get().size()];
            words[0] = "three";
            for (int i = 1; i < words.length; i++) {
                words[i] = window.get().get(i - 1).getLong(0);
            }
            seen.write(words);
        }
    }
}
