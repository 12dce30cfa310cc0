package stormring.examples;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/** A spout of a tuple for each number. What fails is sent again, also after the spout's own death. */
final class Numbers extends BaseRichSpout {
    private static final String[] SENTENCES = {"the cow jumped over the moon", "an apple a day", "the moon and the day"};
    private final String name;
    private final Make make;
    private final String[] fields;
    private boolean reliable = true;
    private int pause = 5;
    private String other;
    private transient SpoutOutputCollector collector;
    private transient Deque<Long> again;
    private transient Source source;
    private transient Source peer;

    /** What a number is as a tuple. */
    interface Make extends Serializable {
        Values tuple(long n);
    }

    /** The name is that of the file with the spout's place. */
    Numbers(String name, Make make, String... fields) {
        this.name = name;
        this.make = make;
        this.fields = fields;
    }

    /** The sentence of a number, which has the number as a word. */
    static String sentence(long n) {
        return "n" + n + " " + SENTENCES[(int) (n % SENTENCES.length)];
    }

    /** A spout of sentences. */
    static Numbers sentences() {
        return new Numbers("source", n -> new Values(sentence(n)), "sentence");
    }

    Numbers unreliable() {
        reliable = false;
        return this;
    }

    /** Milliseconds between two tuples. */
    Numbers pause(int millis) {
        pause = millis;
        return this;
    }

    /** Has it wait for another spout that is behind, as two sides of a join are not to drift apart. */
    Numbers inStep(String with) {
        other = with;
        return this;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
        collector = out;
        again = new ArrayDeque<>();
        source = new Source(conf.get(Run.FOLDER), name);
        peer = other == null ? null : new Source(conf.get(Run.FOLDER), other);
    }

    @Override
    public void nextTuple() {
        Long n = again.poll();
        if (n == null) {
            if (peer != null && source.isAheadOf(peer)) {
                Utils.sleep(1);
                return;
            }
            n = source.take();
        }
        if (reliable) {
            collector.emit(make.tuple(n), n);
        } else {
            collector.emit(make.tuple(n));
            source.done(n);
        }
        if (pause > 0) {
            Utils.sleep(pause);
        }
    }

    @Override
    public void ack(Object id) {
        source.done((Long) id);
    }

    @Override
    public void fail(Object id) {
        again.add((Long) id);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields(fields));
    }
}
