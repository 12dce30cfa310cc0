package stormring.clienttests;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.NullStruct;
import org.apache.storm.generated.ShellComponent;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StateSpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.StreamInfo;

/**
 * Topologies of shell components, built from the generated structs, so that
 * the same source compiles with the clients of 1.2, 2.2 and 2.8.
 */
final class Topologies {
    private Topologies() {
    }

    /** One spout "words" and one bolt "count" of two executors; four tasks with one acker. */
    static StormTopology words() {
        StormTopology topology = empty();
        topology.put_to_spouts("words", spout("words.py"));
        topology.put_to_bolts("count", bolt("count.py", "words", Grouping.fields(Arrays.asList("word")), 2, "{}"));
        return topology;
    }

    /** words(), and one bolt whose json_conf has about the given number of bytes. */
    static StormTopology large(int bytes) {
        char[] filling = new char[bytes];
        Arrays.fill(filling, 'x');
        StormTopology topology = words();
        String conf = "{\"clienttests.filling\":\"" + new String(filling) + "\"}";
        topology.put_to_bolts("large", bolt("count.py", "words", shuffle(), 1, conf));
        return topology;
    }

    /** words(), and the given number of bolts that hang on its spout. */
    static StormTopology wide(int bolts) {
        StormTopology topology = words();
        for (int i = 0; i < bolts; i++) {
            topology.put_to_bolts("bolt-" + i, bolt("count.py", "words", shuffle(), 1, "{}"));
        }
        return topology;
    }

    /** words(), and a bolt that reads from the given component and stream. */
    static StormTopology reading(String component, String stream) {
        StormTopology topology = words();
        Bolt bolt = bolt("count.py", "words", shuffle(), 1, "{}");
        bolt.get_common().set_inputs(Collections.singletonMap(new GlobalStreamId(component, stream), shuffle()));
        topology.put_to_bolts("reader", bolt);
        return topology;
    }

    /** words(), and a bolt of the given name. */
    static StormTopology named(String component) {
        StormTopology topology = words();
        topology.put_to_bolts(component, bolt("count.py", "words", shuffle(), 1, "{}"));
        return topology;
    }

    private static StormTopology empty() {
        return new StormTopology(new HashMap<String, SpoutSpec>(), new HashMap<String, Bolt>(),
            new HashMap<String, StateSpoutSpec>());
    }

    private static SpoutSpec spout(String script) {
        return new SpoutSpec(shell(script), common(new HashMap<GlobalStreamId, Grouping>(), 1, "{}"));
    }

    private static Bolt bolt(String script, String source, Grouping how, int executors, String conf) {
        Map<GlobalStreamId, Grouping> inputs = new HashMap<>();
        inputs.put(new GlobalStreamId(source, "default"), how);
        return new Bolt(shell(script), common(inputs, executors, conf));
    }

    private static ComponentObject shell(String script) {
        return ComponentObject.shell(new ShellComponent("python3", script));
    }

    private static Grouping shuffle() {
        return Grouping.shuffle(new NullStruct());
    }

    private static ComponentCommon common(Map<GlobalStreamId, Grouping> inputs, int executors, String conf) {
        List<String> fields = Arrays.asList("word");
        Map<String, StreamInfo> outputs = new HashMap<>();
        outputs.put("default", new StreamInfo(fields, false));
        ComponentCommon common = new ComponentCommon(inputs, outputs);
        common.set_parallelism_hint(executors);
        common.set_json_conf(conf);
        return common;
    }
}
