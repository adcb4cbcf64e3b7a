package switchyard;

import de.bwaldvogel.mongo.bson.Document;
import java.util.AbstractList;
import java.util.List;

/**
 * Documents to insert, kept as the BSON that arrived, so that they are stored without decoding and encoding. Code that
 * does not know this class sees a list that decodes a document when it is read.
 */
final class RawDocuments extends AbstractList<Document> {

  private final List<byte[]> documents;

  RawDocuments(List<byte[]> documents) {
    this.documents = documents;
  }

  byte[] bytes(int index) {
    return documents.get(index);
  }

  @Override
  public Document get(int index) {
    return Bson.decode(bytes(index));
  }

  @Override
  public int size() {
    return documents.size();
  }
}
