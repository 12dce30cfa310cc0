package stormring.compare;

import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.topology.base.BaseStatefulBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Holds a state of a given size: it asks for each key that comes, puts a value if
 * there is none, and else checks it. Keys come in turn, so the second round reads
 * what the first has put.
 */
final class Hold extends BaseStatefulBolt<KeyValueState<Long, byte[]>> {
    private static final long PAUSE_MICROS = 50_000;

    private final String folder;
    private final int size;
    private transient OutputCollector collector;
    private transient KeyValueState<Long, byte[]> state;
    private transient Journal counts;
    private transient Journal commits;
    private transient long read;
    private transient long put;
    private transient long written;

    Hold(String folder, int size) {
        this.folder = folder;
        this.size = size;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
        collector = out;
        counts = new Journal(folder, "count", 1);
        commits = new Journal(folder, "commit", 1);
    }

    @Override
    public void initState(KeyValueState<Long, byte[]> s) {
        state = s;
    }

    @Override
    public void execute(Tuple input) {
        long key = input.getLong(0);
        byte[] value = state.get(key);
        if (value == null) {
            state.put(key, ByteBuffer.allocate(size).putLong(key).array());
            put++;
        } else if (value.length != size || ByteBuffer.wrap(value).getLong() != key) {
            throw new IllegalStateException("key " + key + " has the value of another");
        } else {
            read++;
        }
        collector.ack(input);
        long now = Journal.now();
        if (read + put == 1 || now - written >= PAUSE_MICROS) {
            written = now;
            counts.line(now + " " + read + " " + put + "\n");
        }
    }

    @Override
    public void preCommit(long transaction) {
        commits.line(Journal.now() + " " + (read + put) + "\n");
    }

    /** Emits keys in turn. */
    static final class Keys extends BaseRichSpout {
        private final long keys;
        private transient SpoutOutputCollector collector;
        private transient long next;

        Keys(long keys) {
            this.keys = keys;
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
            collector = out;
        }

        @Override
        public void nextTuple() {
            collector.emit(new Values(next));
            next = next + 1 == keys ? 0 : next + 1;
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("key"));
        }
    }
}
