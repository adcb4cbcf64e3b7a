package switchyard;

import java.util.Iterator;
import org.h2.mvstore.Cursor;
import org.h2.mvstore.MVMap;

/** Where documents are, one after the other. */
interface Positions extends Iterator<Long> {

  /**
   * Called before it is gone on with after a pause. What is there by now is read then: of a state that is long past,
   * the file may not have the pages any more.
   */
  void goOn();

  /** Of all documents, in the order in which they came, or the other way round. */
  static Positions all(MVMap<Long, byte[]> documents, boolean isReverse) {
    return new Positions() {
      private Cursor<Long, byte[]> cursor = documents.cursor(null, null, isReverse);
      private Long last;

      @Override
      public boolean hasNext() {
        return cursor.hasNext();
      }

      @Override
      public Long next() {
        last = cursor.next();
        return last;
      }

      @Override
      public void goOn() {
        if (last == null) return;
        long next = isReverse ? last - 1 : last + 1;
        cursor = documents.cursor(next, null, isReverse);
      }
    };
  }
}
