package stormring.state;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.spout.CheckPointState;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.state.Serializer;

/**
 * Does with states what it is told, a line at a time, so that a test in another language can look.
 * Words are separated by spaces; each line is answered by "ok", with what was found, or by the error.
 */
public final class Check {
    private static final Map<String, KeyValueState<Object, Object>> STATES = new HashMap<>();

    private Check() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            String answer;
            try {
                answer = "ok " + run(words[0], STATES.get(words[1]), Arrays.copyOfRange(words, 1, words.length));
            } catch (RuntimeException e) {
                answer = e.getClass().getSimpleName() + " " + e.getMessage();
            }
            System.out.println("> " + answer.replace('\n', ' '));
        }
        System.exit(0);
    }

    private static Object run(String verb, KeyValueState<Object, Object> state, String[] words) throws Exception {
        switch (verb) {
            case "open":
                STATES.put(words[0], open(words[1], Integer.parseInt(words[2])));
                return "";
            case "spout":
                STATES.put(words[0], new SpoutState(new Link(where("$checkpointspout", 1, "$checkpointspout-1", true))));
                return state(words[0]);
            case "load":
                return state(words[0]);
            case "save":
                state.put("__state", new CheckPointState(Long.parseLong(words[1]), CheckPointState.State.valueOf(words[2])));
                state.commit();
                return "";
            case "put":
                state.put(words[1], words[2]);
                return "";
            case "large":
                char[] text = new char[Integer.parseInt(words[2])];
                Arrays.fill(text, 'x');
                state.put(words[1], new String(text));
                return "";
            case "length":
                return state.get(words[1]).toString().length();
            case "get":
                return state.get(words[1], "nothing");
            case "delete":
                return state.delete(words[1]);
            case "list":
                StringBuilder all = new StringBuilder();
                for (Map.Entry<Object, Object> e : state) {
                    state.delete("nobody"); // changes do not matter
                    all.append(e.getKey()).append('=').append(e.getValue()).append(' ');
                }
                return all.toString().trim();
            case "prepare":
                state.prepareCommit(Long.parseLong(words[1]));
                return "";
            case "commit":
                if (words.length == 1) {
                    state.commit();
                } else {
                    state.commit(Long.parseLong(words[1]));
                }
                return "";
            case "rollback":
                state.rollback();
                return "";
            case "json":
                return Json.write(Json.parse(words[0]));
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private static Object state(String name) {
        CheckPointState state = (CheckPointState) STATES.get(name).get("__state");
        return state == null ? null : state.getTxid() + " " + state.getState();
    }

    private static Where where(String component, int task, String namespace, boolean spout) {
        Map<String, Object> conf = new HashMap<>();
        conf.put("topology.sr3.replicas", 2);
        conf.put("topology.message.timeout.secs", 2L);
        conf.put("other", "no");
        return Where.of("t-1", component, task, namespace, spout, conf);
    }

    private static KeyValueState<Object, Object> open(String namespace, int task) throws Exception {
        Serializer<Object> kryo = RingStateProvider.kryo(Collections.emptyList(), new HashMap<String, Object>(), null);
        return new RingState<>(new Link(where("sum", task, namespace, false)), kryo, kryo);
    }
}
