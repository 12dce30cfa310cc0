package stormring.clienttests;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeSet;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.topology.base.BaseStatefulBolt;
import org.apache.storm.topology.base.BaseStatefulWindowedBolt;
import org.apache.storm.topology.base.BaseWindowedBolt.Duration;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;
import org.apache.storm.windowing.TupleWindow;

/**
 * Submits a topology with state. Numbers are summed by key, and again in windows. What was acked is
 * never sent again, whoever dies, and what comes twice is seen by its number, which the state
 * remembers; so each sum is exact if nothing that was acked is ever lost, and comes back whole.
 *
 * <pre>SubmitState NAME FOLDER NUMBERS</pre>
 *
 * <p>In the folder, "acked" is how many numbers were acked without a gap, and COMPONENT-TASK has the
 * sums as they are before each checkpoint.
 */
public final class SubmitState {
    private static final String FOLDER = "test.folder";
    private static final String NUMBERS = "test.numbers";
    private static final int KEYS = 7;

    private SubmitState() {
    }

    public static void main(String[] args) throws Exception {
        Config conf = new Config();
        conf.put(FOLDER, args[1]);
        conf.put(NUMBERS, Long.valueOf(args[2]));
        conf.setNumWorkers(3);
        conf.setMessageTimeoutSecs(10);
        conf.setMaxSpoutPending(3000);
        conf.put(Config.TOPOLOGY_STATE_CHECKPOINT_INTERVAL, 500);
        conf.setTopologyWorkerMaxHeapSize(256.0);
        conf.put(Config.TOPOLOGY_WORKER_CHILDOPTS, "-Xmx128m -XX:TieredStopAtLevel=1");
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new Numbers());
        builder.setBolt("sum", new Sum(), 2).fieldsGrouping("numbers", new Fields("key"))
            .addConfiguration("topology.sr3.recovery", "tree").addConfiguration("topology.sr3.replicas", 2);
        builder.setBolt("window", new Windows().withTumblingWindow(Duration.of(700)).withPersistence(), 1)
            .fieldsGrouping("sum", new Fields("key"));
        StormSubmitter.submitTopology(args[0], conf, builder.createTopology());
    }

    private static void write(Path file, String text) {
        try {
            Path draft = Paths.get(file + ".new");
            Files.write(draft, text.getBytes(StandardCharsets.UTF_8));
            Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new RuntimeException(e);
        }
    }

    /** Adds a number once, however often it comes. */
    private static void add(KeyValueState<String, Long> state, String key, long number) {
        if (state.get("seen " + number) == null) {
            state.put("seen " + number, number);
            state.put("sum " + key, state.get("sum " + key, 0L) + number);
        }
    }

    private static void show(Map<String, Object> conf, TopologyContext context, KeyValueState<String, Long> state) {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<String, Long> e : state) {
            if (e.getKey().startsWith("sum ")) {
                text.append(e.getKey().substring(4)).append(' ').append(e.getValue()).append('\n');
            }
        }
        write(Paths.get(conf.get(FOLDER).toString(), context.getThisComponentId() + "-" + context.getThisTaskId()), text.toString());
    }

    private static final class Numbers extends BaseRichSpout {
        private transient SpoutOutputCollector collector;
        private transient Deque<Long> again;
        private transient TreeSet<Long> ahead;
        private transient Path file;
        private long acked;
        private long shown;
        private long next;
        private long end;

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
            collector = out;
            again = new ArrayDeque<>();
            ahead = new TreeSet<>();
            end = ((Number) conf.get(NUMBERS)).longValue();
            file = Paths.get(conf.get(FOLDER).toString(), "acked");
            try {
                acked = Long.parseLong(new String(Files.readAllBytes(file), StandardCharsets.UTF_8));
            } catch (NoSuchFileException e) {
                acked = 0;
            } catch (IOException e) {
                throw new RuntimeException(e);
            }
            next = acked;
            shown = acked;
        }

        @Override
        public void nextTuple() {
            if (acked > shown) {
                write(file, Long.toString(acked));
                shown = acked;
            }
            Long number = again.poll();
            if (number == null && next < end) {
                number = next++;
            }
            if (number != null) {
                collector.emit(new Values(number, "key" + number % KEYS), number);
            }
            Utils.sleep(1);
        }

        @Override
        public void ack(Object id) {
            ahead.add((Long) id);
            while (!ahead.isEmpty() && ahead.first() == acked) {
                ahead.pollFirst();
                acked++;
            }
        }

        @Override
        public void fail(Object id) {
            again.add((Long) id);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number", "key"));
        }
    }

    private static final class Sum extends BaseStatefulBolt<KeyValueState<String, Long>> {
        private transient KeyValueState<String, Long> state;
        private transient Map<String, Object> conf;
        private transient TopologyContext context;
        private transient OutputCollector collector;

        @Override
        public void prepare(Map<String, Object> topoConf, TopologyContext where, OutputCollector out) {
            conf = topoConf;
            context = where;
            collector = out;
        }

        @Override
        public void initState(KeyValueState<String, Long> kept) {
            state = kept;
        }

        @Override
        public void prePrepare(long txid) {
            show(conf, context, state);
        }

        @Override
        public void execute(Tuple tuple) {
            add(state, tuple.getString(1), tuple.getLong(0));
            collector.emit(tuple, new Values(tuple.getLong(0), tuple.getString(1)));
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number", "key"));
        }
    }

    private static final class Windows extends BaseStatefulWindowedBolt<KeyValueState<String, Long>> {
        private transient KeyValueState<String, Long> state;
        private transient Map<String, Object> conf;
        private transient TopologyContext context;

        @Override
        public void prepare(Map<String, Object> topoConf, TopologyContext where, OutputCollector out) {
            conf = topoConf;
            context = where;
        }

        @Override
        public void initState(KeyValueState<String, Long> kept) {
            state = kept;
        }

        @Override
        public void prePrepare(long txid) {
            show(conf, context, state);
        }

        @Override
        public void execute(TupleWindow window) {
            for (Iterator<Tuple> it = window.getIter(); it.hasNext();) {
                Tuple tuple = it.next();
                add(state, tuple.getString(1), tuple.getLong(0));
            }
        }
    }
}
