package stormring.compare;

import java.io.FileWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * Writes down what one task has done, a line at a time: when, in microseconds of
 * Unix time, and numbers. The file's name has the process in it. The same is
 * written by the topologies in Go (topologies/throughput/journal.go).
 */
final class Journal {
    /** The least time between two lines of counts. */
    private static final long PAUSE_MICROS = 50_000;

    private final FileWriter file;
    private final int step;
    private long counted;
    private long written;

    /** A journal of counts looks at the clock every step tuples, a power of two. */
    Journal(String folder, String kind, int step) {
        this.step = step;
        try {
            String name = kind + "-" + ProcessHandle.current().pid() + "-" + Long.toHexString(System.nanoTime());
            file = new FileWriter(Path.of(folder, name).toFile(), true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static long now() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    /** Counts a tuple; the first one is written at once. */
    void count() {
        if ((counted++ & (step - 1)) == 0) {
            long now = now();
            if (now - written >= PAUSE_MICROS) {
                written = now;
                line(now + " " + counted + "\n");
            }
        }
    }

    /** Writes lines in one piece. */
    void line(String lines) {
        try {
            file.write(lines);
            file.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void close() {
        try {
            file.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
