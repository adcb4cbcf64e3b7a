package switchyard;

import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.backend.AbstractMongoBackend;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import io.netty.channel.Channel;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.h2.mvstore.MVStore;

/**
 * Commits the store before a write is acknowledged, and before a reader is told what could else be lost.
 *
 * <p>Writers take turns: a commit in the middle of another command could keep an entry of a unique index without
 * its document. Those that come while the file is written wait together, and the next commit is for all of them.
 * A reader that asks for what is on the disk of a majority ({@code readConcern: majority}) waits for the writes that
 * it may have seen; others wait for nobody.
 */
final class CommittingBackend extends AbstractMongoBackend {

  /** Commands, in lower case, that never change the store. Everything else is taken for a write. */
  private static final Set<String> READS =
      Set.of(
          "buildinfo", "collstats", "connectionstatus", "count", "dbstats", "distinct", "endsessions", "find",
          "getcmdlineopts", "getlog", "getmore", "hello", "hostinfo", "ismaster", "killcursors", "listcollections",
          "listdatabases", "listindexes", "ping", "serverstatus", "validate", "whatsmyuri");

  /** Of documents of one insert, and the like: as MongoDB has it. A driver cuts what is more into several. */
  private static final int WRITE_BATCH_MAX = 100_000;

  private final MVStore store;
  private final Object writing = new Object();
  private final Object committing = new Object();

  /** Writes that were begun; under the lock {@code writing} they have all ended. */
  private volatile long begun;

  /** So many of them are in the file, and the file is on the disk. */
  private volatile long committed;

  CommittingBackend(MVStore store) {
    this.store = store;
    StandInDatabase.names(store).forEach(this::resolveDatabase);
  }

  @Override
  protected MongoDatabase openOrCreateDatabase(String name) {
    return new StandInDatabase(name, store, getCursorRegistry());
  }

  @Override
  public Document handleMessage(MongoMessage message) {
    var command = message.getDocument();
    if (!isRead(command)) return write(message);
    var answer = super.handleMessage(message);
    if (isOfMajority(command)) awaitCommit(begun);
    return answer;
  }

  @Override
  public Document handleCommand(Channel channel, String database, String command, Document query) {
    var answer = super.handleCommand(channel, database, command, query);
    if (command.equalsIgnoreCase("ismaster")) answer.put("maxWriteBatchSize", WRITE_BATCH_MAX);
    return answer;
  }

  @Override
  public void close() {
    synchronized (committing) {
      synchronized (writing) {
        super.close();
        store.close();
      }
    }
  }

  private Document write(MongoMessage message) {
    long own = 0;
    try {
      synchronized (writing) {
        own = begun + 1;
        begun = own;
        return super.handleMessage(message);
      }
    } finally {
      // Also after a failure: what a failed command left behind can be seen, so it has to last.
      awaitCommit(own);
    }
  }

  /** Returns when so many writes are on the disk: by the commit of another, or by its own. */
  private void awaitCommit(long count) {
    if (committed >= count) return;
    synchronized (committing) {
      if (committed >= count) return;
      long now;
      synchronized (writing) {
        now = begun;
        store.commit();
      }
      store.sync(); // meanwhile others may write
      committed = now;
    }
  }

  private static String nameOf(Document command) {
    return command.keySet().iterator().next().toLowerCase(Locale.ROOT);
  }

  private static boolean isRead(Document command) {
    var name = nameOf(command);
    return READS.contains(name) || (name.equals("aggregate") && !writesItsResult(command));
  }

  private static boolean writesItsResult(Document aggregate) {
    return !(aggregate.get("pipeline") instanceof List<?> stages)
        || stages.stream()
            .anyMatch(stage -> stage instanceof Document one && (one.containsKey("$out") || one.containsKey("$merge")));
  }

  /** What goes on with an answer does not repeat what the query asked for: it is taken for one that did. */
  private static boolean isOfMajority(Document command) {
    if (nameOf(command).equals("getmore")) return true;
    return command.get("readConcern") instanceof Document concern && "majority".equals(concern.get("level"));
  }
}
