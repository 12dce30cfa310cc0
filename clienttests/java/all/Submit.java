package stormring.clienttests;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.Credentials;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.SubmitOptions;
import org.apache.storm.generated.TopologyInitialStatus;

/**
 * The program that "storm jar" starts: submits a topology of shell components
 * with StormSubmitter.
 *
 * <pre>Submit KIND NAME [ARGUMENT...]</pre>
 *
 * <p>The switch in {@link #main} lists the kinds.
 */
public final class Submit {
    private Submit() {
    }

    public static void main(String[] args) throws Exception {
        String kind = args[0];
        String name = args[1];
        List<String> more = Arrays.asList(args).subList(2, args.length);
        switch (kind) {
            case "words":
                submit(name, Topologies.words(), null);
                break;
            case "inactive":
                submit(name, Topologies.words(), new SubmitOptions(TopologyInitialStatus.INACTIVE));
                break;
            case "credentials":
                submitWithCredentials(name, more.get(0), more.get(1));
                break;
            case "large":
                submit(name, Topologies.large(Integer.parseInt(more.get(0))), null);
                break;
            case "wide":
                submit(name, Topologies.wide(Integer.parseInt(more.get(0))), null);
                break;
            case "reading":
                submit(name, Topologies.reading(more.get(0), more.get(1)), null);
                break;
            case "named":
                submit(name, Topologies.named(more.get(0)), null);
                break;
            case "dependency":
                submitWithDependency(name, more.get(0));
                break;
            case "conf":
                submitWithConf(name, more.get(0), more.get(1));
                break;
            case "race":
                race(name, Integer.parseInt(more.get(0)));
                break;
            default:
                throw new IllegalArgumentException("unknown kind " + kind);
        }
    }

    private static void submit(String name, StormTopology topology, SubmitOptions options) throws Exception {
        submit(name, topology, options, new HashMap<String, Object>());
    }

    private static void submit(String name, StormTopology topology, SubmitOptions options, Map<String, Object> conf)
        throws Exception {
        conf.put("topology.workers", 1);
        conf.put("topology.acker.executors", 1);
        if (options == null) {
            StormSubmitter.submitTopology(name, conf, topology);
        } else {
            StormSubmitter.submitTopology(name, conf, topology, options);
        }
    }

    private static void submitWithCredentials(String name, String key, String value) throws Exception {
        SubmitOptions options = new SubmitOptions(TopologyInitialStatus.ACTIVE);
        options.set_creds(new Credentials(new HashMap<>(Collections.singletonMap(key, value))));
        submit(name, Topologies.words(), options);
    }

    /** Does what "storm jar --jars FILE" does. */
    private static void submitWithDependency(String name, String file) throws Exception {
        System.setProperty("storm.dependency.jars", file);
        try {
            submit(name, Topologies.words(), null);
        } finally {
            System.clearProperty("storm.dependency.jars");
        }
    }

    /** Sets one key; a value that looks like a whole number is one. */
    private static void submitWithConf(String name, String key, String value) throws Exception {
        Map<String, Object> conf = new HashMap<>();
        conf.put(key, value.matches("-?[0-9]+") ? (Object) Long.valueOf(value) : value);
        submit(name, Topologies.words(), null, conf);
    }

    /**
     * Submits one name from many threads at once and prints what each of them
     * got: "submitted", or its exception.
     */
    private static void race(final String name, int threads) throws Exception {
        final CountDownLatch start = new CountDownLatch(1);
        final List<String> results = Collections.synchronizedList(new ArrayList<String>());
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(new Runnable() {
                @Override
                public void run() {
                    try {
                        start.await();
                        submit(name, Topologies.words(), null);
                        results.add("submitted");
                    } catch (Throwable e) {
                        results.add(e.toString());
                    }
                }
            });
            thread.start();
            all.add(thread);
        }
        start.countDown();
        for (Thread thread : all) {
            thread.join();
        }
        for (String result : results) {
            System.out.println("result: " + result.replace('\n', ' '));
        }
    }
}
