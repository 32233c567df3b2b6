// Lists, queues, sets, multimaps, replicated maps.

import com.hazelcast.collection.IList;
import com.hazelcast.collection.IQueue;
import com.hazelcast.collection.ISet;
import com.hazelcast.collection.ItemEvent;
import com.hazelcast.collection.ItemListener;
import com.hazelcast.core.EntryAdapter;
import com.hazelcast.core.EntryEvent;
import com.hazelcast.multimap.MultiMap;
import com.hazelcast.replicatedmap.ReplicatedMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

final class CollectionTests {
    private CollectionTests() {
    }

    static void addTo(Suite suite) {
        suite.test("list", CollectionTests::list);
        suite.test("list: events", CollectionTests::listEvents);
        suite.test("queue", CollectionTests::queue);
        suite.test("queue: who waits gets the item", CollectionTests::queueWaits);
        suite.test("queue: a full one", CollectionTests::fullQueue);
        suite.test("set", CollectionTests::set);
        suite.test("multimap", CollectionTests::multiMap);
        suite.test("multimap: events and locks", CollectionTests::multiMapEvents);
        suite.test("replicated map", CollectionTests::replicatedMap);
    }

    /** Writes down which items came and went. */
    private static final class Ear implements ItemListener<String> {
        final List<String> events = Collections.synchronizedList(new ArrayList<>());

        @Override
        public void itemAdded(ItemEvent<String> event) {
            events.add("added " + event.getItem());
        }

        @Override
        public void itemRemoved(ItemEvent<String> event) {
            events.add("removed " + event.getItem());
        }
    }

    private static void list() throws Exception {
        IList<String> list = Suite.client.getList(Suite.name());
        Suite.yes(list.add("a"));
        Suite.yes(list.addAll(List.of("b", "c", "b")));
        list.add(0, "first");
        Suite.yes(list.addAll(1, List.of("x", "y")));
        Suite.equal(List.of("first", "x", "y", "a", "b", "c", "b"), Arrays.asList(list.toArray()));
        Suite.equal("a", list.get(3));
        Suite.equal("a", list.set(3, "A"));
        Suite.equal(4, list.indexOf("b"));
        Suite.equal(6, list.lastIndexOf("b"));
        Suite.yes(list.contains("c"));
        Suite.no(list.containsAll(List.of("c", "none")));
        Suite.equal(List.of("x", "y"), list.subList(1, 3));
        Suite.equal("first", list.remove(0));
        Suite.yes(list.remove("b"));
        Suite.yes(list.removeAll(List.of("A")));
        Suite.yes(list.retainAll(List.of("b", "c")));
        List<String> iterated = new ArrayList<>();
        list.iterator().forEachRemaining(iterated::add);
        Suite.equal(List.of("c", "b"), iterated);
        Suite.fails(IndexOutOfBoundsException.class, () -> list.get(7));
        list.clear();
        Suite.yes(list.isEmpty());
        list.destroy();
    }

    private static void listEvents() throws Exception {
        IList<String> list = Suite.client.getList(Suite.name());
        Ear ear = new Ear();
        UUID id = list.addItemListener(ear, true);
        list.add("a");
        list.remove("a");
        Suite.heard(ear.events, "added a", "removed a");
        Suite.yes(list.removeItemListener(id));
        list.destroy();
    }

    private static void queue() throws Exception {
        IQueue<String> queue = Suite.client.getQueue(Suite.name());
        Ear ear = new Ear();
        queue.addItemListener(ear, true);
        Suite.yes(queue.offer("a"));
        queue.put("b");
        Suite.yes(queue.addAll(List.of("c", "d", "e", "f")));
        Suite.equal("a", queue.peek());
        Suite.equal("a", queue.element());
        Suite.equal(6, queue.size());
        Suite.equal("a", queue.poll());
        Suite.equal("b", queue.take());
        Suite.yes(queue.contains("c"));
        Suite.yes(queue.containsAll(List.of("c", "d")));
        Suite.yes(queue.remove("d"));
        Suite.equal(List.of("c", "e", "f"), new ArrayList<>(queue));
        List<String> drained = new ArrayList<>();
        Suite.equal(1, queue.drainTo(drained, 1));
        Suite.equal(2, queue.drainTo(drained));
        Suite.equal(List.of("c", "e", "f"), drained);
        Suite.equal(null, queue.poll(20, TimeUnit.MILLISECONDS));
        queue.addAll(List.of("g", "h", "i"));
        Suite.yes(queue.removeAll(List.of("g")));
        Suite.yes(queue.retainAll(List.of("h")));
        Suite.equal(List.of("h"), new ArrayList<>(queue));
        queue.clear();
        Suite.yes(queue.isEmpty());
        Suite.eventually("an event for every item", () -> ear.events.contains("removed h"));
        queue.destroy();
    }

    private static void queueWaits() throws Exception {
        IQueue<String> queue = Suite.client.getQueue(Suite.name());
        Future<String> waiting = Suite.ELSEWHERE.submit(queue::take);
        Future<String> also = Suite.ELSEWHERE.submit(() -> queue.poll(20, TimeUnit.SECONDS));
        queue.put("a");
        queue.put("b");
        Suite.same(List.of("a", "b"), List.of(waiting.get(20, TimeUnit.SECONDS), also.get(20, TimeUnit.SECONDS)));
        queue.destroy();
    }

    /** The member's settings give queues of this name room for six. */
    private static void fullQueue() throws Exception {
        IQueue<Integer> queue = Suite.client.getQueue("bounded-" + Suite.name());
        for (int i = 0; i < 6; i++) {
            Suite.yes(queue.offer(i));
        }
        Suite.equal(0, queue.remainingCapacity());
        Suite.no(queue.offer(6));
        Suite.no(queue.offer(6, 20, TimeUnit.MILLISECONDS));
        Future<?> waiting = Suite.ELSEWHERE.submit(() -> {
            queue.put(7);
            return null;
        });
        Suite.equal(0, queue.take());
        waiting.get(20, TimeUnit.SECONDS);
        Suite.yes(queue.contains(7));
        queue.destroy();
    }

    private static void set() throws Exception {
        ISet<String> set = Suite.client.getSet(Suite.name());
        Ear ear = new Ear();
        set.addItemListener(ear, true);
        Suite.yes(set.add("a"));
        Suite.no(set.add("a"));
        Suite.yes(set.addAll(List.of("a", "b", "c")));
        Suite.equal(Set.of("a", "b", "c"), Set.copyOf(set));
        Suite.yes(set.contains("b"));
        Suite.yes(set.containsAll(List.of("a", "b")));
        Suite.yes(set.remove("a"));
        Suite.no(set.remove("a"));
        Suite.yes(set.retainAll(List.of("b")));
        Suite.yes(set.removeAll(List.of("b")));
        Suite.yes(set.isEmpty());
        Suite.eventually("an event for every item", () -> ear.events.size() == 6);
        set.destroy();
    }

    private static void multiMap() {
        MultiMap<String, Integer> map = Suite.client.getMultiMap(Suite.name());
        Suite.yes(map.put("k", 1));
        Suite.no(map.put("k", 1));
        Suite.yes(map.put("k", 2));
        map.put("l", 3);
        Suite.equal(2, map.valueCount("k"));
        Suite.equal(3, map.size());
        Suite.same(List.of(1, 2), map.get("k"));
        Suite.equal(Set.of("k", "l"), map.keySet());
        Suite.same(List.of(1, 2, 3), map.values());
        Suite.equal(3, map.entrySet().size());
        Suite.yes(map.containsKey("k"));
        Suite.yes(map.containsValue(3));
        Suite.yes(map.containsEntry("l", 3));
        Suite.no(map.containsEntry("l", 1));
        Suite.yes(map.remove("k", 1));
        Suite.same(List.of(2), map.remove("k"));
        map.delete("l");
        Suite.equal(0, map.size());
        map.put("m", 5);
        map.clear();
        Suite.no(map.containsKey("m"));
        map.destroy();
    }

    private static void multiMapEvents() throws Exception {
        MultiMap<String, String> map = Suite.client.getMultiMap(Suite.name());
        List<String> events = Collections.synchronizedList(new ArrayList<>());
        UUID id = map.addEntryListener(new EntryAdapter<String, String>() {
            @Override
            public void entryAdded(EntryEvent<String, String> event) {
                events.add("added " + event.getValue());
            }

            @Override
            public void entryRemoved(EntryEvent<String, String> event) {
                events.add("removed " + event.getOldValue());
            }
        }, true);
        map.put("k", "a");
        map.remove("k", "a");
        Suite.heard(events, "added a", "removed a");
        Suite.yes(map.removeEntryListener(id));
        map.lock("k");
        Suite.no(Suite.elsewhere(() -> map.tryLock("k")));
        map.unlock("k");
        Suite.yes(Suite.elsewhere(() -> map.tryLock("k", 1, TimeUnit.SECONDS, 10, TimeUnit.SECONDS)));
        map.forceUnlock("k");
        Suite.no(map.isLocked("k"));
        map.destroy();
    }

    private static void replicatedMap() throws Exception {
        ReplicatedMap<String, String> map = Suite.client.getReplicatedMap(Suite.name());
        List<String> events = Collections.synchronizedList(new ArrayList<>());
        map.addEntryListener(new EntryAdapter<String, String>() {
            @Override
            public void onEntryEvent(EntryEvent<String, String> event) {
                events.add(event.getEventType() + " " + event.getKey());
            }
        });
        Suite.equal(null, map.put("k", "v"));
        Suite.equal("v", map.put("k", "w"));
        Suite.equal("w", map.get("k"));
        map.putAll(Map.of("a", "b"));
        map.put("short", "lived", 1, TimeUnit.SECONDS);
        Suite.eventually("an entry expires", () -> map.get("short") == null);
        Suite.equal(Set.of("a", "k"), Set.copyOf(map.keySet()));
        Suite.equal(2, map.size());
        Suite.same(List.of("b", "w"), map.values());
        Suite.equal(2, map.entrySet().size());
        Suite.yes(map.containsKey("a"));
        Suite.yes(map.containsValue("b"));
        Suite.equal("w", map.remove("k"));
        map.clear();
        Suite.yes(map.isEmpty());
        Suite.eventually("events", () -> events.containsAll(List.of("ADDED k", "UPDATED k", "ADDED a", "REMOVED k")));
        map.destroy();
    }
}
