package switchyard;

import java.nio.file.Path;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreTool;

/**
 * Opens the H2 file that holds all databases. Nothing commits by itself: {@link CommittingBackend} decides when.
 *
 * <p>Each commit appends a chunk, and a chunk of which a little is still in use stays, so the file grows with the
 * number of writes. It is made small again when it is opened, by copying what lives into a new file that takes
 * the old one's place by a rename: a kill at any moment leaves one of the two whole.
 */
final class DurableStore {

  /** A smaller file is not worth the copying, bytes. */
  private static final long COMPACT_FILE_BYTES_MIN = 16L << 20;

  /** A file that is used better than this is left as it is, percent. */
  private static final int COMPACT_FILL_RATE_MAX = 60;

  private DurableStore() {}

  static MVStore open(Path file) {
    var name = file.toAbsolutePath().toString();
    MVStoreTool.compactCleanUp(name);
    var store = openAsItIs(name);
    if (!isWorthCompacting(file, store)) return store;
    store.close(0);
    MVStoreTool.compact(name, false);
    return openAsItIs(name);
  }

  private static MVStore openAsItIs(String name) {
    var store = new MVStore.Builder().fileName(name).autoCommitDisabled().open();
    store.setVersionsToKeep(0);
    return store;
  }

  private static boolean isWorthCompacting(Path file, MVStore store) {
    var bytes = file.toFile().length();
    return bytes >= COMPACT_FILE_BYTES_MIN && store.getFileStore().getChunksFillRate() <= COMPACT_FILL_RATE_MAX;
  }
}
