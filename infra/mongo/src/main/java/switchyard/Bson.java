package switchyard;

import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.bson.BsonDecoder;
import de.bwaldvogel.mongo.wire.bson.BsonEncoder;
import io.netty.buffer.Unpooled;
import java.util.Arrays;

/** Converts documents to and from BSON. */
final class Bson {

  private static final int INITIAL_BYTES = 1024;

  private Bson() {}

  static byte[] encode(Document document) {
    var buffer = Unpooled.buffer(INITIAL_BYTES);
    BsonEncoder.encodeDocument(document, buffer);
    return Arrays.copyOf(buffer.array(), buffer.writerIndex());
  }

  static Document decode(byte[] bytes) {
    return BsonDecoder.decodeBson(Unpooled.wrappedBuffer(bytes));
  }
}
