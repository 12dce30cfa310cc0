package stormring.clienttests;

import java.io.FileWriter;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/**
 * Submits a topology that runs in JVMs: numbers are sent out, each is marked on
 * its way through two workers, and written to a file of the task that gets it.
 * What fails is sent again, so that every number comes at least once.
 *
 * <pre>SubmitWords NAME FOLDER NUMBERS</pre>
 */
public final class SubmitWords {
    private static final String FOLDER = "test.folder";
    private static final String NUMBERS = "test.numbers";

    private SubmitWords() {
    }

    public static void main(String[] args) throws Exception {
        Config conf = new Config();
        conf.put(FOLDER, args[1]);
        conf.put(NUMBERS, Long.valueOf(args[2]));
        conf.setNumWorkers(2);
        conf.setMessageTimeoutSecs(10);
        conf.setMaxSpoutPending(200);
        conf.setStatsSampleRate(1.0);
        conf.setTopologyWorkerMaxHeapSize(256.0);
        conf.put(Config.TOPOLOGY_WORKER_CHILDOPTS, "-Xmx128m -XX:TieredStopAtLevel=1");
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new Numbers());
        builder.setBolt("mark", new Mark(), 2).shuffleGrouping("numbers");
        builder.setBolt("write", new Write(), 2).fieldsGrouping("mark", new Fields("number"));
        StormSubmitter.submitTopology(args[0], conf, builder.createTopology());
    }

    private static final class Numbers extends BaseRichSpout {
        private transient SpoutOutputCollector collector;
        private transient Deque<Long> again;
        private long next;
        private long end;

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
            collector = out;
            again = new ArrayDeque<>();
            end = ((Number) conf.get(NUMBERS)).longValue();
        }

        @Override
        public void nextTuple() {
            Long number = again.poll();
            if (number == null && next < end) {
                number = next++;
            }
            if (number != null) {
                collector.emit(new Values(number), number);
            }
            Utils.sleep(1);
        }

        @Override
        public void fail(Object id) {
            again.add((Long) id);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number"));
        }
    }

    private static final class Mark extends BaseBasicBolt {
        @Override
        public void execute(Tuple input, BasicOutputCollector collector) {
            collector.emit(new Values(input.getLong(0), input.getLong(0) + "!"));
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number", "marked"));
        }
    }

    private static final class Write extends BaseRichBolt {
        private transient OutputCollector collector;
        private transient FileWriter file;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
            collector = out;
            try {
                file = new FileWriter(conf.get(FOLDER) + "/task-" + context.getThisTaskId(), true);
            } catch (IOException e) {
                throw new RuntimeException(e);
            }
        }

        @Override
        public void execute(Tuple input) {
            try {
                file.write(input.getString(1) + "\n");
                file.flush();
            } catch (IOException e) {
                throw new RuntimeException(e);
            }
            collector.ack(input);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
