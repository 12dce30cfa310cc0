package stormring.state;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.storm.spout.CheckPointState;
import org.apache.storm.state.KeyValueState;

/**
 * The state of the checkpoint spout, which is the commit record of the topology: one value, that
 * commit() makes durable.
 */
final class SpoutState implements KeyValueState<Object, Object> {
    private static final int PREPARING = 1;
    private static final int COMMITTING = 2;
    private static final int COMMITTED = 3;
    private static final int PHASE = 0xff;

    private final Link link;
    /** Tells this spout from all others of the topology. */
    private final int claim = ThreadLocalRandom.current().nextInt(1, Integer.MAX_VALUE);
    private Object key;
    private CheckPointState state;

    // The record, as this spout has read or written it last.
    private Version committed;
    private long era;
    private long epoch;
    /** The last transaction of which PREPARING was saved; below all if none was. */
    private long attempted = Long.MAX_VALUE;

    SpoutState(Link link) {
        this.link = link;
        call("load it", () -> null);
        switch ((int) (epoch & PHASE)) {
            case PREPARING:
                state = new CheckPointState(committed.tx, CheckPointState.State.PREPARING);
                break;
            case COMMITTING:
                state = new CheckPointState(committed.tx - 1, CheckPointState.State.COMMITTING);
                break;
            case COMMITTED:
                state = new CheckPointState(committed.tx - 1, CheckPointState.State.COMMITTED);
                break;
            default: // it was never there
        }
    }

    private <T> T call(String what, Link.Call<T> call) {
        return link.call(what, Link.RECORD, answer -> {
            if (committed == null) {
                read(answer);
            }
        }, call);
    }

    private void read(DataInputStream answer) throws IOException {
        committed = Version.read(answer);
        era = answer.readLong();
        epoch = answer.readLong();
    }

    @Override
    public synchronized void put(Object key, Object value) {
        if (!(value instanceof CheckPointState) || this.key != null && !this.key.equals(key)) {
            throw new UnsupportedOperationException(link.where + ": the checkpoint spout has one value only, and no " + key);
        }
        this.key = key;
        state = (CheckPointState) value;
    }

    @Override
    public synchronized Object get(Object key) {
        return this.key == null || this.key.equals(key) ? state : null;
    }

    @Override
    public Object get(Object key, Object defaultValue) {
        Object value = get(key);
        return value == null ? defaultValue : value;
    }

    @Override
    public Object delete(Object key) {
        throw new UnsupportedOperationException(link.where + ": what the checkpoint spout has saved stays");
    }

    @Override
    public synchronized Iterator<Map.Entry<Object, Object>> iterator() {
        return key == null ? Collections.<Map.Entry<Object, Object>>emptyIterator()
            : Collections.<Object, Object>singletonMap(key, state).entrySet().iterator();
    }

    @Override
    public synchronized void commit() {
        long txid = state.getTxid();
        int phase = phase(state.getState());
        // Whoever was told to prepare it before may have saved it under the name that it has in this era.
        boolean fresh = txid <= attempted || attempted == Long.MAX_VALUE;
        if (phase == PREPARING) {
            attempted = txid;
        }
        call("save " + state, () -> {
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(body);
            out.writeByte(phase);
            out.writeLong(txid);
            out.writeInt(claim);
            out.writeByte(fresh ? 1 : 0);
            committed.write(out);
            out.writeLong(era);
            out.writeLong(epoch);
            read(link.ask(Link.STEP, body.toByteArray(), Link.RECORD));
            return null;
        });
    }

    private static int phase(CheckPointState.State state) {
        switch (state) {
            case PREPARING:
                return PREPARING;
            case COMMITTING:
                return COMMITTING;
            default:
                return COMMITTED;
        }
    }

    @Override
    public void prepareCommit(long txid) {
        throw unsupported();
    }

    @Override
    public void commit(long txid) {
        throw unsupported();
    }

    @Override
    public void rollback() {
        throw unsupported();
    }

    private UnsupportedOperationException unsupported() {
        return new UnsupportedOperationException(link.where + ": the checkpoint spout saves its state by commit() only");
    }
}
