package stormring.examples;

import org.apache.storm.Config;
import org.apache.storm.bolt.JoinBolt;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.topology.base.BaseWindowedBolt.Duration;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Joins the ages and the towns of persons by their numbers, in windows of ten seconds, with Storm's JoinBolt. */
public final class Join {
    private Join() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("ages", new Numbers("source", n -> new Values(n, n % 90), "id", "age").pause(20).inStep("other"));
        builder.setSpout("towns", new Numbers("other", n -> new Values(n, "town" + n % 7), "id", "town").pause(20).inStep("source"));
        JoinBolt join = new JoinBolt("ages", "id").join("towns", "id", "ages").select("ages:id,age,town")
            .withWindow(Duration.seconds(10), Duration.seconds(2));
        builder.setBolt("join", join).fieldsGrouping("ages", new Fields("id")).fieldsGrouping("towns", new Fields("id"));
        builder.setBolt("write", new Write(new Seen(args))).globalGrouping("join");
        Config conf = Run.conf(args);
        conf.setMessageTimeoutSecs(30); // longer than a window
        conf.setMaxSpoutPending(2000);
        Run.submit(args, conf, builder.createTopology());
    }

    private static final class Write extends BaseBasicBolt {
        private final Seen seen;

        Write(Seen seen) {
            this.seen = seen;
        }

        @Override
        public void execute(Tuple input, BasicOutputCollector collector) {
            seen.write(input.getValues().toArray());
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
