package stormring.examples;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Counts each word, and writes the count whenever it grows. */
final class CountWords extends BaseBasicBolt {
    private final Map<String, Long> counts = new HashMap<>();
    private final Seen seen;

    CountWords(Seen seen) {
        this.seen = seen;
    }

    @Override
    public void execute(Tuple input, BasicOutputCollector collector) {
        String word = input.getString(0);
        long count = counts.merge(word, 1L, Long::sum);
        seen.write(word, count);
        collector.emit(new Values(word, count));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("word", "count"));
    }

    /** Splits sentences in a process of another language, with a script of the jar's resources. */
    static final class ShellSplit extends ShellBolt implements IRichBolt {
        ShellSplit(String... command) {
            super(command);
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
}
