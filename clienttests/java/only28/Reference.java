package stormring.clienttests;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.LocalCluster;

/**
 * Storm's own nimbus with supervisors, in this JVM: to see what the
 * original answers to the tests. Prints its address, and ends with its input.
 */
public final class Reference {
    private Reference() {
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> conf = new HashMap<>();
        conf.put("nimbus.thrift.port", Integer.valueOf(args[0]));
        conf.put("nimbus.thrift.max_buffer_size", Integer.valueOf(args[1]));
        conf.put("nimbus.seeds", Arrays.asList("127.0.0.1"));
        conf.put("storm.local.hostname", "127.0.0.1");
        conf.put("storm.cluster.metrics.consumer.register", new ArrayList<>());
        conf.put("storm.metricstore.class", "");
        // Else it refuses what clients of 1.2 submit.
        conf.put("supervisor.worker.version.classpath.map", Collections.singletonMap("1.2.3", System.getProperty("java.class.path")));
        LocalCluster cluster = new LocalCluster.Builder().withNimbusDaemon(true).withDaemonConf(conf)
            .withSupervisors(Integer.parseInt(args[2])).withPortsPerSupervisor(4).build();
        System.out.println("nimbus: 127.0.0.1:" + cluster.getThriftServerPort());
        System.out.flush();
        while (System.in.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0);
    }
}
