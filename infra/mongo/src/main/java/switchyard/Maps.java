package switchyard;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.WriteBuffer;
import org.h2.mvstore.type.BasicDataType;
import org.h2.mvstore.type.ByteArrayDataType;
import org.h2.mvstore.type.LongDataType;

/**
 * The maps of the store. A collection maps positions, which grow in insertion order, to documents as BSON. An index
 * maps sorted keys to positions. Keys and values are written as plain bytes, because H2's own type for objects would
 * serialize both sides of every comparison.
 */
final class Maps {

  static final String DOCUMENTS = "documents/";
  private static final String INDEX = "index/";

  private Maps() {}

  static MVMap<Long, byte[]> documents(MVStore store, String namespace) {
    return store.openMap(
        DOCUMENTS + namespace,
        new MVMap.Builder<Long, byte[]>().keyType(LongDataType.INSTANCE).valueType(ByteArrayDataType.INSTANCE));
  }

  static MVMap<byte[], Long> index(MVStore store, String name) {
    return store.openMap(
        name, new MVMap.Builder<byte[], Long>().keyType(SortedBytes.INSTANCE).valueType(LongDataType.INSTANCE));
  }

  static String indexName(String namespace, String index) {
    return INDEX + namespace + "/" + index;
  }

  /** Byte arrays compared byte by byte, unsigned. */
  private static final class SortedBytes extends BasicDataType<byte[]> {

    static final SortedBytes INSTANCE = new SortedBytes();

    /** Size of the header of a Java array, bytes. */
    private static final int HEADER_BYTES = 16;

    @Override
    public int compare(byte[] a, byte[] b) {
      return Arrays.compareUnsigned(a, b);
    }

    @Override
    public int getMemory(byte[] data) {
      return HEADER_BYTES + data.length;
    }

    @Override
    public void write(WriteBuffer buffer, byte[] data) {
      buffer.putVarInt(data.length);
      buffer.put(data);
    }

    @Override
    public byte[] read(ByteBuffer buffer) {
      var data = new byte[DataUtils.readVarInt(buffer)];
      buffer.get(data);
      return data;
    }

    @Override
    public byte[][] createStorage(int size) {
      return new byte[size][];
    }
  }
}
