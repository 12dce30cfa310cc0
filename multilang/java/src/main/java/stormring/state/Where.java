package stormring.state;

import java.util.Map;
import java.util.TreeMap;

/** Whose state it is. */
final class Where {
    private static final long DEFAULT_PATIENCE_SECS = 60;

    final String topology;
    final String component;
    final int task;
    final String namespace;
    final boolean spout;
    /** The settings of the topology that concern state, as JSON. */
    final String settings;
    /** How long to go without the agent, in milliseconds. */
    final long patience;

    Where(String topology, String component, int task, String namespace, boolean spout, String settings, long patience) {
        this.topology = topology;
        this.component = component;
        this.task = task;
        this.namespace = namespace;
        this.spout = spout;
        this.settings = settings;
        this.patience = patience;
    }

    static Where of(String topology, String component, int task, String namespace, boolean spout, Map<String, Object> conf) {
        Map<String, Object> settings = new TreeMap<>();
        for (Map.Entry<String, Object> e : conf.entrySet()) {
            if (e.getKey().startsWith("topology.sr3.") || e.getKey().startsWith("topology.state.")) {
                settings.put(e.getKey(), e.getValue());
            }
        }
        Object timeout = conf.get("topology.message.timeout.secs");
        long secs = timeout instanceof Number ? ((Number) timeout).longValue() : DEFAULT_PATIENCE_SECS;
        return new Where(topology, component, task, namespace, spout, Json.write(settings), Math.max(1, secs) * 1000);
    }

    @Override
    public String toString() {
        return "state " + namespace + " of topology " + topology;
    }
}
