package switchyard;

import de.bwaldvogel.mongo.bson.Document;
import java.util.AbstractList;
import java.util.List;

/**
 * Documents to insert as they came, in BSON: what is stored as it is need not be taken apart and put together again. To
 * those who do not know it a list like any other; each of its documents is then made when it is asked for.
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
