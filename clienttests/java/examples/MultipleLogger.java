package stormring.examples;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Bolts that log by several loggers at several levels, and write what they get. */
public final class MultipleLogger {
    private MultipleLogger() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new Numbers("source", n -> new Values("w" + n), "word"));
        builder.setBolt("log1", new Log("examples.first", null), 2).shuffleGrouping("words");
        builder.setBolt("log2", new Log("examples.second", new Seen(args)), 2).shuffleGrouping("log1");
        Run.submit(args, Run.conf(args), builder.createTopology());
    }

    private static final class Log extends BaseRichBolt {
        private final String name;
        private final Seen seen;
        private transient OutputCollector collector;
        private transient Logger log;

        Log(String name, Seen seen) {
            this.name = name;
            this.seen = seen;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
            collector = out;
            log = LoggerFactory.getLogger(name);
        }

        @Override
        public void execute(Tuple input) {
            log.debug("debugging {}", input.getString(0));
            log.info("informing {}", input.getString(0));
            log.error("complaining {}", input.getString(0));
            collector.emit(input, new Values(input.getString(0) + "!!!"));
            if (seen != null) {
                seen.write(input.getString(0) + "!!!");
            }
            collector.ack(input);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }
}
