package switchyard;

import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.MongoWireProtocolHandler;
import de.bwaldvogel.mongo.wire.OpCode;
import de.bwaldvogel.mongo.wire.bson.BsonDecoder;
import de.bwaldvogel.mongo.wire.message.ClientRequest;
import de.bwaldvogel.mongo.wire.message.MessageHeader;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import java.io.IOException;
import java.util.ArrayList;

/** Reads requests like mongo-java-server, but keeps the documents of an insert as raw BSON: {@link RawDocuments}. */
final class RequestDecoder extends MongoWireProtocolHandler {

  /** Header offsets: length, id, id of the answered request, kind, flags; four bytes each. */
  private static final int LENGTH_AT = 0;

  private static final int ID_AT = 4;
  private static final int ANSWERED_AT = 8;
  private static final int KIND_AT = 12;
  private static final int FLAGS_AT = 16;
  private static final int HEADER_BYTES = 20;

  /** The field of an insert that may arrive as a separate sequence after the command. */
  private static final String DOCUMENTS = "documents";

  @Override
  protected ClientRequest decode(ChannelHandlerContext context, ByteBuf in) throws Exception {
    if (in.readableBytes() < HEADER_BYTES) return null;
    int start = in.readerIndex();
    int length = in.getIntLE(start + LENGTH_AT);
    boolean isPlain =
        in.getIntLE(start + KIND_AT) == OpCode.OP_MSG.getId()
            && in.getIntLE(start + FLAGS_AT) == 0
            && length >= HEADER_BYTES
            && length <= MAX_MESSAGE_SIZE_BYTES;
    if (!isPlain) return super.decode(context, in);
    if (in.readableBytes() < length) return null;
    var header = new MessageHeader(length, in.getIntLE(start + ID_AT), in.getIntLE(start + ANSWERED_AT));
    in.skipBytes(HEADER_BYTES);
    return new MongoMessage(context.channel(), header, command(in.readSlice(length - HEADER_BYTES)));
  }

  /** The command, with each sequence after it as a field of the sequence's name. */
  private static Document command(ByteBuf sections) throws IOException {
    Document command = null;
    var sequences = new Document();
    while (sections.isReadable()) {
      byte kind = sections.readByte();
      if (kind == MongoMessage.SECTION_KIND_BODY && command == null) command = BsonDecoder.decodeBson(sections);
      else if (kind == MongoMessage.SECTION_KIND_DOCUMENT_SEQUENCE) readSequence(sections, sequences);
      else throw new IOException("a message that cannot be read: section " + kind);
    }
    if (command == null) throw new IOException("a message without a command");
    command.putAll(sequences);
    return command;
  }

  private static void readSequence(ByteBuf sections, Document sequences) {
    int length = sections.readIntLE();
    var sequence = sections.readSlice(length - Integer.BYTES);
    var name = BsonDecoder.decodeCString(sequence);
    if (name.equals(DOCUMENTS)) {
      var raw = new ArrayList<byte[]>();
      while (sequence.isReadable()) raw.add(readRaw(sequence));
      sequences.put(name, new RawDocuments(raw));
    } else {
      var documents = new ArrayList<Document>();
      while (sequence.isReadable()) documents.add(BsonDecoder.decodeBson(sequence));
      sequences.put(name, documents);
    }
  }

  private static byte[] readRaw(ByteBuf sequence) {
    var bytes = new byte[sequence.getIntLE(sequence.readerIndex())];
    sequence.readBytes(bytes);
    return bytes;
  }
}
