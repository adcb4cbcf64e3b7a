package switchyard;

import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.backend.AbstractMongoCollection;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.DocumentWithPosition;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.bson.ObjectId;
import de.bwaldvogel.mongo.exception.InvalidIdFieldError;
import de.bwaldvogel.mongo.exception.MongoServerError;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/**
 * A collection: its documents by position, and indexes that find positions. The backend runs one writer at a time.
 * Readers see the current state and get documents of their own.
 */
final class StandInCollection extends AbstractMongoCollection<Long> {

  private static final String ID = "_id";
  private static final Document ALL = new Document();

  private final MVMap<Long, byte[]> documents;
  private long lastPosition;
  private volatile List<KeyIndex> keyIndexes = List.of();

  StandInCollection(
      MongoDatabase database, String name, CollectionOptions options, CursorRegistry cursors, MVStore store) {
    super(database, name, options, cursors);
    this.documents = Maps.documents(store, database.getDatabaseName() + "." + name);
    this.lastPosition = Objects.requireNonNullElse(documents.lastKey(), 0L);
  }

  @Override
  public void addIndex(Index<Long> index) {
    try {
      super.addIndex(index);
    } catch (RuntimeException error) {
      index.drop(); // a partial index would be taken for a complete one
      throw error;
    }
    indexesChanged();
  }

  @Override
  public void dropIndex(String name) {
    super.dropIndex(name);
    indexesChanged();
  }

  private void indexesChanged() {
    keyIndexes = getIndexes().stream().map(KeyIndex.class::cast).toList();
  }

  @Override
  public List<Document> insertDocuments(List<Document> documents, boolean isOrdered) {
    if (!(documents instanceof RawDocuments raw)) return super.insertDocuments(documents, isOrdered);
    var errors = new ArrayList<Document>();
    for (int i = 0; i < raw.size() && (errors.isEmpty() || !isOrdered); i += 1)
      try {
        addRaw(raw.bytes(i));
      } catch (MongoServerError error) {
        errors.add(errorOf(i, error));
      }
    return errors;
  }

  private static Document errorOf(int index, MongoServerError error) {
    var said = new Document("index", index);
    said.append("errmsg", error.getMessageWithoutErrorCode()).append("code", error.getCode());
    said.putIfNotNull("codeName", error.getCodeName());
    return said;
  }

  private void addRaw(byte[] bytes) {
    var document = Bson.decode(bytes);
    if (document.containsKey(ID)) add(document, bytes);
    else addDocument(document);
  }

  @Override
  public void addDocument(Document document) {
    if (!document.containsKey(ID) && ID.equals(getIdField())) document.put(ID, new ObjectId());
    add(document, Bson.encode(document));
  }

  private void add(Document document, byte[] bytes) {
    if (document.get(ID) instanceof Collection) throw new InvalidIdFieldError("The '_id' value cannot be of type array");
    long position = lastPosition + 1;
    var filled = new ArrayList<KeyIndex>(keyIndexes.size());
    try {
      for (KeyIndex index : keyIndexes) {
        index.put(index.keysOf(document), position, document, this);
        filled.add(index);
      }
    } catch (RuntimeException error) {
      for (KeyIndex index : filled) index.take(index.keysOf(document), position);
      throw error;
    }
    add(bytes);
  }

  @Override
  protected Long addDocumentInternal(Document document) {
    return add(Bson.encode(document));
  }

  private long add(byte[] bytes) {
    lastPosition += 1;
    documents.put(lastPosition, bytes);
    return lastPosition;
  }

  @Override
  public void removeDocument(Document document) {
    Long position = keyIndexes.isEmpty() ? findDocumentPosition(document) : byId(document);
    if (position == null) return;
    for (KeyIndex index : keyIndexes) index.take(index.keysOf(document), position);
    removeDocument(position);
  }

  private Long byId(Document document) {
    for (KeyIndex index : keyIndexes) if (index.fields().equals(List.of(ID))) return index.getPosition(document);
    throw new IllegalStateException("a collection without an index of ids: " + getFullName());
  }

  @Override
  protected void removeDocument(Long position) {
    documents.remove(position);
  }

  @Override
  protected void handleUpdate(Long position, Document before, Document after) {
    documents.put(position, Bson.encode(after));
  }

  @Override
  protected Document getDocument(Long position) {
    var bytes = documents.get(position);
    return bytes == null ? null : Bson.decode(bytes);
  }

  @Override
  public int count() {
    return documents.size();
  }

  @Override
  public boolean isEmpty() {
    return documents.isEmpty();
  }

  /** The size is computed on request. */
  @Override
  protected boolean tracksDataSize() {
    return false;
  }

  @Override
  protected void updateDataSize(int delta) {
    throw new UnsupportedOperationException("its size is counted when it is asked for");
  }

  @Override
  protected int getDataSize() {
    long bytes = 0;
    for (var all = documents.cursor(null); all.hasNext(); ) {
      all.next();
      bytes += all.getValue().length;
    }
    return (int) Math.min(bytes, Integer.MAX_VALUE);
  }

  @Override
  protected Stream<DocumentWithPosition<Long>> streamAllDocumentsWithPosition() {
    Iterable<Long> positions = () -> documents.keyIterator(null);
    return StreamSupport.stream(positions.spliterator(), false)
        .map(position -> new DocumentWithPosition<>(getDocument(position), position));
  }

  @Override
  protected QueryResult queryDocuments(
      Document query, Document orderBy, int skip, int limit, int batchSize, Document fields) {
    var scan = Scan.best(keyIndexes, query, orderBy);
    var positions = scan == null ? Positions.all(documents, isNaturalDescending(orderBy)) : scan.positions();
    Predicate<Document> isWanted =
        scan != null && scan.isExact(query) ? scan::holds : document -> documentMatchesQuery(document, query);
    Answer.Matches matches = new Found(positions, isWanted, scan != null && scan.mayRepeat());
    var comparator = scan != null && scan.isInOrder() ? null : deriveComparator(orderBy);
    if (comparator != null) matches = sorted(matches, comparator);
    var answer = new Answer(cursorRegistry.generateCursorId(), matches, skip, limit, projection(fields));
    var first = answer.takeDocuments(batchSize > 0 ? batchSize : Integer.MAX_VALUE);
    if (answer.isEmpty()) return new QueryResult(first);
    cursorRegistry.add(answer);
    return new QueryResult(first, answer);
  }

  private static Answer.Matches sorted(Answer.Matches matches, Comparator<Document> comparator) {
    var all = new ArrayList<Document>();
    matches.forEachRemaining(all::add);
    all.sort(comparator);
    return Answer.Matches.of(all);
  }

  private UnaryOperator<List<Document>> projection(Document fields) {
    if (fields == null || fields.isEmpty()) return UnaryOperator.identity();
    return found -> matchDocumentsFromStream(ALL, found.stream(), 0, 0, 0, null, fields).collectDocuments();
  }

  @Override
  protected QueryResult matchDocuments(
      Document query, Document orderBy, int skip, int limit, int batchSize, Document fields) {
    return queryDocuments(query, orderBy, skip, limit, batchSize, fields);
  }

  /** The documents at these positions that still exist and match. */
  private final class Found implements Answer.Matches {

    private final Positions positions;
    private final Predicate<Document> isWanted;
    private final Set<Long> seen;
    private Document next;

    Found(Positions positions, Predicate<Document> isWanted, boolean mayRepeat) {
      this.positions = positions;
      this.isWanted = isWanted;
      this.seen = mayRepeat ? new HashSet<>() : null;
    }

    @Override
    public boolean hasNext() {
      while (next == null && positions.hasNext()) {
        var position = positions.next();
        if (seen != null && !seen.add(position)) continue;
        var document = getDocument(position);
        if (document != null && isWanted.test(document)) next = document;
      }
      return next != null;
    }

    @Override
    public Document next() {
      if (!hasNext()) throw new NoSuchElementException();
      var found = next;
      next = null;
      return found;
    }

    @Override
    public void goOn() {
      positions.goOn();
    }
  }
}
