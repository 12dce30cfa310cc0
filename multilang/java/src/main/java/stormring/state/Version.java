package stormring.state;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** A version of a state: the agent's number of the transaction, and its era. */
final class Version {
    final long tx;
    final long era;

    Version(long tx, long era) {
        this.tx = tx;
        this.era = era;
    }

    static Version read(DataInputStream in) throws IOException {
        long tx = in.readLong();
        return new Version(tx, in.readLong());
    }

    void write(DataOutputStream out) throws IOException {
        out.writeLong(tx);
        out.writeLong(era);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Version && ((Version) other).tx == tx && ((Version) other).era == era;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(tx * 31 + era);
    }

    @Override
    public String toString() {
        return tx == 0 ? "the empty one" : "transaction " + (tx - 1) + " of era " + era;
    }
}
