package stormring.examples;

import java.io.FileWriter;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Writes what a component sees, a line for each, to a file of its own in the
 * example's folder: seen-PROCESS-NUMBER. A line is there as soon as write is back.
 */
final class Seen implements Serializable {
    private static final AtomicInteger FILES = new AtomicInteger();
    private final String folder;
    private transient FileWriter file;

    /** Takes the arguments of the example. */
    Seen(String[] args) {
        folder = args[1];
    }

    synchronized void write(Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.length() == 0 ? "" : " ").append(word);
        }
        try {
            if (file == null) {
                file = new FileWriter(folder + "/seen-" + ProcessHandle.current().pid() + "-" + FILES.incrementAndGet());
            }
            file.write(line.append('\n').toString());
            file.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
