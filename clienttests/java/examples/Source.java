package stormring.examples;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.TreeSet;

/**
 * The place of a spout in its source, which is the numbers from 0, kept in a
 * file: the next number, and the lowest that is not done. A spout that starts
 * again begins there, so that nothing is lost.
 */
final class Source {
    private static final int DIGITS = 19;
    private static final int STEP = 50;
    private final RandomAccessFile file;
    private final TreeSet<Long> open = new TreeSet<>();
    private long next;

    Source(Object folder, String name) {
        try {
            file = new RandomAccessFile(folder + "/" + name, "rw");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        next = read(DIGITS + 1);
    }

    long take() {
        long n = next++;
        open.add(n);
        save();
        return n;
    }

    /** Takes up to a number, which for batches is decided elsewhere. */
    void takeTo(long end) {
        next = Math.max(next, end);
        save();
    }

    /** Tells whether another source, that of another task, is far behind. */
    boolean isAheadOf(Source other) {
        return next > other.read(0) + STEP;
    }

    private long read(int at) {
        try {
            byte[] text = new byte[DIGITS];
            if (file.length() == 0) {
                return 0;
            }
            file.seek(at);
            file.readFully(text);
            return Long.parseLong(new String(text, StandardCharsets.US_ASCII));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void done(long n) {
        open.remove(n);
        save();
    }

    private void save() {
        long low = open.isEmpty() ? next : open.first();
        String text = String.format(Locale.ROOT, "%0" + DIGITS + "d %0" + DIGITS + "d\n", next, low);
        try {
            file.seek(0);
            file.write(text.getBytes(StandardCharsets.US_ASCII));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
