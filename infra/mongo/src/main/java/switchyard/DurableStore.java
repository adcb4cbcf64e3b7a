package switchyard;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreException;

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

  /** Nothing reads the copy before it is complete, so it may commit at any time, which bounds memory; KB. */
  private static final int COPY_BUFFER_KB = 16 << 10;

  private DurableStore() {}

  static MVStore open(Path file) throws IOException {
    var unfinished = file.resolveSibling(file.getFileName() + ".unfinished");
    Files.deleteIfExists(unfinished);
    var store = openAsItIs(file, 0);
    if (!isWorthCompacting(file, store)) return ready(store);
    store.close();
    try {
      replace(file, unfinished);
    } catch (MVStoreException error) {
      System.err.println("the file could not be compacted: " + error.getMessage());
      Files.deleteIfExists(unfinished);
    }
    return ready(openAsItIs(file, 0));
  }

  private static MVStore ready(MVStore store) {
    store.commit();
    store.sync();
    return store;
  }

  private static void replace(Path file, Path unfinished) throws IOException {
    try (var old = new MVStore.Builder().fileName(file.toString()).readOnly().open();
        var anew = openAsItIs(unfinished, COPY_BUFFER_KB)) {
      Maps.copy(old, anew);
      ready(anew);
    }
    Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  /** @param bufferKb unsaved KB that trigger a commit; 0: never, because it could be in the middle of a command */
  private static MVStore openAsItIs(Path file, int bufferKb) {
    var builder = new MVStore.Builder().fileName(file.toString()).cacheSize(CACHE_MB);
    var store = builder.autoCommitDisabled().autoCommitBufferSize(bufferKb).open();
    store.setVersionsToKeep(0);
    return store;
  }

  private static boolean isWorthCompacting(Path file, MVStore store) {
    var bytes = file.toFile().length();
    return bytes >= COMPACT_FILE_BYTES_MIN && store.getFileStore().getChunksFillRate() <= COMPACT_FILL_RATE_MAX;
  }
}
