package stormring.compare;

import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/**
 * Emits lines over and over: as fast as it can, or so many a second, which times
 * how long each takes until it is acked.
 */
final class Source extends BaseRichSpout {
    /** How many latencies are written at once, unless that takes longer than the pause. */
    private static final int BATCH = 500;
    private static final long PAUSE_MICROS = 200_000;

    private final String folder;
    private final String[] lines;
    private final boolean ack;
    private final long nanosBetween;

    private transient SpoutOutputCollector collector;
    private transient Journal latencies;
    private transient StringBuilder batch;
    private transient int batched;
    private transient long written;
    private transient int next;
    private transient long id;
    private transient long due;

    /** A rate of 0 is as fast as it can. */
    Source(String folder, String[] lines, boolean ack, int rate) {
        this.folder = folder;
        this.lines = lines;
        this.ack = ack;
        this.nanosBetween = rate == 0 ? 0 : 1_000_000_000L / rate;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
        collector = out;
        due = System.nanoTime();
        if (ack && nanosBetween > 0) {
            latencies = new Journal(folder, "latency", 1);
            batch = new StringBuilder();
        }
    }

    @Override
    public void nextTuple() {
        long now = 0;
        if (nanosBetween > 0) {
            now = System.nanoTime();
            if (now < due) {
                return;
            }
            due += nanosBetween;
        }
        Values line = new Values(lines[next]);
        next = next + 1 == lines.length ? 0 : next + 1;
        if (!ack) {
            collector.emit(line);
        } else if (nanosBetween > 0) {
            collector.emit(line, now);
        } else {
            collector.emit(line, ++id);
        }
    }

    @Override
    public void ack(Object emitted) {
        if (latencies == null) {
            return;
        }
        long took = System.nanoTime() - (Long) emitted;
        long now = Journal.now();
        batch.append(now).append(' ').append(took).append('\n');
        if (++batched == BATCH || now - written >= PAUSE_MICROS) {
            written = now;
            latencies.line(batch.toString());
            batch.setLength(0);
            batched = 0;
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("line"));
    }
}
