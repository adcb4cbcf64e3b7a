package switchyard;

import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.BsonConstants;
import de.bwaldvogel.mongo.wire.bson.BsonDecoder;
import io.netty.buffer.Unpooled;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;

/** Reads the fields of given names from BSON and skips the others without decoding them. */
final class SomeFields {

  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private static final int LENGTH_BYTES = Integer.BYTES;
  private static final int SUBTYPE_BYTES = 1;
  private static final int DECIMAL_BYTES = 16;

  private final String[] names;
  private final byte[][] namesAsBytes;

  SomeFields(Collection<String> names) {
    this.names = names.toArray(String[]::new);
    this.namesAsBytes =
        names.stream().map(name -> name.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
  }

  /**
   * A document of those given fields that are present.
   *
   * @throws IllegalArgumentException or IndexOutOfBoundsException if the bytes are not BSON
   */
  Document of(byte[] bson) {
    var found = new Document();
    var buffer = Unpooled.wrappedBuffer(bson);
    int at = LENGTH_BYTES;
    while (bson[at] != BsonConstants.TERMINATING_BYTE) {
      byte type = bson[at];
      int nameAt = at + 1;
      int nameEnd = endOfText(bson, nameAt);
      at = nameEnd + 1;
      int index = indexOf(bson, nameAt, nameEnd);
      if (index >= 0) found.put(names[index], BsonDecoder.decodeValue(type, buffer.readerIndex(at)));
      at = index >= 0 ? buffer.readerIndex() : at + lengthOf(type, bson, at);
    }
    if (at + 1 != bson.length || (int) INT.get(bson, 0) != bson.length)
      throw new IllegalArgumentException("BSON of another length than it says");
    return found;
  }

  private static int endOfText(byte[] bson, int from) {
    int end = from;
    while (bson[end] != BsonConstants.STRING_TERMINATION) end += 1;
    return end;
  }

  private int indexOf(byte[] bson, int from, int to) {
    for (int i = 0; i < namesAsBytes.length; i += 1) {
      var name = namesAsBytes[i];
      if (name.length == to - from && Arrays.equals(name, 0, name.length, bson, from, to)) return i;
    }
    return -1;
  }

  /** Bytes of the value of this type at this offset. */
  private static int lengthOf(byte type, byte[] bson, int at) {
    return switch (type) {
      case BsonConstants.TYPE_UNDEFINED,
          BsonConstants.TYPE_NULL,
          BsonConstants.TYPE_MIN_KEY,
          BsonConstants.TYPE_MAX_KEY -> 0;
      case BsonConstants.TYPE_BOOLEAN -> 1;
      case BsonConstants.TYPE_INT32 -> Integer.BYTES;
      case BsonConstants.TYPE_DOUBLE,
          BsonConstants.TYPE_UTC_DATETIME,
          BsonConstants.TYPE_TIMESTAMP,
          BsonConstants.TYPE_INT64 -> Long.BYTES;
      case BsonConstants.TYPE_OBJECT_ID -> BsonConstants.LENGTH_OBJECTID;
      case BsonConstants.TYPE_DECIMAL128 -> DECIMAL_BYTES;
      case BsonConstants.TYPE_UTF8_STRING, BsonConstants.TYPE_JAVASCRIPT_CODE -> LENGTH_BYTES + lengthAt(bson, at);
      case BsonConstants.TYPE_EMBEDDED_DOCUMENT, BsonConstants.TYPE_ARRAY -> lengthAt(bson, at);
      case BsonConstants.TYPE_DATA -> LENGTH_BYTES + SUBTYPE_BYTES + lengthAt(bson, at);
      case BsonConstants.TYPE_REGEX -> endOfText(bson, endOfText(bson, at) + 1) + 1 - at;
      default -> throw new IllegalArgumentException("BSON of an unknown type: " + type);
    };
  }

  private static int lengthAt(byte[] bson, int at) {
    int length = (int) INT.get(bson, at);
    if (length < 0) throw new IllegalArgumentException("BSON with a length below zero");
    return length;
  }
}
