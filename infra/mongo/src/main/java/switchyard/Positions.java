package switchyard;

import java.util.Iterator;
import org.h2.mvstore.Cursor;
import org.h2.mvstore.MVMap;

/** Iterates over positions of documents. */
interface Positions extends Iterator<Long> {

  /**
   * Called before iteration continues after a pause. Reopens the cursor on the current state, because the file may no
   * longer have the pages of the old state.
   */
  void goOn();

  /** Positions of all documents, in insertion order or reversed. */
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
