package stormring.clienttests;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.utils.NimbusClient;

/**
 * Calls one method of Nimbus through Storm's own client, which checks that
 * every required field of the answer is there, and prints the answer.
 *
 * <pre>Ask METHOD [ARGUMENT...]</pre>
 */
public final class Ask {
    private Ask() {
    }

    public static void main(final String[] args) throws Exception {
        NimbusClient.withConfiguredClient(new NimbusClient.WithNimbus() {
            @Override
            public void run(Nimbus.Iface nimbus) throws Exception {
                System.out.println("answer: " + call(nimbus, args));
            }
        });
    }

    private static Object call(Nimbus.Iface nimbus, String[] args) throws Exception {
        for (Method method : Nimbus.Iface.class.getMethods()) {
            if (!method.getName().equals(args[0]) || method.getParameterCount() != args.length - 1) {
                continue;
            }
            Object[] values = new Object[args.length - 1];
            for (int i = 0; i < values.length; i++) {
                values[i] = convert(args[i + 1], method.getParameterTypes()[i]);
            }
            try {
                return method.invoke(nimbus, values);
            } catch (InvocationTargetException e) {
                throw (Exception) e.getCause();
            }
        }
        throw new IllegalArgumentException("Nimbus has no " + args[0] + " of " + (args.length - 1) + " arguments");
    }

    private static Object convert(String text, Class<?> type) {
        if (text.equals("null")) {
            return null;
        }
        if (type == boolean.class) {
            return Boolean.valueOf(text);
        }
        if (type.isEnum()) {
            return Enum.valueOf(type.asSubclass(Enum.class), text);
        }
        if (type == int.class) {
            return Integer.valueOf(text);
        }
        return text;
    }
}
