package switchyard;

import de.bwaldvogel.mongo.backend.AbstractCursor;
import de.bwaldvogel.mongo.bson.Document;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.UnaryOperator;

/** The rest of an answer that is returned in batches. Each batch is searched for when the client asks for it. */
final class Answer extends AbstractCursor {

  private final Matches matches;
  private final UnaryOperator<List<Document>> projection;
  private long left;

  /** @param limit 0: no limit */
  Answer(long cursorId, Matches matches, int skip, int limit, UnaryOperator<List<Document>> projection) {
    super(cursorId);
    this.matches = matches;
    this.projection = projection;
    this.left = limit > 0 ? limit : Long.MAX_VALUE;
    for (int i = 0; i < skip && matches.hasNext(); i += 1) matches.next();
  }

  @Override
  public synchronized boolean isEmpty() {
    return left == 0 || !matches.hasNext();
  }

  @Override
  public synchronized List<Document> takeDocuments(int count) {
    matches.goOn();
    var taken = new ArrayList<Document>();
    for (; taken.size() < count && !isEmpty(); left -= 1) taken.add(matches.next());
    return projection.apply(taken);
  }

  /** Matching documents, in the order of the answer. */
  interface Matches extends Iterator<Document> {

    /** Called before iteration continues after a pause. */
    void goOn();

    static Matches of(List<Document> documents) {
      var each = documents.iterator();
      return new Matches() {
        @Override
        public boolean hasNext() {
          return each.hasNext();
        }

        @Override
        public Document next() {
          return each.next();
        }

        @Override
        public void goOn() {}
      };
    }
  }
}
