package stormring.clienttests;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Runs the main methods of many commands in one JVM, one after the other, to
 * save the start of a JVM for each. Reads a line for each: the class and its
 * arguments, separated by tabs. After each it writes a line to both standard
 * output and standard error that starts with a NUL and holds the exit code
 * that a JVM of its own would have had.
 */
public final class Driver {
    private Driver() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        end(0);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            end(run(words[0], Arrays.copyOfRange(words, 1, words.length)));
        }
        System.exit(0);
    }

    private static int run(String name, String[] args) throws Exception {
        Method main = Class.forName(name).getMethod("main", String[].class);
        try {
            main.invoke(null, (Object) args);
            return 0;
        } catch (InvocationTargetException e) {
            System.err.print("Exception in thread \"main\" ");
            e.getCause().printStackTrace();
            return 1;
        }
    }

    private static void end(int code) {
        for (PrintStream stream : new PrintStream[] {System.out, System.err}) {
            stream.print("\0" + code + "\n");
            stream.flush();
        }
    }
}
