package stormring.state;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.storm.state.KeyValueState;
import org.apache.storm.state.Serializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A namespace. All of it is here in memory, encoded; what changes goes to the agent when a
 * transaction is prepared. Values are encoded when they are put: what changes in a value later is
 * not saved unless it is put again.
 *
 * @param <K> the type of keys
 * @param <V> the type of values
 */
final class RingState<K, V> implements KeyValueState<K, V> {
    private static final Logger LOG = LoggerFactory.getLogger(RingState.class);

    /** How a worker ends that has seen what does not count. */
    private static final int STALE = 70;

    private final Link link;
    private final Serializer<K> keys;
    private final Serializer<V> values;

    // Of calls, of which there is one at a time.
    /** What the agent has; null before it has said so. */
    private Version committed;
    /** What it has prepared beyond that, and the transaction; null for nothing. */
    private Version prepared;
    /** The era that the last rollback has ended: what is prepared then is of a later one. */
    private long after;

    // Guarded by this object's monitor.
    private Map<Bytes, byte[]> entries = new HashMap<>();
    /** What entries were before they changed, null for those that were not there: since the last prepare. */
    private Map<Bytes, byte[]> undo = new HashMap<>();
    /** The same for what the last prepare has prepared. */
    private Map<Bytes, byte[]> preparedUndo = new HashMap<>();
    /** Somebody has seen what is in it. */
    private boolean touched;

    RingState(Link link, Serializer<K> keys, Serializer<V> values) {
        this.link = link;
        this.keys = keys;
        this.values = values;
        call("load it", () -> null);
    }

    private <T> T call(String what, Link.Call<T> call) {
        return link.call(what, Link.BASE, answer -> settle(Version.read(answer)), call);
    }

    @Override
    public void put(K key, V value) {
        set(new Bytes(keys.serialize(key)), values.serialize(value));
    }

    @Override
    public V get(K key) {
        return get(key, null);
    }

    @Override
    public V get(K key, V defaultValue) {
        Bytes at = new Bytes(keys.serialize(key));
        byte[] value;
        synchronized (this) {
            touched = true;
            value = entries.get(at);
        }
        V decoded = value == null ? null : values.deserialize(value);
        return decoded == null ? defaultValue : decoded;
    }

    @Override
    public V delete(K key) {
        byte[] value = set(new Bytes(keys.serialize(key)), null);
        return value == null ? null : values.deserialize(value);
    }

    private synchronized byte[] set(Bytes key, byte[] value) {
        touched = true;
        byte[] before = value == null ? entries.remove(key) : entries.put(key, value);
        if (!undo.containsKey(key)) {
            undo.put(key, before);
        }
        return before;
    }

    /** In the order of the encoded keys, as they are now, whatever changes meanwhile. */
    @Override
    public Iterator<Map.Entry<K, V>> iterator() {
        List<Map.Entry<Bytes, byte[]>> now = new ArrayList<>();
        synchronized (this) {
            touched = true;
            for (Map.Entry<Bytes, byte[]> e : entries.entrySet()) {
                now.add(new SimpleImmutableEntry<>(e.getKey(), e.getValue()));
            }
        }
        now.sort(Map.Entry.comparingByKey());
        Iterator<Map.Entry<Bytes, byte[]>> encoded = now.iterator();
        return new Iterator<Map.Entry<K, V>>() {
            @Override
            public boolean hasNext() {
                return encoded.hasNext();
            }

            @Override
            public Map.Entry<K, V> next() {
                Map.Entry<Bytes, byte[]> e = encoded.next();
                return new SimpleImmutableEntry<>(keys.deserialize(e.getKey().bytes), values.deserialize(e.getValue()));
            }
        };
    }

    @Override
    public void prepareCommit(long txid) {
        call("prepare transaction " + txid, () -> {
            Map<Bytes, byte[]> sending;
            Map<Bytes, byte[]> changed = new HashMap<>();
            synchronized (this) {
                sending = undo;
                undo = new HashMap<>();
                for (Bytes key : preparedUndo.keySet()) {
                    changed.put(key, entries.get(key));
                }
                for (Bytes key : sending.keySet()) {
                    changed.put(key, entries.get(key));
                }
            }
            boolean safe = false;
            try {
                prepared = Version.read(link.ask(Link.PREPARE, request(txid), changed, Link.PREPARED));
                safe = true;
            } finally {
                synchronized (this) {
                    if (safe) {
                        later(preparedUndo, sending);
                    } else {
                        later(sending, undo);
                        undo = sending;
                    }
                }
            }
            return null;
        });
    }

    private byte[] request(long txid) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(body);
        out.writeLong(txid);
        committed.write(out);
        out.writeLong(after);
        return body.toByteArray();
    }

    /** Adds what was done later. */
    private static void later(Map<Bytes, byte[]> log, Map<Bytes, byte[]> more) {
        for (Map.Entry<Bytes, byte[]> e : more.entrySet()) {
            if (!log.containsKey(e.getKey())) {
                log.put(e.getKey(), e.getValue());
            }
        }
    }

    @Override
    public void commit(long txid) {
        call("commit transaction " + txid, () -> {
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            new DataOutputStream(body).writeLong(txid);
            settle(Version.read(link.ask(Link.COMMIT, body.toByteArray(), Link.BASE)));
            if (prepared != null) { // Storm would acknowledge the tuples of that one
                throw new RefusedException(link.where + ": commit of transaction " + txid + ", and another one is prepared, " + prepared);
            }
            return null;
        });
    }

    @Override
    public void commit() {
        throw new UnsupportedOperationException(link.where + ": state on the ring is saved by checkpoints only, not by commit() without a"
            + " transaction; a component that saves its state by itself needs another topology.state.provider");
    }

    @Override
    public void rollback() {
        call("roll back", () -> {
            DataInputStream answer = link.ask(Link.ROLLBACK, new byte[0], Link.BASE);
            Version version = Version.read(answer);
            long era = answer.readLong();
            settle(version);
            after = Math.max(after, era);
            synchronized (this) {
                undo(undo);
                if (prepared != null) {
                    undo(preparedUndo);
                }
            }
            prepared = null;
            return null;
        });
    }

    private void undo(Map<Bytes, byte[]> log) {
        for (Map.Entry<Bytes, byte[]> e : log.entrySet()) {
            if (e.getValue() == null) {
                entries.remove(e.getKey());
            } else {
                entries.put(e.getKey(), e.getValue());
            }
        }
        log.clear();
    }

    /** The agent's state is of this version: so what is here has to be that one, with what was changed since. */
    private void settle(Version version) throws IOException {
        if (version.equals(committed)) {
            return;
        }
        if (version.equals(prepared)) {
            committed = version;
            prepared = null;
            synchronized (this) {
                preparedUndo.clear();
            }
            return;
        }
        synchronized (this) {
            if (touched) {
                end(version);
            }
        }
        Map<Bytes, byte[]> loaded = new HashMap<>();
        link.contents(loaded);
        synchronized (this) {
            if (touched) {
                end(version);
            }
            entries = loaded;
            undo.clear();
            preparedUndo.clear();
        }
        committed = version;
        prepared = null;
    }

    /**
     * What the component has seen does not count, and it cannot be told so: Storm would go on to
     * acknowledge tuples whose effect is lost. So the worker ends, and its successor begins with
     * what counts.
     */
    private void end(Version version) {
        LOG.error("{}: the version that counts is {}, but here are {} and prepared {}: this worker ends, to begin anew with it",
            link.where, version, committed, prepared);
        Runtime.getRuntime().halt(STALE);
    }
}
