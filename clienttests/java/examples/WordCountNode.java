package stormring.examples;

import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/** Counts words of sentences that are split in JavaScript. */
public final class WordCountNode {
    private WordCountNode() {
    }

    public static void main(String[] args) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("sentences", Numbers.sentences().pause(10));
        builder.setBolt("split", new CountWords.ShellSplit("node", "split.js"), 2).shuffleGrouping("sentences");
        builder.setBolt("count", new CountWords(new Seen(args)), 2).fieldsGrouping("split", new Fields("word"));
        Run.submit(args, Run.conf(args), builder.createTopology());
    }
}
