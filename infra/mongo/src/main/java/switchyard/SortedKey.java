package switchyard;

import de.bwaldvogel.mongo.backend.Missing;
import de.bwaldvogel.mongo.bson.BinData;
import de.bwaldvogel.mongo.bson.BsonRegularExpression;
import de.bwaldvogel.mongo.bson.BsonTimestamp;
import de.bwaldvogel.mongo.bson.LegacyUUID;
import de.bwaldvogel.mongo.bson.MaxKey;
import de.bwaldvogel.mongo.bson.MinKey;
import de.bwaldvogel.mongo.bson.ObjectId;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.UUID;

/**
 * Encodes values as bytes that sort, unsigned and byte by byte, like the values. Values that MongoDB treats as equal (1
 * and 1.0, null and absent) have the same bytes. No value's bytes are a prefix of another's, so a key of several values
 * is the concatenation of their bytes.
 */
final class SortedKey {

  /** Greater than the first byte of every value: {@code prefix + PAST_ALL} is above all keys with that prefix. */
  static final int PAST_ALL = 0xFF;

  private static final int MIN_KEY = 0x05;
  private static final int EMPTY_LIST = 0x08;
  private static final int NULL = 0x10;
  private static final int NUMBER = 0x20;
  private static final int STRING = 0x30;
  private static final int DOCUMENT = 0x40;
  private static final int LIST = 0x48;
  private static final int BINARY = 0x50;
  private static final int LEGACY_UUID = 0x54;
  private static final int MODERN_UUID = 0x56;
  private static final int OBJECT_ID = 0x58;
  private static final int BOOLEAN = 0x60;
  private static final int INSTANT = 0x68;
  private static final int TIMESTAMP = 0x70;
  private static final int REGULAR_EXPRESSION = 0x78;
  private static final int MAX_KEY = 0xF0;

  private static final int END = 0x00;
  private static final int NOT_THE_END = 0xFF;
  private static final int MORE = 0x01;

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
      case DOCUMENT -> appendDocument((Map<?, ?>) value);
      case LIST -> appendList((Collection<?>) value);
      case BINARY -> appendEscaped(((BinData) value).getData());
      case LEGACY_UUID -> appendUuid(((LegacyUUID) value).getUuid());
      case MODERN_UUID -> appendUuid((UUID) value);
      case OBJECT_ID -> appendAll(((ObjectId) value).toByteArray());
      case BOOLEAN -> appendByte((Boolean) value ? 1 : 0);
      case INSTANT -> appendLong(((Instant) value).toEpochMilli() ^ Long.MIN_VALUE);
      case TIMESTAMP -> appendLong(((BsonTimestamp) value).getValue());
      case REGULAR_EXPRESSION -> {
        appendText(((BsonRegularExpression) value).getPattern());
        appendText(String.valueOf(((BsonRegularExpression) value).getOptions()));
      }
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
    if (value instanceof Map) return DOCUMENT;
    if (value instanceof Collection<?> list) return list.isEmpty() ? EMPTY_LIST : LIST;
    if (value instanceof UUID) return MODERN_UUID;
    if (value instanceof LegacyUUID) return LEGACY_UUID;
    if (value instanceof BinData) return BINARY;
    if (value instanceof BsonTimestamp) return TIMESTAMP;
    if (value instanceof BsonRegularExpression) return REGULAR_EXPRESSION;
    if (value instanceof MinKey) return MIN_KEY;
    if (value instanceof MaxKey) return MAX_KEY;
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

  private void appendText(String text) {
    appendEscaped(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Terminated by 0. A 0 inside is followed by 255, which is the first byte of no value. */
  private void appendEscaped(byte[] data) {
    int from = 0;
    for (int i = 0; i < data.length; i += 1)
      if (data[i] == END) {
        appendAll(data, from, i + 1).appendByte(NOT_THE_END);
        from = i + 1;
      }
    appendAll(data, from, data.length).appendByte(END);
  }

  private void appendDocument(Map<?, ?> document) {
    document.forEach(
        (name, value) -> {
          appendByte(MORE);
          appendText((String) name);
          append(value);
        });
    appendByte(END);
  }

  private void appendList(Collection<?> list) {
    for (Object one : list) {
      appendByte(MORE);
      append(one);
    }
    appendByte(END);
  }

  private void appendUuid(UUID uuid) {
    appendLong(uuid.getMostSignificantBits());
    appendLong(uuid.getLeastSignificantBits());
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
