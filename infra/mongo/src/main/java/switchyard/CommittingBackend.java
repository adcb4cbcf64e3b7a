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
import org.h2.mvstore.MVStoreException;

/**
 * Commits the store before a write is acknowledged, and before a majority read is answered.
 *
 * <p>Writers run one at a time: a commit in the middle of another command could persist an entry of a unique index
 * without its document. Writers that arrive during a commit share the next one. A read with {@code readConcern:
 * majority} waits for the commit of the writes that it may have seen; other reads do not wait.
 */
final class CommittingBackend extends AbstractMongoBackend {

  /** Commands, in lower case, that never change the store. All other commands count as writes. */
  private static final Set<String> READS =
      Set.of(
          "buildinfo", "collstats", "connectionstatus", "count", "dbstats", "distinct", "endsessions", "find",
          "getcmdlineopts", "getlog", "getmore", "hello", "hostinfo", "ismaster", "killcursors", "listcollections",
          "listdatabases", "listindexes", "ping", "serverstatus", "validate", "whatsmyuri");

  /** Most operations of one write command, as in MongoDB. Drivers split larger writes. */
  private static final int WRITE_BATCH_MAX = 100_000;

  private final MVStore store;
  private final Object writing = new Object();
  private final Object committing = new Object();

  /** Number of writes started. Under the lock {@code writing} all of them have ended. */
  private volatile long begun;

  /** Number of writes that are on the disk. */
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
      // Also after a failure: readers can see what a failed command left, so it must be durable.
      awaitCommit(own);
    }
  }

  /** Returns when this number of writes is on the disk, committed by this thread or by another. */
  private void awaitCommit(long count) {
    if (committed >= count) return;
    synchronized (committing) {
      if (committed >= count) return;
      long now;
      try {
        synchronized (writing) {
          now = begun;
          store.commit();
        }
        store.sync(); // other writers may continue meanwhile
      } catch (MVStoreException error) {
        throw ended(error);
      }
      committed = now;
    }
  }

  /** A failed commit (a full disk, as a rule) closes the store for good; only a new process can open it again. */
  private static Error ended(MVStoreException error) {
    System.err.println("the file cannot be written; this process ends: " + error.getMessage());
    Runtime.getRuntime().halt(1); // no shutdown hook: it would wait for writers that wait here
    throw new AssertionError(error);
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

  /** A getMore does not repeat the read concern of its query, so it is treated as a majority read. */
  private static boolean isOfMajority(Document command) {
    if (nameOf(command).equals("getmore")) return true;
    return command.get("readConcern") instanceof Document concern && "majority".equals(concern.get("level"));
  }
}
