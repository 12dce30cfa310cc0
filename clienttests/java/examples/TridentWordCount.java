package stormring.examples;

import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.trident.TridentTopology;
import org.apache.storm.trident.operation.BaseFilter;
import org.apache.storm.trident.operation.BaseFunction;
import org.apache.storm.trident.operation.TridentCollector;
import org.apache.storm.trident.operation.builtin.Count;
import org.apache.storm.trident.spout.IBatchSpout;
import org.apache.storm.trident.testing.MemoryMapState;
import org.apache.storm.trident.tuple.TridentTuple;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** Counts the words of batches of sentences with Trident, and writes a count whenever it grows. */
public final class TridentWordCount {
    private static final int BATCH = 5;

    private TridentWordCount() {
    }

    public static void main(String[] args) throws Exception {
        TridentTopology topology = new TridentTopology();
        topology.newStream("batches-" + args[0], new Batches())
            .each(new Fields("sentence"), new Split(), new Fields("word"))
            .groupBy(new Fields("word"))
            .persistentAggregate(new MemoryMapState.Factory(), new Count(), new Fields("count"))
            .parallelismHint(2)
            .newValuesStream()
            .each(new Fields("word", "count"), new Write(new Seen(args)));
        Config conf = Run.conf(args);
        conf.setMaxSpoutPending(3);
        conf.put(Config.TOPOLOGY_TRIDENT_BATCH_EMIT_INTERVAL_MILLIS, 50);
        Run.submit(args, conf, topology.build());
    }

    /** Batch n has the sentences from BATCH * (n - 1), whenever it is asked for. */
    private static final class Batches implements IBatchSpout {
        private transient Source source;

        @Override
        public void open(Map<String, Object> conf, TopologyContext context) {
            source = new Source(conf.get(Run.FOLDER), "source");
        }

        @Override
        public void emitBatch(long batch, TridentCollector collector) {
            for (long n = BATCH * (batch - 1); n < BATCH * batch; n++) {
                collector.emit(new Values(Numbers.sentence(n)));
            }
            source.takeTo(BATCH * batch);
        }

        @Override
        public void ack(long batch) {
        }

        @Override
        public void close() {
        }

        @Override
        public Map<String, Object> getComponentConfiguration() {
            return null;
        }

        @Override
        public Fields getOutputFields() {
            return new Fields("sentence");
        }
    }

    private static final class Split extends BaseFunction {
        @Override
        public void execute(TridentTuple tuple, TridentCollector collector) {
            for (String word : tuple.getString(0).split(" ")) {
                collector.emit(new Values(word));
            }
        }
    }

    private static final class Write extends BaseFilter {
        private final Seen seen;

        Write(Seen seen) {
            this.seen = seen;
        }

        @Override
        public boolean isKeep(TridentTuple tuple) {
            seen.write(tuple.getString(0), tuple.getLong(1));
            return true;
        }
    }
}
