package stormring.compare;

import java.util.HashMap;
import java.util.Map;
import java.util.StringTokenizer;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** The bolts; those that end a topology count what they get. */
final class Bolts {
    /** How many tuples are counted between two looks at the clock, if they are many. */
    static final int MANY = 1024;
    /** The same if they are few. */
    static final int FEW = 16;

    private Bolts() {
    }

    /** Does nothing. */
    static final class Null extends BaseRichBolt {
        private final String folder;
        private transient Journal counts;
        private transient OutputCollector collector;

        Null(String folder) {
            this.folder = folder;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
            collector = out;
            counts = new Journal(folder, "count", MANY);
        }

        @Override
        public void execute(Tuple input) {
            counts.count();
            collector.ack(input);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }

    /** Passes on what it gets. */
    static final class Identity extends BaseRichBolt {
        private transient OutputCollector collector;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
            collector = out;
        }

        @Override
        public void execute(Tuple input) {
            collector.emit(input, new Values(input.getValue(0)));
            collector.ack(input);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("line"));
        }
    }

    /** Emits the words of each line. */
    static final class Split extends BaseBasicBolt {
        @Override
        public void execute(Tuple input, BasicOutputCollector collector) {
            StringTokenizer words = new StringTokenizer(input.getString(0));
            while (words.hasMoreTokens()) {
                collector.emit(new Values(words.nextToken()));
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }

    /** The same in Python. */
    static final class PythonSplit extends ShellBolt implements IRichBolt {
        PythonSplit() {
            super("python3", "split.py");
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }

        @Override
        public Map<String, Object> getComponentConfiguration() {
            return null;
        }
    }

    /** Counts words. */
    static final class Count extends BaseBasicBolt {
        private final String folder;
        private final int step;
        private transient Journal counts;
        private transient Map<String, long[]> words;

        Count(String folder, int step) {
            this.folder = folder;
            this.step = step;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context) {
            counts = new Journal(folder, "count", step);
            words = new HashMap<>();
        }

        @Override
        public void execute(Tuple input, BasicOutputCollector collector) {
            words.computeIfAbsent(input.getString(0), word -> new long[1])[0]++;
            counts.count();
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
