package switchyard;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.function.BiConsumer;
import org.h2.mvstore.MVStore;

/**
 * Opens the H2 file that holds all databases. Nothing commits by itself: {@link CommittingBackend} decides when.
 *
 * <p>Each commit appends a chunk, and a chunk of which a little is still in use stays, so the file grows with the
 * number of writes. It is made small again when it is opened, by copying what lives into a new file that takes
 * the old one's place by a rename: a kill at any moment leaves one of the two whole. A file of the older format is
 * brought to that of today in the same way.
 */
final class DurableStore {

  /** A smaller file is not worth the copying, bytes. */
  private static final long COMPACT_FILE_BYTES_MIN = 16L << 20;

  /** A file that is used better than this is left as it is, percent. */
  private static final int COMPACT_FILL_RATE_MAX = 60;

  /** Of the pages that were read last, MB. */
  private static final int CACHE_MB = 48;

  /** A file that nobody reads before it is whole may be committed at any time: its memory is bounded so, KB. */
  private static final int COPY_BUFFER_KB = 16 << 10;

  /** What is in the file: 0 is that of mongo-java-server, Java objects; 2 is that of {@link Maps}. */
  private static final int FORMAT = 2;

  private DurableStore() {}

  static MVStore open(Path file) throws IOException {
    var unfinished = file.resolveSibling(file.getFileName() + ".unfinished");
    Files.deleteIfExists(unfinished);
    if (formatOf(file) < FORMAT && Files.exists(file)) replace(file, unfinished, OldFormat::copy);
    var store = openAsItIs(file, 0);
    if (store.getStoreVersion() > FORMAT) {
      store.closeImmediately();
      throw new IOException(file + " was written by a later release (format " + store.getStoreVersion() + ")");
    }
    if (!isWorthCompacting(file, store)) return ready(store);
    store.close();
    replace(file, unfinished, Maps::copy);
    return ready(openAsItIs(file, 0));
  }

  private static MVStore ready(MVStore store) {
    store.setStoreVersion(FORMAT);
    store.commit();
    store.sync();
    return store;
  }

  private static int formatOf(Path file) throws IOException {
    if (!Files.exists(file) || Files.size(file) == 0) return FORMAT; // it was killed before it had written anything
    try (var store = new MVStore.Builder().fileName(file.toString()).readOnly().open()) {
      return store.getMapNames().isEmpty() ? FORMAT : store.getStoreVersion();
    }
  }

  private static void replace(Path file, Path unfinished, BiConsumer<MVStore, MVStore> copy) throws IOException {
    try (var old = new MVStore.Builder().fileName(file.toString()).readOnly().open();
        var anew = openAsItIs(unfinished, COPY_BUFFER_KB)) {
      copy.accept(old, anew);
      ready(anew);
    }
    Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  /** @param bufferKb when so much waits to be written it is committed; 0: never, as it could be in the middle of a command. */
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
