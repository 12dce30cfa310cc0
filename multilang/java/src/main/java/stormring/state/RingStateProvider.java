package stormring.state;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.storm.state.DefaultStateSerializer;
import org.apache.storm.state.Serializer;
import org.apache.storm.state.State;
import org.apache.storm.state.StateProvider;
import org.apache.storm.task.TopologyContext;

/**
 * Keeps the state of bolts on the ring of the cluster, by way of the agent on the worker's
 * host. It is what topology.state.provider names.
 *
 * <p>Keys and values are serialized by Kryo, or as topology.state.provider.config says, which is
 * a JSON text with any of keyClass, valueClass, keySerializerClass and valueSerializerClass.
 */
public final class RingStateProvider implements StateProvider {
    private static final String CONFIG = "topology.state.provider.config";
    private static final String CHECKPOINT_SPOUT = "$checkpointspout";

    @Override
    @SuppressWarnings({"rawtypes", "unchecked"}) // the signature of all releases
    public State newState(String namespace, Map conf, TopologyContext context) {
        Map<String, Object> settings = conf;
        String component = context.getThisComponentId();
        boolean spout = CHECKPOINT_SPOUT.equals(component);
        Link link = new Link(Where.of(context.getStormId(), component, context.getThisTaskId(), namespace, spout, settings));
        if (spout) {
            return new SpoutState(link);
        }
        Map<?, ?> how = howToSerialize(settings);
        return new RingState<Object, Object>(link, serializer(how, "key", settings, context), serializer(how, "value", settings, context));
    }

    private static Map<?, ?> howToSerialize(Map<String, Object> settings) {
        Object text = settings.get(CONFIG);
        if (text == null) {
            return Collections.emptyMap();
        }
        Object value;
        try {
            value = Json.parse(text.toString());
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(CONFIG + " is no JSON text: " + e.getMessage(), e);
        }
        if (!(value instanceof Map)) {
            throw new IllegalArgumentException(CONFIG + " has to be a JSON object");
        }
        return (Map<?, ?>) value;
    }

    @SuppressWarnings("unchecked")
    private static Serializer<Object> serializer(Map<?, ?> how, String what, Map<String, Object> settings, TopologyContext context) {
        Object own = how.get(what + "SerializerClass");
        Object known = how.get(what + "Class");
        try {
            if (own != null) {
                return (Serializer<Object>) Class.forName(own.toString()).getDeclaredConstructor().newInstance();
            }
            List<?> classes = known == null ? Collections.emptyList() : Collections.singletonList(Class.forName(known.toString()));
            return kryo(classes, settings, context);
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException("the serializer of the " + what + "s of state: " + e, e);
        }
    }

    @SuppressWarnings("unchecked")
    static Serializer<Object> kryo(List<?> classes, Map<String, Object> settings, TopologyContext context)
        throws ReflectiveOperationException {
        try {
            return DefaultStateSerializer.class.getConstructor(Map.class, TopologyContext.class, List.class)
                .newInstance(settings, context, classes);
        } catch (NoSuchMethodException e) {
            // Storm 1 registers classes for one thread alone; without, their names are written.
            return DefaultStateSerializer.class.getConstructor().newInstance();
        }
    }
}
