package switchyard;

import java.nio.file.Path;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreException;
import org.h2.mvstore.MVStoreTool;

/**
 * Opens the H2 file that holds all databases. Automatic commits are off: {@link CommittingBackend} decides when to
 * commit.
 *
 * <p>Each commit appends a chunk, and a chunk stays while a part of it is in use, so the file grows with the number of
 * writes. Opening compacts the file: current entries are copied to a new file, which replaces the old one by a rename.
 * A kill at any moment leaves one of the two complete. Without room for the copy the file stays as it is.
 */
final class DurableStore {

  /** Smaller files are not compacted, bytes. */
  private static final long COMPACT_FILE_BYTES_MIN = 16L << 20;

  /** Files with a higher fill rate are not compacted, percent. */
  private static final int COMPACT_FILL_RATE_MAX = 60;

  /** Cache of recently read pages, MB. */
  private static final int CACHE_MB = 48;

  private DurableStore() {}

  static MVStore open(Path file) {
    var name = file.toString();
    MVStoreTool.compactCleanUp(name);
    var store = openAsItIs(name);
    if (!isWorthCompacting(file, store)) return ready(store);
    store.close();
    try {
      MVStoreTool.compact(name, false);
    } catch (MVStoreException error) {
      System.err.println("the file could not be compacted: " + error.getMessage());
      MVStoreTool.compactCleanUp(name);
    }
    return ready(openAsItIs(name));
  }

  private static MVStore ready(MVStore store) {
    store.commit();
    store.sync();
    return store;
  }

  /** Never commits by itself: that could be in the middle of a command. */
  private static MVStore openAsItIs(String name) {
    var builder = new MVStore.Builder().fileName(name).cacheSize(CACHE_MB);
    var store = builder.autoCommitDisabled().autoCommitBufferSize(0).open();
    store.setVersionsToKeep(0);
    return store;
  }

  private static boolean isWorthCompacting(Path file, MVStore store) {
    var bytes = file.toFile().length();
    return bytes >= COMPACT_FILE_BYTES_MIN && store.getFileStore().getChunksFillRate() <= COMPACT_FILL_RATE_MAX;
  }
}
