package switchyard;

import de.bwaldvogel.mongo.backend.Missing;
import de.bwaldvogel.mongo.bson.ObjectId;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;

/**
 * Encodes values as bytes that sort, unsigned and byte by byte, like the values. Values that MongoDB treats as equal (1
 * and 1.0, null and absent) have the same bytes. No value's bytes are a prefix of another's, so a key of several values
 * is the concatenation of their bytes. Types that no index of billing has are refused.
 */
final class SortedKey {

  /** Greater than the first byte of every value: {@code prefix + PAST_ALL} is above all keys with that prefix. */
  static final int PAST_ALL = 0xFF;

  private static final int EMPTY_LIST = 0x08;
  private static final int NULL = 0x10;
  private static final int NUMBER = 0x20;
  private static final int STRING = 0x30;
  private static final int OBJECT_ID = 0x58;
  private static final int BOOLEAN = 0x60;
  private static final int INSTANT = 0x68;

  private static final int END = 0x00;
  private static final int NOT_THE_END = 0xFF;

  /** Makes the distance between an integer and its nearest double positive. */
  private static final int BEYOND_DOUBLE_BIAS = 0x8000;

  private static final int INITIAL_BYTES = 128;

  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private byte[] bytes;
  private int length;

  SortedKey() {
    bytes = new byte[INITIAL_BYTES];
  }

  private SortedKey(byte[] bytes, int length) {
    this.bytes = bytes;
    this.length = length;
  }

  /** An independent copy, to append to. */
  SortedKey copy() {
    return new SortedKey(Arrays.copyOf(bytes, Math.max(bytes.length, INITIAL_BYTES)), length);
  }

  byte[] toBytes() {
    return Arrays.copyOf(bytes, length);
  }

  /** Appends the lower end of all values of this value's type. */
  SortedKey appendTypeOf(Object value) {
    return appendByte(typeOf(value));
  }

  /** Appends the upper end of all values of this value's type. */
  SortedKey appendPastTypeOf(Object value) {
    return appendByte(typeOf(value) + 1);
  }

  SortedKey appendByte(int value) {
    makeRoom(1);
    bytes[length++] = (byte) value;
    return this;
  }

  SortedKey appendLong(long value) {
    makeRoom(Long.BYTES);
    LONG.set(bytes, length, value);
    length += Long.BYTES;
    return this;
  }

  private void makeRoom(int count) {
    if (bytes.length - length < count) bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + count));
  }

  SortedKey append(Object value) {
    int type = typeOf(value);
    appendByte(type);
    switch (type) {
      case NUMBER -> appendNumber((Number) value);
      case STRING -> appendText((String) value);
      case OBJECT_ID -> appendAll(((ObjectId) value).toByteArray());
      case BOOLEAN -> appendByte((Boolean) value ? 1 : 0);
      case INSTANT -> appendLong(((Instant) value).toEpochMilli() ^ Long.MIN_VALUE);
      default -> {}
    }
    return this;
  }

  private static int typeOf(Object value) {
    if (value instanceof String) return STRING;
    if (value instanceof Number) return NUMBER;
    if (Missing.isNullOrMissing(value)) return NULL;
    if (value instanceof Instant) return INSTANT;
    if (value instanceof ObjectId) return OBJECT_ID;
    if (value instanceof Boolean) return BOOLEAN;
    if (value instanceof Collection<?> list && list.isEmpty()) return EMPTY_LIST;
    throw new IllegalArgumentException("a value that no index can hold: " + value.getClass());
  }

  /** The nearest double, then the integer's distance to it: 2^53 and 2^53 + 1 differ, 1 and 1.0 do not. */
  private void appendNumber(Number value) {
    double nearest = value.doubleValue() + 0.0; // -0.0 becomes 0.0
    long bits = Double.doubleToLongBits(nearest);
    appendLong(bits ^ ((bits >> (Long.SIZE - 1)) | Long.MIN_VALUE));
    long beyond = value instanceof Long || value instanceof Integer ? value.longValue() - (long) nearest : 0;
    int biased = (int) beyond + BEYOND_DOUBLE_BIAS;
    appendByte(biased >>> Byte.SIZE).appendByte(biased);
  }

  /** Terminated by 0. A 0 inside is followed by 255, which is the first byte of no value. */
  private void appendText(String text) {
    byte[] data = text.getBytes(StandardCharsets.UTF_8);
    int from = 0;
    for (int i = 0; i < data.length; i += 1)
      if (data[i] == END) {
        appendAll(data, from, i + 1).appendByte(NOT_THE_END);
        from = i + 1;
      }
    appendAll(data, from, data.length).appendByte(END);
  }

  /** Appends bytes that need no terminator: another key, or a value of fixed length. */
  SortedKey appendAll(byte[] data) {
    return appendAll(data, 0, data.length);
  }

  private SortedKey appendAll(byte[] data, int from, int to) {
    makeRoom(to - from);
    System.arraycopy(data, from, bytes, length, to - from);
    length += to - from;
    return this;
  }
}
