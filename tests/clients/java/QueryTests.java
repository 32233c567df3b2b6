// Queries of maps: predicates, paging, indexes, aggregations, projections.

import com.hazelcast.aggregation.Aggregators;
import com.hazelcast.config.IndexConfig;
import com.hazelcast.config.IndexType;
import com.hazelcast.core.HazelcastJsonValue;
import com.hazelcast.map.IMap;
import com.hazelcast.projection.Projections;
import com.hazelcast.query.PagingPredicate;
import com.hazelcast.query.Predicate;
import com.hazelcast.query.Predicates;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

final class QueryTests {
    private QueryTests() {
    }

    static void addTo(Suite suite) {
        predicates().forEach((name, wanted) -> suite.test("predicate: " + name, () -> predicate(wanted)));
        suite.oracleOnly("predicate: of a partition",
            () -> predicate(new Case(Predicates.partitionPredicate(3, Predicates.equal("this", 3)), 3)));
        suite.test("predicate: text", QueryTests::text);
        suite.test("predicate: attributes of JSON, with and without an index", QueryTests::json);
        suite.test("predicate: a bitmap index", QueryTests::bitmap);
        suite.test("paging: by value", QueryTests::paging);
        suite.testIf(Suite.HAS_FIXTURES, "paging: by a comparator", QueryTests::comparator);
        suite.test("aggregations", QueryTests::aggregations);
        suite.test("projections", QueryTests::projections);
    }

    /** A predicate over {0: 0 .. 9: 9}, and the keys that match. */
    private record Case(Predicate<Integer, Integer> predicate, Integer... keys) {
    }

    private static Map<String, Case> predicates() {
        Map<String, Case> cases = new LinkedHashMap<>();
        cases.put("equal", new Case(Predicates.equal("this", 3), 3));
        cases.put("notEqual", new Case(Predicates.notEqual("this", 3), 0, 1, 2, 4, 5, 6, 7, 8, 9));
        cases.put("greaterThan", new Case(Predicates.greaterThan("this", 7), 8, 9));
        cases.put("greaterEqual", new Case(Predicates.greaterEqual("this", 7), 7, 8, 9));
        cases.put("lessThan", new Case(Predicates.lessThan("this", 2), 0, 1));
        cases.put("lessEqual", new Case(Predicates.lessEqual("this", 2), 0, 1, 2));
        cases.put("between", new Case(Predicates.between("this", 3, 5), 3, 4, 5));
        cases.put("in", new Case(Predicates.in("this", 1, 5, 77), 1, 5));
        cases.put("and", new Case(Predicates.and(Predicates.greaterThan("this", 3), Predicates.lessThan("this", 6)), 4, 5));
        cases.put("or", new Case(Predicates.or(Predicates.equal("this", 3), Predicates.equal("this", 6)), 3, 6));
        cases.put("not", new Case(Predicates.not(Predicates.greaterThan("this", 0)), 0));
        cases.put("alwaysTrue", new Case(Predicates.alwaysTrue(), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
        cases.put("alwaysFalse", new Case(Predicates.alwaysFalse()));
        cases.put("the key", new Case(Predicates.greaterThan("__key", 7), 8, 9));
        cases.put("sql", new Case(Predicates.sql("this BETWEEN 3 AND 5 OR this = 9"), 3, 4, 5, 9));
        cases.put("instanceOf", new Case(Predicates.instanceOf(Integer.class), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
        return cases;
    }

    private static IMap<Integer, Integer> numbers() {
        IMap<Integer, Integer> map = Suite.client.getMap(Suite.name());
        for (int key = 0; key < 10; key++) {
            map.set(key, key);
        }
        return map;
    }

    private static void predicate(Case wanted) {
        IMap<Integer, Integer> map = numbers();
        List<Integer> keys = Arrays.asList(wanted.keys());
        Suite.same(keys, map.keySet(wanted.predicate()));
        Suite.same(keys, map.values(wanted.predicate()));
        Suite.equal(keys.size(), map.entrySet(wanted.predicate()).size());
        map.destroy();
    }

    private static void text() {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        map.putAll(Map.of("ant", "ant", "Ant", "Ant", "bat", "bat"));
        Suite.equal(Set.of("Ant", "ant", "bat"), Set.copyOf(map.keySet(Predicates.like("this", "%t"))));
        Suite.equal(Set.of("Ant", "ant"), Set.copyOf(map.keySet(Predicates.ilike("this", "ANT"))));
        Suite.equal(Set.of("ant", "bat"), Set.copyOf(map.keySet(Predicates.regex("this", "[ab].t"))));
        map.destroy();
    }

    private static IMap<String, HazelcastJsonValue> people() {
        IMap<String, HazelcastJsonValue> map = Suite.client.getMap(Suite.name());
        for (int i = 0; i < 10; i++) {
            String city = i % 2 == 0 ? "Oslo" : "Rome";
            map.set("p" + i, new HazelcastJsonValue("{\"age\": " + (20 + i) + ", \"home\": {\"city\": \"" + city + "\"}}"));
        }
        return map;
    }

    private static void json() {
        IMap<String, HazelcastJsonValue> map = people();
        Predicate<String, HazelcastJsonValue> rome =
            Predicates.and(Predicates.equal("home.city", "Rome"), Predicates.greaterThan("age", 25));
        Suite.equal(Set.of("p7", "p9"), Set.copyOf(map.keySet(rome)));
        map.addIndex(new IndexConfig(IndexType.SORTED, "age"));
        map.addIndex(new IndexConfig(IndexType.HASH, "home.city"));
        Suite.equal(Set.of("p7", "p9"), Set.copyOf(map.keySet(rome)));
        map.destroy();
    }

    private static void bitmap() {
        IMap<Integer, Integer> map = numbers();
        IndexConfig config = new IndexConfig(IndexType.BITMAP, "this");
        config.getBitmapIndexOptions().setUniqueKey("__key");
        map.addIndex(config);
        Suite.equal(Set.of(4), Set.copyOf(map.keySet(Predicates.equal("this", 4))));
        Predicate<Integer, Integer> some = Predicates.and(Predicates.in("this", 3, 4, 5), Predicates.not(Predicates.equal("this", 4)));
        Suite.equal(Set.of(3, 5), Set.copyOf(map.keySet(some)));
        map.set(4, 3);
        map.delete(5);
        Suite.equal(Set.of(3, 4), Set.copyOf(map.keySet(Predicates.or(Predicates.equal("this", 3), Predicates.equal("this", 5)))));
        map.destroy();
    }

    private static void paging() {
        IMap<Integer, Integer> map = numbers();
        PagingPredicate<Integer, Integer> paging = Predicates.pagingPredicate(Predicates.greaterEqual("this", 2), 3);
        Suite.equal(List.of(2, 3, 4), new ArrayList<>(map.values(paging)));
        paging.nextPage();
        Suite.equal(List.of(5, 6, 7), new ArrayList<>(map.values(paging)));
        paging.nextPage();
        Suite.equal(List.of(8, 9), new ArrayList<>(map.keySet(paging)));
        paging.setPage(0);
        Suite.equal(Set.of(2, 3, 4), new TreeSet<>(map.keySet(paging)));
        Suite.equal(3, map.entrySet(paging).size());
        map.destroy();
    }

    private static void comparator() {
        IMap<Integer, Integer> map = numbers();
        PagingPredicate<Integer, Integer> paging = Predicates.pagingPredicate(new Fixtures.KeysDescending(), 4);
        Suite.equal(List.of(9, 8, 7, 6), new ArrayList<>(map.values(paging)));
        paging.nextPage();
        Suite.equal(List.of(5, 4, 3, 2), new ArrayList<>(map.values(paging)));
        map.destroy();
    }

    private static void aggregations() {
        IMap<Integer, Integer> map = numbers();
        Suite.equal(10L, map.aggregate(Aggregators.count()));
        Suite.equal(4.5, map.aggregate(Aggregators.integerAvg("this")));
        Suite.equal(4.5, map.aggregate(Aggregators.numberAvg("this")));
        Suite.equal(45L, map.aggregate(Aggregators.integerSum("this")));
        Suite.equal(45L, map.aggregate(Aggregators.fixedPointSum("this")));
        Suite.equal(45.0, map.aggregate(Aggregators.floatingPointSum("this")));
        Suite.equal(9, map.aggregate(Aggregators.<Map.Entry<Integer, Integer>>integerMax("this")));
        Suite.equal(0, map.aggregate(Aggregators.<Map.Entry<Integer, Integer>, Integer>comparableMin("this")));
        Suite.equal(Set.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), map.aggregate(Aggregators.distinct("this")));
        Suite.equal(3L, map.aggregate(Aggregators.count(), Predicates.lessThan("this", 3)));
        Suite.equal(9, map.aggregate(Aggregators.<Map.Entry<Integer, Integer>>maxBy("this")).getValue());
        map.destroy();
    }

    private static void projections() {
        IMap<String, HazelcastJsonValue> map = people();
        Suite.equal(Set.of("Oslo", "Rome"), Set.copyOf(map.project(Projections.singleAttribute("home.city"))));
        List<Object[]> rows = new ArrayList<>(
            map.project(Projections.multiAttribute("__key", "home.city"), Predicates.equal("age", 21)));
        Suite.equal(1, rows.size());
        Suite.equal(List.of("p1", "Rome"), Arrays.asList(rows.get(0)));
        map.destroy();
    }
}
