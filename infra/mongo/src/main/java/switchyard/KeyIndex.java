package switchyard;

import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.KeyValue;
import de.bwaldvogel.mongo.backend.Missing;
import de.bwaldvogel.mongo.backend.Utils;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.exception.DuplicateKeyError;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/**
 * An index, unique or not: a map from sorted keys to the positions of documents. A document with a list in an indexed
 * field has one key for each element. In an index that is not unique each key ends in the document's position, so that
 * keys differ. The sort direction of a field is not stored: the map can be read from either end.
 */
final class KeyIndex extends Index<Long> {

  private final MVStore store;
  private final MVMap<byte[], Long> map;
  private final boolean unique;
  private final boolean isNew;
  private final List<String> fields;

  /** For each field, whether a document ever had a list there. Stored in the map under keys that no document has. */
  private final boolean[] hasLists;

  KeyIndex(MVStore store, String mapName, String name, List<IndexKey> keys, boolean sparse, boolean unique) {
    super(name, keys, sparse);
    this.store = store;
    this.isNew = !store.hasMap(mapName);
    this.map = Maps.index(store, mapName);
    this.unique = unique;
    this.fields = keys.stream().map(IndexKey::getKey).toList();
    this.hasLists = new boolean[fields.size()];
    for (int i = 0; i < hasLists.length; i += 1) hasLists[i] = map.containsKey(listMark(i));
  }

  List<String> fields() {
    return fields;
  }

  boolean holdsAll() {
    return !isSparse();
  }

  /** Whether a document may have several keys because of this field. */
  boolean hasLists(int field) {
    return hasLists[field];
  }

  MVMap<byte[], Long> map() {
    return map;
  }

  @Override
  public boolean isUnique() {
    return unique;
  }

  /** The keys of a document, in order, without its position. */
  List<byte[]> keysOf(Document document) {
    var values = new ArrayList<Object>(fields.size());
    boolean isAbsent = true;
    for (String field : fields) {
      Object value = valueOf(document, field);
      isAbsent &= value instanceof Missing;
      values.add(value);
    }
    if (isAbsent && isSparse()) return List.of();
    var keys = List.of(new SortedKey());
    for (int i = 0; i < values.size(); i += 1) keys = extended(keys, values.get(i), i);
    if (keys.size() == 1) return List.of(keys.get(0).toBytes());
    var sorted = new TreeSet<byte[]>(Arrays::compareUnsigned);
    for (SortedKey key : keys) sorted.add(key.toBytes());
    return List.copyOf(sorted);
  }

  private static Object valueOf(Document document, String field) {
    boolean isInside = field.contains(Utils.PATH_DELIMITER);
    return isInside ? Utils.getSubdocumentValueCollectionAware(document, field) : document.getOrMissing(field);
  }

  private List<SortedKey> extended(List<SortedKey> keys, Object value, int field) {
    if (!(value instanceof Collection<?> list) || list.isEmpty()) {
      for (SortedKey key : keys) key.append(value);
      return keys;
    }
    if (!hasLists[field]) {
      map.put(listMark(field), 0L);
      hasLists[field] = true;
    }
    if (list.size() == 1) {
      for (SortedKey key : keys) key.append(list.iterator().next());
      return keys;
    }
    var longer = new ArrayList<SortedKey>(keys.size() * list.size());
    for (SortedKey key : keys) for (Object one : list) longer.add(key.copy().append(one));
    return longer;
  }

  private static byte[] listMark(int field) {
    return new byte[] {0, (byte) field};
  }

  /**
   * @throws DuplicateKeyError if the index is unique and another document has one of the keys; none of the keys is
   *     added then.
   */
  void put(List<byte[]> keys, long position, Document document, MongoCollection<Long> collection) {
    for (byte[] key : keys) {
      if (!unique) map.put(withPosition(key, position), position);
      else if (map.putIfAbsent(key, position) != null) {
        for (byte[] before : keys.subList(0, keys.indexOf(key))) map.remove(before);
        throw duplicate(document, collection);
      }
    }
  }

  private void check(List<byte[]> keys, Document document, MongoCollection<Long> collection) {
    if (!unique) return;
    for (byte[] key : keys) if (map.containsKey(key)) throw duplicate(document, collection);
  }

  void take(List<byte[]> keys, long position) {
    for (byte[] key : keys) map.remove(unique ? key : withPosition(key, position));
  }

  private static byte[] withPosition(byte[] key, long position) {
    var whole = Arrays.copyOf(key, key.length + Long.BYTES);
    for (int i = 0; i < Long.BYTES; i += 1)
      whole[key.length + i] = (byte) (position >>> (Long.SIZE - Byte.SIZE * (i + 1)));
    return whole;
  }

  private DuplicateKeyError duplicate(Document document, MongoCollection<Long> collection) {
    var values = fields.stream().map(field -> Utils.getSubdocumentValue(document, field)).toList();
    return new DuplicateKeyError(this, collection, getKeys(), new KeyValue(values));
  }

  /** The position of the document; null if the index is not unique or has no key of it. */
  @Override
  public Long getPosition(Document document) {
    if (!unique) return null;
    for (byte[] key : keysOf(document)) {
      Long position = map.get(key);
      if (position != null) return position;
    }
    return null;
  }

  @Override
  public void checkAdd(Document document, MongoCollection<Long> collection) {
    check(keysOf(document), document, collection);
  }

  @Override
  public void add(Document document, Long position, MongoCollection<Long> collection) {
    put(keysOf(document), position, document, collection);
  }

  @Override
  public void checkUpdate(Document before, Document after, MongoCollection<Long> collection) {
    if (!unique) return;
    check(without(keysOf(after), keysOf(before)), after, collection);
  }

  @Override
  public void updateInPlace(Document before, Document after, Long position, MongoCollection<Long> collection) {
    var old = keysOf(before);
    var current = keysOf(after);
    take(without(old, current), position);
    put(without(current, old), position, after, collection);
  }

  private static List<byte[]> without(List<byte[]> keys, List<byte[]> others) {
    if (keys.size() == 1 && others.size() == 1)
      return Arrays.equals(keys.get(0), others.get(0)) ? List.of() : keys;
    var left = new TreeSet<byte[]>(Arrays::compareUnsigned);
    left.addAll(keys);
    others.forEach(left::remove);
    return List.copyOf(left);
  }

  @Override
  public Long remove(Document document) {
    throw new UnsupportedOperationException("the collection takes its documents out of its indexes");
  }

  /** The collection plans queries: {@link Scan}. */
  @Override
  public boolean canHandle(Document query) {
    return false;
  }

  @Override
  public Iterable<Long> getPositions(Document query) {
    throw new UnsupportedOperationException("the collection plans its queries");
  }

  @Override
  public long getCount() {
    long marks = 0;
    for (boolean has : hasLists) if (has) marks += 1;
    return map.sizeAsLong() - marks;
  }

  /** The base class asks whether to add existing documents. An index opened from the file already has them. */
  @Override
  public boolean isEmpty() {
    return isNew && map.isEmpty();
  }

  @Override
  public long getDataSize() {
    return getCount();
  }

  @Override
  public void drop() {
    store.removeMap(map);
  }
}
