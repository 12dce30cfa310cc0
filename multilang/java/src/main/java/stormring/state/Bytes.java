package stormring.state;

import java.util.Arrays;

/** An encoded key. */
final class Bytes implements Comparable<Bytes> {
    final byte[] bytes;
    private final int hash;

    Bytes(byte[] bytes) {
        this.bytes = bytes;
        this.hash = Arrays.hashCode(bytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Bytes && Arrays.equals(bytes, ((Bytes) other).bytes);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public int compareTo(Bytes other) {
        int n = Math.min(bytes.length, other.bytes.length);
        for (int i = 0; i < n; i++) {
            int difference = (bytes[i] & 0xff) - (other.bytes[i] & 0xff);
            if (difference != 0) {
                return difference;
            }
        }
        return bytes.length - other.bytes.length;
    }
}
