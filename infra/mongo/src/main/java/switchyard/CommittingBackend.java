package switchyard;

import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import java.util.Locale;
import java.util.Set;
import org.h2.mvstore.MVStore;

/**
 * Commits the store before a write is acknowledged. H2's own background commit runs up to a second late, and an
 * acknowledged write of that second is lost with the process.
 *
 * <p>Writers take turns: a commit in the middle of another command could keep an entry of a unique index without
 * its document. Readers wait for nobody.
 */
final class CommittingBackend extends H2Backend {

  /** Commands, in lower case, that never change the store. Everything else is taken for a write. */
  private static final Set<String> READS =
      Set.of(
          "buildinfo", "collstats", "connectionstatus", "count", "dbstats", "distinct", "endsessions", "find",
          "getcmdlineopts", "getlog", "getmore", "hello", "hostinfo", "ismaster", "killcursors", "listcollections",
          "listdatabases", "listindexes", "ping", "serverstatus", "validate", "whatsmyuri");

  private final Object writing = new Object();

  CommittingBackend(MVStore store) {
    super(store);
  }

  @Override
  public Document handleMessage(MongoMessage message) {
    var command = message.getDocument();
    if (isRead(command)) return super.handleMessage(message);
    synchronized (writing) {
      try {
        return super.handleMessage(message);
      } finally {
        // Also after a failure: what a failed command left behind can be seen, so it has to last.
        commitToDisk(command);
      }
    }
  }

  @Override
  public void close() {
    synchronized (writing) {
      super.close();
    }
  }

  private static boolean isRead(Document command) {
    return READS.contains(command.keySet().iterator().next().toLowerCase(Locale.ROOT));
  }

  /** Into the file, which outlives the process; with {@code j: true} onto the disk, which outlives the machine. */
  private void commitToDisk(Document command) {
    getMvStore().commit();
    if (command.get("writeConcern") instanceof Document concern && Boolean.TRUE.equals(concern.get("j"))) {
      getMvStore().sync();
    }
  }
}
