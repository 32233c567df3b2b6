// Maps: every operation on entries, times to live, locks, events.

import com.hazelcast.core.EntryEvent;
import com.hazelcast.core.EntryView;
import com.hazelcast.map.IMap;
import com.hazelcast.map.MapEvent;
import com.hazelcast.map.listener.EntryAddedListener;
import com.hazelcast.map.listener.EntryEvictedListener;
import com.hazelcast.map.listener.EntryExpiredListener;
import com.hazelcast.map.listener.EntryRemovedListener;
import com.hazelcast.map.listener.EntryUpdatedListener;
import com.hazelcast.map.listener.MapClearedListener;
import com.hazelcast.map.listener.MapEvictedListener;
import com.hazelcast.query.Predicates;
import java.util.Collections;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

final class MapTests {
    private MapTests() {
    }

    static void addTo(Suite suite) {
        suite.test("map: entries", MapTests::entries);
        suite.test("map: many at once", MapTests::manyAtOnce);
        suite.test("map: changes under a condition", MapTests::conditions);
        suite.test("map: functions that run in the client", MapTests::functions);
        suite.test("map: futures", MapTests::futures);
        suite.test("map: iteration by pages", MapTests::iteration);
        suite.test("map: times to live", MapTests::timesToLive);
        suite.test("map: what is known of an entry", MapTests::entryView);
        suite.test("map: locks", MapTests::locks);
        suite.test("map: a writer waits for a lock", MapTests::writersWait);
        suite.test("map: events", MapTests::events);
        suite.test("map: events of a key come in their order", MapTests::eventsInOrder);
        suite.test("map: events of a key, of a predicate", MapTests::someEvents);
        suite.test("map: events without values", MapTests::eventsWithoutValues);
    }

    private static void entries() {
        IMap<String, Object> map = Suite.client.getMap(Suite.name());
        Suite.equal(null, map.put("k", 1));
        Suite.equal(1, map.put("k", 2));
        map.set("k", 3);
        Suite.equal(3, map.get("k"));
        Suite.equal(null, map.get("none"));
        Suite.yes(map.containsKey("k"));
        Suite.no(map.containsKey("none"));
        Suite.yes(map.containsValue(3));
        Suite.no(map.containsValue(1));
        Suite.yes(map.tryPut("t", 7, 1, TimeUnit.SECONDS));
        map.putTransient("u", 8, 0, TimeUnit.SECONDS);
        Suite.equal(3, map.size());
        Suite.yes(map.tryRemove("t", 1, TimeUnit.SECONDS));
        Suite.equal(8, map.remove("u"));
        Suite.equal(null, map.remove("u"));
        map.delete("k");
        Suite.yes(map.isEmpty());
        Suite.no(map.evict("k"));
        map.put("k", 1);
        Suite.yes(map.evict("k"));
        map.put("k", 1);
        map.evictAll();
        Suite.yes(map.isEmpty());
        map.put("k", 1);
        map.clear();
        Suite.equal(0, map.size());
        map.flush();
        map.destroy();
    }

    private static void manyAtOnce() {
        IMap<Integer, String> map = Suite.client.getMap(Suite.name());
        Map<Integer, String> all = new HashMap<>();
        for (int key = 0; key < 1_000; key++) {
            all.put(key, "v" + key);
        }
        map.putAll(all);
        Suite.equal(1_000, map.size());
        Suite.equal(all.keySet(), map.keySet());
        Suite.same(all.values(), map.values());
        Suite.equal(all.entrySet(), map.entrySet());
        Suite.equal(Map.of(1, "v1", 999, "v999"), map.getAll(Set.of(1, 999, 1_000)));
        map.setAll(Map.of(1, "one", 1_000, "new"));
        Suite.equal("one", map.get(1));
        map.removeAll(Predicates.lessEqual("__key", 999));
        Suite.equal(Set.of(1_000), map.keySet());
        map.destroy();
    }

    private static void conditions() {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        Suite.equal(null, map.replace("k", "a"));
        Suite.equal(null, map.putIfAbsent("k", "a"));
        Suite.equal("a", map.putIfAbsent("k", "b"));
        Suite.equal("a", map.replace("k", "c"));
        Suite.no(map.replace("k", "a", "d"));
        Suite.yes(map.replace("k", "c", "d"));
        Suite.no(map.remove("k", "a"));
        Suite.yes(map.remove("k", "d"));
        Suite.no(map.containsKey("k"));
        map.destroy();
    }

    private static void functions() {
        IMap<String, Integer> map = Suite.client.getMap(Suite.name());
        int[] one = {1};
        Suite.equal(1, map.computeIfAbsent("k", key -> one[0]));
        Suite.equal(1, map.computeIfAbsent("k", key -> 7));
        Suite.equal(2, map.computeIfPresent("k", (key, value) -> value + one[0]));
        Suite.equal(3, map.compute("k", (key, value) -> value + one[0]));
        Suite.equal(13, map.merge("k", 10, (old, added) -> old + added * one[0]));
        Suite.equal(null, map.compute("k", (key, value) -> one[0] == 1 ? null : value));
        Suite.yes(map.isEmpty());
        map.putAll(Map.of("a", 1, "b", 2));
        map.replaceAll((key, value) -> value * 10 * one[0]);
        Suite.equal(Map.of("a", 10, "b", 20), map.getAll(Set.of("a", "b")));
        map.destroy();
    }

    private static void futures() throws Exception {
        IMap<Integer, Integer> map = Suite.client.getMap(Suite.name());
        List<Future<?>> writes = new ArrayList<>();
        for (int key = 0; key < 500; key++) {
            writes.add(map.setAsync(key, key).toCompletableFuture());
        }
        for (Future<?> write : writes) {
            write.get(20, TimeUnit.SECONDS);
        }
        Suite.equal(7, map.getAsync(7).toCompletableFuture().get(20, TimeUnit.SECONDS));
        Suite.equal(7, map.putAsync(7, 8).toCompletableFuture().get(20, TimeUnit.SECONDS));
        Suite.equal(8, map.removeAsync(7).toCompletableFuture().get(20, TimeUnit.SECONDS));
        Suite.equal(true, map.deleteAsync(8).toCompletableFuture().get(20, TimeUnit.SECONDS));
        Suite.equal(498, map.size());
        map.destroy();
    }

    private static void iteration() {
        IMap<Integer, Integer> map = Suite.client.getMap(Suite.name());
        Map<Integer, Integer> all = new HashMap<>();
        for (int key = 0; key < 5_000; key++) {
            all.put(key, -key);
        }
        map.putAll(all);
        Map<Integer, Integer> found = new HashMap<>();
        for (Map.Entry<Integer, Integer> entry : map) {
            Suite.equal(null, found.put(entry.getKey(), entry.getValue()));
        }
        Suite.equal(all, found);
        map.destroy();
    }

    private static void timesToLive() throws Exception {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        map.put("ttl", "v", 1, TimeUnit.SECONDS);
        map.set("idle", "v", 0, TimeUnit.SECONDS, 1, TimeUnit.SECONDS);
        map.putIfAbsent("both", "v", 1, TimeUnit.SECONDS, 1, TimeUnit.SECONDS);
        map.put("later", "v");
        Suite.yes(map.setTtl("later", 1, TimeUnit.SECONDS));
        Suite.no(map.setTtl("none", 1, TimeUnit.SECONDS));
        map.put("stays", "v", 1, TimeUnit.SECONDS);
        Suite.yes(map.setTtl("stays", 0, TimeUnit.SECONDS));
        // `size` is no access, so what is idle stays idle.
        Suite.eventually("four entries expire", () -> map.size() == 1);
        Suite.equal("v", map.get("stays"));
        map.destroy();
    }

    private static void entryView() {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        Suite.equal(null, map.getEntryView("k"));
        map.put("k", "v", 1_000, TimeUnit.SECONDS);
        map.put("k", "w", 1_000, TimeUnit.SECONDS);
        EntryView<String, String> view = map.getEntryView("k");
        Suite.equal("k", view.getKey());
        Suite.equal("w", view.getValue());
        Suite.equal(1_000_000L, view.getTtl());
        Suite.equal(1L, view.getVersion());
        map.destroy();
    }

    private static void locks() throws Exception {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        map.lock("k");
        map.lock("k");
        Suite.yes(map.isLocked("k"));
        Suite.no(Suite.elsewhere(() -> map.tryLock("k")));
        Suite.no(Suite.elsewhere(() -> map.tryLock("k", 50, TimeUnit.MILLISECONDS)));
        Suite.no(Suite.elsewhere(() -> map.tryPut("k", "v", 50, TimeUnit.MILLISECONDS)));
        Suite.fails(IllegalMonitorStateException.class, () -> Suite.elsewhere(() -> {
            map.unlock("k");
            return null;
        }));
        map.unlock("k");
        Suite.yes(map.isLocked("k"));
        map.unlock("k");
        Suite.no(map.isLocked("k"));
        Suite.yes(map.tryLock("k", 0, TimeUnit.SECONDS, 100, TimeUnit.MILLISECONDS));
        Suite.eventually("the lease ends", () -> !map.isLocked("k"));
        map.lock("k");
        Suite.elsewhere(() -> {
            map.forceUnlock("k");
            return null;
        });
        Suite.no(map.isLocked("k"));
        map.destroy();
    }

    private static void writersWait() throws Exception {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        map.lock("k");
        Future<?> writer = Suite.ELSEWHERE.submit(() -> map.set("k", "theirs"));
        map.set("k", "mine");
        Suite.equal("mine", map.get("k"));
        Suite.no(writer.isDone());
        map.unlock("k");
        writer.get(20, TimeUnit.SECONDS);
        Suite.equal("theirs", map.get("k"));
        map.destroy();
    }

    /** Writes down what it hears. */
    private static final class Ear implements EntryAddedListener<String, String>, EntryUpdatedListener<String, String>,
        EntryRemovedListener<String, String>, EntryEvictedListener<String, String>, EntryExpiredListener<String, String>,
        MapClearedListener, MapEvictedListener {
        final List<String> events = Collections.synchronizedList(new ArrayList<>());

        @Override
        public void entryAdded(EntryEvent<String, String> event) {
            events.add("added " + event.getKey() + " " + event.getValue());
        }

        @Override
        public void entryUpdated(EntryEvent<String, String> event) {
            events.add("updated " + event.getKey() + " " + event.getOldValue() + " " + event.getValue());
        }

        @Override
        public void entryRemoved(EntryEvent<String, String> event) {
            events.add("removed " + event.getKey() + " " + event.getOldValue());
        }

        @Override
        public void entryEvicted(EntryEvent<String, String> event) {
            events.add("evicted " + event.getKey());
        }

        @Override
        public void entryExpired(EntryEvent<String, String> event) {
            events.add("expired " + event.getKey());
        }

        @Override
        public void mapCleared(MapEvent event) {
            events.add("cleared " + event.getNumberOfEntriesAffected());
        }

        @Override
        public void mapEvicted(MapEvent event) {
            events.add("all evicted " + event.getNumberOfEntriesAffected());
        }
    }

    private static void events() throws Exception {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        Ear ear = new Ear();
        UUID id = map.addEntryListener(ear, true);
        map.put("k", "a");
        map.put("k", "b");
        map.remove("k");
        Suite.heard(ear.events, "added k a", "updated k a b", "removed k b");
        map.put("k", "c");
        map.evict("k");
        map.put("k", "d");
        map.clear();
        map.put("k", "e");
        map.evictAll();
        Suite.heard(ear.events, "added k a", "updated k a b", "removed k b", "added k c", "evicted k", "added k d",
            "cleared 1", "added k e", "all evicted 1");
        ear.events.clear();
        map.put("k", "f", 1, TimeUnit.SECONDS);
        Suite.eventually("the entry expires", () -> map.get("k") == null && ear.events.contains("expired k"));
        Suite.yes(map.removeEntryListener(id));
        Suite.no(map.removeEntryListener(id));
        map.destroy();
    }

    private static void eventsInOrder() throws Exception {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        Ear ear = new Ear();
        map.addEntryListener(ear, true);
        String[] wanted = new String[100];
        map.put("k", "0");
        wanted[0] = "added k 0";
        for (int number = 1; number < wanted.length; number++) {
            map.put("k", String.valueOf(number));
            wanted[number] = "updated k " + (number - 1) + " " + number;
        }
        Suite.heardInOrder(ear.events, wanted);
        map.destroy();
    }

    private static void someEvents() throws Exception {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        Ear key = new Ear();
        Ear predicate = new Ear();
        map.addEntryListener(key, "k", true);
        map.addEntryListener(predicate, Predicates.equal("this", "x"), true);
        map.put("k", "a");
        map.put("l", "x");
        map.put("k", "x");
        Suite.heard(key.events, "added k a", "updated k a x");
        Suite.heard(predicate.events, "added l x", "updated k a x");
        map.destroy();
    }

    private static void eventsWithoutValues() throws Exception {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        Ear ear = new Ear();
        map.addEntryListener(ear, false);
        map.put("k", "a");
        map.remove("k");
        Suite.heard(ear.events, "added k null", "removed k null");
        map.destroy();
    }
}
