package switchyard;

import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.bson.Document;
import java.util.ArrayList;
import java.util.List;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/**
 * Reads what earlier releases wrote: maps of serialized Java objects, by names that begin with {@code databases.}.
 * Their indexes are built anew.
 */
final class OldFormat {

  private static final String PREFIX = "databases.";
  private static final String NAMESPACES = ".system.namespaces";
  private static final String INDEXES = ".system.indexes";
  private static final int DOCUMENTS_PER_COMMIT = 2_000;

  private OldFormat() {}

  /** All databases, into an empty store. */
  static void copy(MVStore old, MVStore into) {
    for (String map : List.copyOf(old.getMapNames())) {
      if (!map.startsWith(PREFIX) || !map.endsWith(NAMESPACES)) continue;
      copyDatabase(map.substring(PREFIX.length(), map.length() - NAMESPACES.length()), old, into);
      into.commit();
    }
  }

  private static void copyDatabase(String name, MVStore old, MVStore into) {
    var database = new StandInDatabase(name, into, new CursorRegistry());
    var indexes = documents(old, name + INDEXES);
    for (Document namespace : documents(old, name + NAMESPACES)) {
      var full = (String) namespace.get("name");
      var collection = full.substring(name.length() + 1);
      if (collection.startsWith("system.")) continue;
      var own = new ArrayList<Document>();
      for (Document index : indexes) if (full.equals(index.get("ns"))) own.add(index);
      var count = new int[1];
      database.adopt(
          collection,
          documents(old, full),
          own,
          () -> {
            count[0] += 1;
            if (count[0] % DOCUMENTS_PER_COMMIT == 0) into.commit();
          });
    }
  }

  private static Iterable<Document> documents(MVStore store, String namespace) {
    MVMap<Object, Document> map = store.openMap(PREFIX + namespace);
    return map.values();
  }
}
