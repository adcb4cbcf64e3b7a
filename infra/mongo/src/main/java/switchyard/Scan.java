package switchyard;

import de.bwaldvogel.mongo.backend.Missing;
import de.bwaldvogel.mongo.bson.Document;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.TreeSet;
import org.h2.mvstore.Cursor;

/**
 * The ranges of an index that contain a query's documents: equality on the first fields, a range on the next field. If
 * the answer is sorted by the fields after those with equality, the index is read in that order.
 */
final class Scan {

  /** Most ranges of one scan. With more combinations of values, the scan uses fewer fields of the index. */
  private static final int STRETCHES_MAX = 20_000;

  /** Worth of a lookup by a complete unique key: it beats every other index. */
  private static final int FOUND_AT_ONCE = 1_000;

  private static final int FOR_EACH_EQUAL_FIELD = 4;
  private static final int FOR_A_RANGE = 2;
  private static final int FOR_THE_ORDER = 1;

  private final KeyIndex index;
  private final List<byte[]> beginnings;
  private final Conditions.Range range;
  private final boolean isWhole;
  private final Order order;
  private final int worth;

  private enum Order {
    NONE,
    ASCENDING,
    DESCENDING
  }

  private Scan(KeyIndex index, Conditions conditions, Document orderBy) {
    this.index = index;
    var fields = index.fields();
    var keys = List.of(new SortedKey());
    int equal = 0;
    for (; equal < fields.size(); equal += 1) {
      var values = conditions.equal(fields.get(equal));
      if (values == null || (long) keys.size() * values.size() > STRETCHES_MAX) break;
      keys = combined(keys, values);
    }
    this.beginnings = inOrder(keys);
    this.isWhole = equal == fields.size();
    this.range = isWhole ? null : usable(conditions.range(fields.get(equal)), equal);
    this.order = beginnings.size() == 1 ? orderOf(orderBy, equal) : Order.NONE;
    this.worth =
        (isWhole && index.isUnique() ? FOUND_AT_ONCE : 0)
            + equal * FOR_EACH_EQUAL_FIELD
            + (range == null ? 0 : FOR_A_RANGE)
            + (order == Order.NONE ? 0 : FOR_THE_ORDER);
  }

  /** The scan of the best index for a query; null if no index helps. */
  static Scan best(List<KeyIndex> indexes, Document query, Document orderBy) {
    if (query.isEmpty() && (orderBy == null || orderBy.isEmpty())) return null;
    var conditions = Conditions.of(query);
    Scan best = null;
    for (KeyIndex index : indexes) {
      if (!mayHoldAll(index, conditions)) continue;
      var scan = new Scan(index, conditions, orderBy);
      if (scan.worth > (best == null ? 0 : best.worth)) best = scan;
    }
    return best;
  }

  /** A sparse index contains only documents that have a field of it. Usable if the query needs a value there. */
  private static boolean mayHoldAll(KeyIndex index, Conditions conditions) {
    if (index.holdsAll()) return true;
    var first = index.fields().get(0);
    var values = conditions.equal(first);
    if (values == null) return conditions.range(first) != null;
    return values.stream().allMatch(Missing::isNeitherNullNorMissing);
  }

  /** Whether the scan returns documents in the order that the query asks for. */
  boolean isInOrder() {
    return order != Order.NONE;
  }

  /** Whether {@link #holds} checks everything that the query asks for. */
  boolean isExact(Document query) {
    return isWhole
        && !mayRepeat()
        && Set.copyOf(index.fields()).equals(query.keySet())
        && query.values().stream().allMatch(Scan::isOneCondition);
  }

  /** Whether the document still has one of the keys. It may have changed since the index was read. */
  boolean holds(Document document) {
    return index.keysOf(document).stream()
        .anyMatch(key -> Collections.binarySearch(beginnings, key, Arrays::compareUnsigned) >= 0);
  }

  private static boolean isOneCondition(Object wanted) {
    return !(wanted instanceof Document operators) || operators.keySet().equals(Set.of("$in"));
  }

  /** Whether the scan may return a document more than once: once for each element of a list. */
  boolean mayRepeat() {
    for (int field = 0; field < index.fields().size(); field += 1) if (index.hasLists(field)) return true;
    return false;
  }

  private static List<SortedKey> combined(List<SortedKey> keys, List<Object> values) {
    if (values.size() == 1) {
      for (SortedKey key : keys) key.append(values.get(0));
      return keys;
    }
    var longer = new ArrayList<SortedKey>(keys.size() * values.size());
    for (SortedKey key : keys) for (Object value : values) longer.add(key.copy().append(value));
    return longer;
  }

  private static List<byte[]> inOrder(List<SortedKey> keys) {
    if (keys.size() == 1) return List.of(keys.get(0).toBytes());
    var sorted = new TreeSet<byte[]>(Arrays::compareUnsigned);
    for (SortedKey key : keys) sorted.add(key.toBytes());
    return List.copyOf(sorted);
  }

  /** In a list, different elements may satisfy the two bounds, so only one bound narrows the range then. */
  private Conditions.Range usable(Conditions.Range wanted, int field) {
    if (wanted == null || wanted.lower() == null || !index.hasLists(field)) return wanted;
    return new Conditions.Range(wanted.lower(), null);
  }

  private Order orderOf(Document orderBy, int equal) {
    if (orderBy == null || orderBy.isEmpty()) return Order.NONE;
    Order all = null;
    int next = equal;
    for (var entry : orderBy.entrySet()) {
      if (index.fields().subList(0, equal).contains(entry.getKey())) continue; // equal in all documents
      if (next >= index.fields().size() || !index.fields().get(next).equals(entry.getKey())) return Order.NONE;
      if (index.hasLists(next) || !(entry.getValue() instanceof Number direction)) return Order.NONE;
      var one = direction.intValue() < 0 ? Order.DESCENDING : Order.ASCENDING;
      if (all != null && all != one) return Order.NONE;
      all = one;
      next += 1;
    }
    return all == null ? Order.ASCENDING : all;
  }

  /** Positions of the documents, in the order of the scan. */
  Positions positions() {
    if (isWhole && index.isUnique()) return new Found();
    return new Stretches();
  }

  /** Positions looked up by complete unique keys. */
  private final class Found implements Positions {

    private final Iterator<byte[]> keys = beginnings.iterator();
    private Long next;

    @Override
    public boolean hasNext() {
      while (next == null && keys.hasNext()) next = index.map().get(keys.next());
      return next != null;
    }

    @Override
    public Long next() {
      if (!hasNext()) throw new NoSuchElementException();
      var found = next;
      next = null;
      return found;
    }

    @Override
    public void goOn() {}
  }

  private final class Stretches implements Positions {

    private final boolean isDescending = order == Order.DESCENDING;
    private final Iterator<byte[]> following = beginnings.iterator();
    private Cursor<byte[], Long> cursor;
    private byte[] end;
    private byte[] last;

    @Override
    public boolean hasNext() {
      while (cursor == null || !cursor.hasNext()) {
        if (!following.hasNext()) return false;
        open(following.next());
      }
      return true;
    }

    @Override
    public Long next() {
      if (!hasNext()) throw new NoSuchElementException();
      last = cursor.next();
      return cursor.getValue();
    }

    @Override
    public void goOn() {
      if (last == null) return;
      cursor = index.map().cursor(last, end, isDescending);
      var again = index.map().cursor(last, end, isDescending);
      if (again.hasNext() && Arrays.equals(again.next(), last)) cursor = again; // skips what was returned
    }

    private void open(byte[] beginning) {
      byte[] low = lowest(beginning);
      byte[] high = highest(beginning);
      last = null;
      end = isDescending ? low : high;
      cursor = index.map().cursor(isDescending ? high : low, end, isDescending);
    }

    private byte[] lowest(byte[] beginning) {
      if (range == null) return beginning;
      var key = new SortedKey().appendAll(beginning);
      if (range.lower() != null) return key.append(range.lower()).toBytes();
      return key.appendTypeOf(range.upper()).toBytes();
    }

    private byte[] highest(byte[] beginning) {
      var key = new SortedKey().appendAll(beginning);
      if (range == null) return key.appendByte(SortedKey.PAST_ALL).toBytes();
      if (range.upper() == null) return key.appendPastTypeOf(range.lower()).toBytes();
      return key.append(range.upper()).appendByte(SortedKey.PAST_ALL).toBytes();
    }
  }
}
