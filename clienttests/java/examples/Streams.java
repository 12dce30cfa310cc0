package stormring.examples;

import java.util.Arrays;
import org.apache.storm.Config;
import org.apache.storm.streams.Pair;
import org.apache.storm.streams.PairStream;
import org.apache.storm.streams.Stream;
import org.apache.storm.streams.StreamBuilder;
import org.apache.storm.streams.StreamState;
import org.apache.storm.streams.operations.mappers.PairValueMapper;
import org.apache.storm.streams.operations.mappers.TupleValueMappers;
import org.apache.storm.streams.operations.mappers.ValueMapper;
import org.apache.storm.streams.tuple.Tuple3;
import org.apache.storm.streams.windowing.SlidingWindows;
import org.apache.storm.streams.windowing.TumblingWindows;
import org.apache.storm.topology.base.BaseWindowedBolt.Count;
import org.apache.storm.topology.base.BaseWindowedBolt.Duration;
import org.apache.storm.tuple.Values;

/** Topologies of the Streams API: Streams NAME FOLDER count|window|join|query|branch|typed|aggregate. */
public final class Streams {
    private Streams() {
    }

    public static void main(String[] args) throws Exception {
        StreamBuilder builder = new StreamBuilder();
        Seen seen = new Seen(args);
        switch (args[2]) {
            case "count":
                counts(words(builder)).toPairStream().forEach(p -> seen.write(p.getFirst(), p.getSecond()));
                break;
            case "window":
                words(builder).mapToPair(w -> Pair.of(w, 1)).window(TumblingWindows.of(Duration.seconds(1))).countByKey()
                    .forEach(p -> seen.write(p.getFirst(), p.getSecond()));
                break;
            case "join":
                join(builder).forEach(p -> seen.write(p.getFirst(), p.getSecond().getFirst(), p.getSecond().getSecond()));
                break;
            case "query":
                query(builder).forEach(p -> seen.write(p.getFirst(), p.getSecond()));
                break;
            case "branch":
                branch(builder, seen);
                break;
            case "typed":
                builder.newStream(new Numbers("source", n -> new Values(n, "t" + n, n / 2.0), "number", "text", "half"),
                    TupleValueMappers.<Long, String, Double>of(0, 1, 2)).forEach(t -> typed(seen, t));
                break;
            case "aggregate":
                builder.newStream(numbers("source"), new ValueMapper<Long>(0)).window(TumblingWindows.of(Count.of(10)))
                    .aggregate(0L, (sum, n) -> sum + n, (x, y) -> x + y).forEach(sum -> seen.write(sum));
                break;
            default:
                throw new IllegalArgumentException("there is no example " + args[2]);
        }
        Config conf = Run.conf(args);
        conf.setMessageTimeoutSecs(30); // longer than a window
        conf.setMaxSpoutPending(2000);
        conf.put(Config.TOPOLOGY_STATE_CHECKPOINT_INTERVAL, 500);
        Run.submit(args, conf, builder.build());
    }

    private static Numbers numbers(String name) {
        return new Numbers(name, n -> new Values(n, name + n), "number", "text").pause(20);
    }

    private static Stream<String> words(StreamBuilder builder) {
        return builder.newStream(Numbers.sentences(), new ValueMapper<String>(0)).flatMap(s -> Arrays.asList(s.split(" ")));
    }

    private static StreamState<String, Long> counts(Stream<String> words) {
        return words.mapToPair(w -> Pair.of(w, 1L)).updateStateByKey(0L, (count, n) -> count + n);
    }

    private static PairStream<Long, Pair<String, String>> join(StreamBuilder builder) {
        PairStream<Long, String> left = builder.newStream(numbers("source").inStep("other"), new PairValueMapper<Long, String>(0, 1));
        PairStream<Long, String> right = builder.newStream(numbers("other").inStep("source"), new PairValueMapper<Long, String>(0, 1));
        return left.window(SlidingWindows.of(Duration.seconds(10), Duration.seconds(2))).join(right);
    }

    private static PairStream<String, Long> query(StreamBuilder builder) {
        Numbers asked = new Numbers("other", n -> new Values(n % 2 == 0 ? "moon" : "day"), "word");
        return builder.newStream(asked, new ValueMapper<String>(0)).stateQuery(counts(words(builder)));
    }

    @SuppressWarnings("unchecked")
    private static void branch(StreamBuilder builder, Seen seen) {
        Stream<Long>[] both = builder.newStream(numbers("source"), new ValueMapper<Long>(0)).branch(n -> n % 2 == 0, n -> n % 2 != 0);
        both[0].forEach(n -> seen.write("even", n));
        both[1].forEach(n -> seen.write("odd", n));
    }

    private static void typed(Seen seen, Tuple3<Long, String, Double> t) {
        seen.write(t.value1, t.value2, t.value3);
    }
}
