package stormring.examples;

import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.hooks.BaseWorkerHook;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.task.WorkerUserContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.ICredentialsListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A bolt on which an operator's doings show: it writes the credentials that it is given,
 * logs at all levels, reports an error for every hundredth number, and has a worker hook.
 */
public final class Observed {
    private static final Logger LOG = LoggerFactory.getLogger("examples.observed");

    private Observed() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("numbers", new Numbers("source", n -> new Values(n), "number"));
        builder.setBolt("observed", new Bolt(new Seen(args)), 2).shuffleGrouping("numbers");
        builder.addWorkerHook(new Hook(new Seen(args)));
        Config conf = Run.conf(args);
        Run.submit(args, conf, builder.createTopology());
    }

    private static final class Hook extends BaseWorkerHook {
        private final Seen seen;

        Hook(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void start(Map<String, Object> conf, WorkerUserContext context) {
            seen.write("hook", context.getThisWorkerPort());
        }
    }

    private static final class Bolt extends BaseRichBolt implements ICredentialsListener {
        private final Seen seen;
        private transient OutputCollector collector;

        Bolt(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
            collector = out;
        }

        @Override
        public void setCredentials(Map<String, String> credentials) {
            seen.write("credentials", credentials);
        }

        @Override
        public void execute(Tuple input) {
            LOG.trace("tracing {}", input.getLong(0));
            LOG.debug("debugging {}", input.getLong(0));
            if (input.getLong(0) % 100 == 99) {
                collector.reportError(new IllegalStateException("there is something about " + input.getLong(0)));
            }
            seen.write("number", input.getLong(0));
            collector.ack(input);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
