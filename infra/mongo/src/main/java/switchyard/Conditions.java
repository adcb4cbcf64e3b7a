package switchyard;

import de.bwaldvogel.mongo.backend.Missing;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.bson.ObjectId;
import java.time.Instant;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The conditions of a query that an index can use. Every document that matches the query satisfies them. The reverse
 * does not hold: the rest of the query is checked on each document.
 */
final class Conditions {

  /** Inclusive bounds of a field; null: no bound. */
  record Range(Object lower, Object upper) {}

  private final Map<String, List<Object>> equal = new HashMap<>();
  private final Map<String, Range> ranges = new HashMap<>();

  private Conditions() {}

  static Conditions of(Document query) {
    var conditions = new Conditions();
    conditions.addAll(query);
    return conditions;
  }

  /** The values that the field may have; null: no equality condition. */
  List<Object> equal(String field) {
    return equal.get(field);
  }

  /** The bounds of the field; null: no range condition. */
  Range range(String field) {
    return ranges.get(field);
  }

  private void addAll(Document query) {
    query.forEach(
        (field, wanted) -> {
          if (field.equals("$and") && wanted instanceof Collection<?> all) {
            for (Object one : all) if (one instanceof Document part) addAll(part);
          } else if (!field.startsWith("$")) {
            add(field, wanted);
          }
        });
  }

  private void add(String field, Object wanted) {
    if (wanted instanceof Document operators && hasOperators(operators)) {
      operators.forEach((operator, operand) -> addOperator(field, operator, operand));
    } else if (isPlain(wanted)) {
      equal.putIfAbsent(field, listOf(wanted));
    }
  }

  private void addOperator(String field, String operator, Object operand) {
    switch (operator) {
      case "$eq" -> {
        if (isPlain(operand)) equal.putIfAbsent(field, listOf(operand));
      }
      case "$in" -> {
        if (operand instanceof Collection<?> values && values.stream().allMatch(Conditions::isPlain))
          equal.putIfAbsent(field, withoutNulls(values));
      }
      case "$gt", "$gte" -> {
        if (isOrdered(operand)) bound(field, new Range(operand, null));
      }
      case "$lt", "$lte" -> {
        if (isOrdered(operand)) bound(field, new Range(null, operand));
      }
      default -> {}
    }
  }

  private static List<Object> listOf(Object value) {
    return Collections.singletonList(value);
  }

  /** Replaces null by the value of an absent field, because both have the same key. */
  private static List<Object> withoutNulls(Collection<?> values) {
    return values.stream()
        .map(value -> value == null ? (Object) Missing.getInstance() : value)
        .toList();
  }

  private void bound(String field, Range more) {
    ranges.merge(
        field,
        more,
        (one, other) ->
            new Range(
                one.lower() == null ? other.lower() : one.lower(),
                one.upper() == null ? other.upper() : one.upper()));
  }

  private static boolean hasOperators(Document document) {
    return !document.isEmpty() && document.keySet().iterator().next().startsWith("$");
  }

  /** Whether an index has the value. Not lists: a list also matches a list that contains it. */
  private static boolean isPlain(Object value) {
    return value == null || value instanceof Boolean || isOrdered(value);
  }

  private static boolean isOrdered(Object value) {
    return value instanceof Number
        || value instanceof String
        || value instanceof Instant
        || value instanceof ObjectId;
  }
}
