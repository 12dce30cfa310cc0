package stormring.examples;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.Config;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.TupleUtils;

/** The bolts of rolling counts and rankings, driven by tick tuples, one a second. */
final class Rolling {
    private Rolling() {
    }

    /** Words of which "a" is the most frequent, then "b", then "c". */
    static Numbers words() {
        return new Numbers("source", n -> new Values(String.valueOf("aaaabbcabacd".charAt((int) (n % 12)))), "word");
    }

    /** A word and its count. */
    static final class Counted {
        String word;
        long count;

        @Override
        public String toString() {
            return word + "=" + count;
        }
    }

    private abstract static class Ticked extends BaseBasicBolt {
        @Override
        public final void execute(Tuple input, BasicOutputCollector collector) {
            if (TupleUtils.isTick(input)) {
                tick(collector);
            } else {
                take(input);
            }
        }

        abstract void take(Tuple input);

        abstract void tick(BasicOutputCollector collector);

        @Override
        public Map<String, Object> getComponentConfiguration() {
            return Map.of(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 1);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word", "count", "task"));
        }
    }

    /** Counts words of the last five seconds. */
    static final class Count extends Ticked {
        private static final int SLOTS = 5;
        private final Deque<HashMap<String, Long>> slots = new ArrayDeque<>(List.of(new HashMap<>()));
        private int task;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context) {
            task = context.getThisTaskId();
        }

        @Override
        void take(Tuple input) {
            slots.getLast().merge(input.getString(0), 1L, Long::sum);
        }

        @Override
        void tick(BasicOutputCollector collector) {
            Map<String, Long> sums = new HashMap<>();
            slots.forEach(slot -> slot.forEach((word, n) -> sums.merge(word, n, Long::sum)));
            Set<String> before = new HashSet<>(sums.keySet());
            if (slots.size() == SLOTS) {
                slots.removeFirst();
            }
            slots.addLast(new HashMap<>());
            before.forEach(word -> collector.emit(new Values(word, sums.get(word), task)));
        }
    }

    /** Adds up the counts that several tasks have of a word. */
    static final class Sum extends Ticked {
        private final Map<String, HashMap<Integer, Long>> counts = new HashMap<>();

        @Override
        void take(Tuple input) {
            counts.computeIfAbsent(input.getString(0), word -> new HashMap<>()).put(input.getInteger(2), input.getLong(1));
        }

        @Override
        void tick(BasicOutputCollector collector) {
            counts.forEach((word, of) -> collector.emit(new Values(word, of.values().stream().mapToLong(n -> n).sum(), 0)));
        }
    }

    /** Ranks the words that it gets. */
    static final class Rank extends Ticked {
        private final Map<String, Long> counts = new HashMap<>();

        @Override
        void take(Tuple input) {
            counts.put(input.getString(0), input.getLong(1));
        }

        @Override
        void tick(BasicOutputCollector collector) {
            collector.emit(new Values(top(counts)));
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("rankings"));
        }
    }

    /** Merges rankings into one, and writes it. */
    static final class Total extends Ticked {
        private final Map<String, Long> counts = new HashMap<>();
        private final Seen seen;

        Total(Seen seen) {
            this.seen = seen;
        }

        @Override
        void take(Tuple input) {
            for (Object o : (List<?>) input.getValue(0)) {
                Counted c = (Counted) o;
                counts.put(c.word, c.count);
            }
        }

        @Override
        void tick(BasicOutputCollector collector) {
            seen.write(top(counts).toArray());
        }
    }

    private static List<Counted> top(Map<String, Long> counts) {
        List<Counted> list = new ArrayList<>();
        counts.forEach((word, n) -> {
            Counted c = new Counted();
            c.word = word;
            c.count = n;
            list.add(c);
        });
        list.sort((x, y) -> Long.compare(y.count, x.count));
        return new ArrayList<>(list.subList(0, Math.min(3, list.size())));
    }
}
