package stormring.state;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection of one state to the agent of this host, which is made anew when it breaks.
 * The frames are those of supervisor/jvmstate. One thread at a time uses it.
 */
final class Link {
    static final int CONTENTS = 2;
    static final int PREPARE = 3;
    static final int COMMIT = 6;
    static final int ROLLBACK = 7;
    static final int STEP = 8;
    static final int BASE = 65;
    static final int PREPARED = 68;
    static final int RECORD = 69;

    private static final Logger LOG = LoggerFactory.getLogger(Link.class);
    private static final String FILE = "stormring.state.file";
    private static final int FORMAT = 2;
    private static final int OPEN = 1;
    private static final int CHANGES = 4;
    private static final int END = 5;
    private static final int WAIT = 64;
    private static final int CHUNK = 66;
    private static final int OVER = 67;
    private static final int FAILED = 70;
    private static final int REFUSED = 1;
    private static final int SUPERSEDED = 2;
    private static final int MAX_CHUNK = 1 << 20;
    private static final int MAX_FRAME = MAX_CHUNK + 64;
    private static final int CONNECT_MILLIS = 5000;
    /** The agent says something every two seconds while it works. */
    private static final int SILENCE_MILLIS = 30000;
    private static final long FIRST_PAUSE = 50;
    private static final long LAST_PAUSE = 2000;
    private static final long BOOT = ManagementFactory.getRuntimeMXBean().getStartTime();
    private static final AtomicLong SERIALS = new AtomicLong();
    /** When this worker was missed, in milliseconds, and after how many microseconds; 0 if unknown. */
    private static final long NOTICED = (long) number("STORMRING_NOTICED_MS");
    private static final long DETECT = (long) (1000 * number("STORMRING_DETECT_MS"));

    final Where where;
    private final long serial = SERIALS.incrementAndGet();
    private final ReentrantLock lock = new ReentrantLock();
    private Socket socket;
    private DataInputStream in;
    private DataOutputStream out;
    /** That of the frame that came last. */
    private byte[] body;
    /** Whether there was an answer before: what is loaded then is not since the worker was missed. */
    private boolean known;

    Link(Where where) {
        this.where = where;
    }

    /** What is asked of the agent, over a connection. */
    interface Call<T> {
        T run() throws IOException;
    }

    /** What is done with the first answer on a new connection. */
    interface Greeting {
        void greet(DataInputStream answer) throws IOException;
    }

    /**
     * Makes a call, again and again while the agent is away.
     *
     * @throws RefusedException if the agent refuses
     * @throws IllegalStateException if the agent is away for too long
     */
    <T> T call(String what, int first, Greeting greeting, Call<T> call) {
        lock.lock();
        try {
            long until = System.nanoTime() + where.patience * 1000000;
            long pause = FIRST_PAUSE;
            while (true) {
                try {
                    if (socket == null) {
                        greeting.greet(dial(first));
                        known = true;
                    }
                    return call.run();
                } catch (IOException e) {
                    close();
                    if (System.nanoTime() - until > 0) {
                        throw new IllegalStateException(where + ": cannot " + what + ": the agent of this host's supervisor does not answer: " + e, e);
                    }
                    LOG.warn("{}: the agent of this host's supervisor does not answer, trying again to {}: {}", where, what, e.toString());
                    sleep(pause);
                    pause = Math.min(2 * pause, LAST_PAUSE);
                } catch (RuntimeException | Error e) {
                    if (!(e instanceof RefusedException)) {
                        close(); // nobody knows what is on its way
                    }
                    throw e;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(where + ": interrupted", e);
        }
    }

    private DataInputStream dial(int first) throws IOException {
        String file = System.getProperty(FILE);
        if (file == null) {
            throw new IllegalStateException("state on the ring needs a supervisor of Stormring, which starts workers with -D" + FILE
                + "; with another one set topology.state.provider to another provider");
        }
        String[] words = new String(Files.readAllBytes(Paths.get(file)), StandardCharsets.UTF_8).trim().split(" ");
        if (words.length != 3) {
            throw new IOException("the file " + file + " does not have three words");
        }
        socket = new Socket();
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(SILENCE_MILLIS);
        socket.connect(new InetSocketAddress(words[0], Integer.parseInt(words[1])), CONNECT_MILLIS);
        in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
        out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), 1 << 16));
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        DataOutputStream hello = new DataOutputStream(body);
        hello.writeInt(FORMAT);
        for (String text : new String[] {words[2], where.topology, where.component}) {
            write(hello, text);
        }
        hello.writeInt(where.task);
        write(hello, where.namespace);
        hello.writeLong(BOOT);
        hello.writeLong(serial);
        hello.writeByte(where.spout ? 1 : 0);
        write(hello, where.settings);
        hello.writeLong(known ? 0 : NOTICED);
        hello.writeLong(known ? 0 : DETECT);
        send(OPEN, body.toByteArray());
        out.flush();
        return answer(first, true);
    }

    private static double number(String variable) {
        String text = System.getenv(variable);
        try {
            return text == null ? 0 : Double.parseDouble(text);
        } catch (NumberFormatException e) {
            return 0; // it is for reports only
        }
    }

    private static void write(DataOutputStream to, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        to.writeInt(bytes.length);
        to.write(bytes);
    }

    private void send(int kind, byte[] body) throws IOException {
        send(kind, body, body.length);
    }

    private void send(int kind, byte[] body, int length) throws IOException {
        out.writeInt(length + 1);
        out.writeByte(kind);
        out.write(body, 0, length);
    }

    /** Asks, and waits for an answer of a kind. */
    DataInputStream ask(int kind, byte[] body, int answer) throws IOException {
        send(kind, body);
        out.flush();
        return answer(answer, false);
    }

    /** Sends a request that changes follow: the value of each key, null for one that is deleted. */
    DataInputStream ask(int kind, byte[] body, Map<Bytes, byte[]> changed, int answer) throws IOException {
        send(kind, body);
        byte[] part = new byte[MAX_CHUNK];
        int[] used = {0};
        for (Map.Entry<Bytes, byte[]> e : changed.entrySet()) {
            byte[] key = e.getKey().bytes;
            byte[] value = e.getValue();
            stream(part, used, number(key.length));
            stream(part, used, key);
            stream(part, used, number(value == null ? -1 : value.length));
            if (value != null) {
                stream(part, used, value);
            }
        }
        if (used[0] > 0) {
            send(CHANGES, part, used[0]);
        }
        send(END, new byte[0]);
        out.flush();
        return answer(answer, false);
    }

    private static byte[] number(int n) {
        return new byte[] {(byte) (n >>> 24), (byte) (n >>> 16), (byte) (n >>> 8), (byte) n};
    }

    private void stream(byte[] part, int[] used, byte[] bytes) throws IOException {
        for (int from = 0; from < bytes.length; ) {
            int n = Math.min(bytes.length - from, part.length - used[0]);
            System.arraycopy(bytes, from, part, used[0], n);
            from += n;
            used[0] += n;
            if (used[0] == part.length) {
                send(CHANGES, part);
                used[0] = 0;
            }
        }
    }

    private DataInputStream answer(int wanted, boolean first) throws IOException {
        while (true) {
            int kind = receive();
            DataInputStream answer = new DataInputStream(new ByteArrayInputStream(body));
            if (kind == FAILED) {
                int code = answer.readByte();
                byte[] text = new byte[answer.readInt()];
                answer.readFully(text);
                String why = where + ": " + new String(text, StandardCharsets.UTF_8);
                if (code == SUPERSEDED || code == REFUSED && !first) {
                    throw new RefusedException(why);
                }
                throw new IOException(why);
            }
            if (kind == wanted) {
                return answer;
            }
            if (kind != WAIT) {
                throw new IOException("a message of kind " + kind + " is no answer");
            }
        }
    }

    private int receive() throws IOException {
        int length = in.readInt();
        if (length < 1 || length > MAX_FRAME) {
            throw new IOException("a message of " + length + " bytes");
        }
        int kind = in.readUnsignedByte();
        body = new byte[length - 1];
        in.readFully(body);
        return kind;
    }

    /** Asks for all entries. */
    void contents(Map<Bytes, byte[]> into) throws IOException {
        send(CONTENTS, new byte[0]);
        out.flush();
        DataInputStream entries = new DataInputStream(new Chunks());
        while (true) {
            int first = entries.read();
            if (first < 0) {
                return;
            }
            byte[] rest = new byte[3];
            entries.readFully(rest);
            byte[] key = new byte[first << 24 | (rest[0] & 0xff) << 16 | (rest[1] & 0xff) << 8 | rest[2] & 0xff];
            entries.readFully(key);
            byte[] value = new byte[entries.readInt()];
            entries.readFully(value);
            into.put(new Bytes(key), value);
        }
    }

    /** The chunks of an answer as a stream. */
    private final class Chunks extends InputStream {
        private byte[] part = new byte[0];
        private int at;
        private boolean over;

        private boolean more() throws IOException {
            while (at == part.length && !over) {
                int kind = receive();
                if (kind == CHUNK) {
                    part = body;
                    at = 0;
                } else if (kind == OVER) {
                    over = true;
                } else if (kind != WAIT) {
                    throw new IOException("a message of kind " + kind + " comes between entries");
                }
            }
            return !over;
        }

        @Override
        public int read() throws IOException {
            return more() ? part[at++] & 0xff : -1;
        }

        @Override
        public int read(byte[] to, int from, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            if (!more()) {
                return -1;
            }
            int n = Math.min(length, part.length - at);
            System.arraycopy(part, at, to, from, n);
            at += n;
            return n;
        }
    }

    private void close() {
        Socket open = socket;
        socket = null;
        if (open != null) {
            try {
                open.close();
            } catch (IOException e) {
                LOG.debug("closing a connection", e);
            }
        }
    }
}
