package switchyard;

import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.backend.AbstractSynchronizedMongoDatabase;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.oplog.Oplog;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.h2.mvstore.MVStore;

/** A database in the store. Two collections of the database describe its collections and indexes. */
final class StandInDatabase extends AbstractSynchronizedMongoDatabase<Long> {

  private static final String NAMESPACES = "system.namespaces";

  private final MVStore store;

  StandInDatabase(String name, MVStore store, CursorRegistry cursors) {
    super(name, cursors);
    this.store = store;
    initializeNamespacesAndIndexes();
  }

  /** Names of the databases in the store. */
  static Set<String> names(MVStore store) {
    var end = "." + NAMESPACES;
    return store.getMapNames().stream()
        .filter(name -> name.startsWith(Maps.DOCUMENTS) && name.endsWith(end))
        .map(name -> name.substring(Maps.DOCUMENTS.length(), name.length() - end.length()))
        .collect(Collectors.toSet());
  }

  @Override
  protected MongoCollection<Long> openOrCreateCollection(String name, CollectionOptions options) {
    return new StandInCollection(this, name, options, cursorRegistry, store);
  }

  @Override
  protected Index<Long> openOrCreateUniqueIndex(
      String collection, String name, List<IndexKey> keys, boolean sparse) {
    return openOrCreateIndex(collection, name, keys, sparse, true);
  }

  @Override
  protected Index<Long> openOrCreateSecondaryIndex(
      String collection, String name, List<IndexKey> keys, boolean sparse) {
    return openOrCreateIndex(collection, name, keys, sparse, false);
  }

  private KeyIndex openOrCreateIndex(
      String collection, String name, List<IndexKey> keys, boolean sparse, boolean unique) {
    var mapName = Maps.indexName(getFullCollectionNamespace(collection), name);
    return new KeyIndex(store, mapName, name, keys, sparse, unique);
  }

  @Override
  public void dropCollection(String name, Oplog oplog) {
    super.dropCollection(name, oplog);
    store.removeMap(Maps.documents(store, getFullCollectionNamespace(name)));
  }

  @Override
  public void moveCollection(MongoDatabase from, MongoCollection<?> collection, String newName) {
    throw new UnsupportedOperationException("the stand-in renames no collections");
  }

  @Override
  protected long getStorageSize() {
    return store.getFileStore().size();
  }

  @Override
  protected long getFileSize() {
    return getStorageSize();
  }
}
