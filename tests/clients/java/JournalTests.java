// What the client has beside the API of maps: the event journal, queries by pages of a partition, entries with metadata. Jet and tools that
// copy clusters use it.

import com.hazelcast.client.impl.proxy.ClientMapProxy;
import com.hazelcast.core.EntryView;
import com.hazelcast.internal.journal.EventJournalInitialSubscriberState;
import com.hazelcast.map.EventJournalMapEvent;
import com.hazelcast.map.impl.SimpleEntryView;
import com.hazelcast.map.impl.journal.MapEventJournalFunctions;
import com.hazelcast.projection.Projections;
import com.hazelcast.query.Predicates;
import com.hazelcast.ringbuffer.ReadResultSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;

final class JournalTests {
    private static final String KEY = "k";

    private JournalTests() {
    }

    static void addTo(Suite suite) {
        suite.test("journal: changes of a partition", JournalTests::changes);
        suite.test("journal: changes that are gone", JournalTests::late);
        suite.test("journal: a read waits", JournalTests::waits);
        suite.test("journal: filters and projections", JournalTests::filtered);
        suite.test("journal: a map without one", JournalTests::without);
        suite.test("map: a query by pages of partitions", JournalTests::queryByPages);
        suite.test("map: entries with metadata", JournalTests::metadata);
    }

    /** A map whose journal has ten places in each partition. */
    private static ClientMapProxy<String, Integer> journaled() {
        return proxy("journaled-" + Suite.name());
    }

    private static <K, V> ClientMapProxy<K, V> proxy(String name) {
        return (ClientMapProxy<K, V>) Suite.client.<K, V>getMap(name);
    }

    private static int partition() {
        return Suite.client.getPartitionService().getPartition(KEY).getPartitionId();
    }

    private static <T> T now(CompletableFuture<T> later) throws Exception {
        return later.get(20, TimeUnit.SECONDS);
    }

    private static <T> CompletableFuture<ReadResultSet<T>> read(
        ClientMapProxy<String, Integer> map, long from, int min, int max,
        Predicate<EventJournalMapEvent<String, Integer>> predicate,
        Function<EventJournalMapEvent<String, Integer>, T> projection
    ) {
        return map.readFromEventJournal(from, min, max, partition(), predicate, projection);
    }

    private static List<String> told(ReadResultSet<EventJournalMapEvent<String, Integer>> read) {
        List<String> told = new ArrayList<>();
        for (int at = 0; at < read.size(); at++) {
            EventJournalMapEvent<String, Integer> event = read.get(at);
            told.add(read.getSequence(at) + " " + event.getType() + " " + event.getKey() + " "
                + event.getOldValue() + " " + event.getNewValue());
        }
        return told;
    }

    private static void changes() throws Exception {
        ClientMapProxy<String, Integer> map = journaled();
        EventJournalInitialSubscriberState state = now(map.subscribeToEventJournal(partition()));
        Suite.equal(-1L, state.getNewestSequence());
        map.put(KEY, 1);
        map.put(KEY, 2);
        map.remove(KEY);
        map.put(KEY, 3);
        map.evict(KEY);
        map.put(KEY, 4, 1, TimeUnit.SECONDS);
        Suite.eventually("it expires", () -> map.get(KEY) == null);
        state = now(map.subscribeToEventJournal(partition()));
        Suite.equal(0L, state.getOldestSequence());
        Suite.equal(6L, state.getNewestSequence());
        ReadResultSet<EventJournalMapEvent<String, Integer>> read = now(read(map, 0, 1, 10, null, null));
        Suite.equal(List.of("0 ADDED k null 1", "1 UPDATED k 1 2", "2 REMOVED k 2 null", "3 ADDED k null 3",
            "4 EVICTED k 3 null", "5 ADDED k null 4", "6 EVICTED k 4 null"), told(read));
        Suite.equal(7, read.readCount());
        Suite.equal(7L, read.getNextSequenceToReadFrom());
        read = now(read(map, 2, 1, 2, null, null));
        Suite.equal(List.of("2 REMOVED k 2 null", "3 ADDED k null 3"), told(read));
        Suite.equal(4L, read.getNextSequenceToReadFrom());
        map.destroy();
    }

    private static void late() throws Exception {
        ClientMapProxy<String, Integer> map = journaled();
        for (int value = 0; value < 30; value++) {
            map.set(KEY, value);
        }
        EventJournalInitialSubscriberState state = now(map.subscribeToEventJournal(partition()));
        Suite.equal(20L, state.getOldestSequence());
        Suite.equal(29L, state.getNewestSequence());
        ReadResultSet<EventJournalMapEvent<String, Integer>> read = now(read(map, 3, 1, 1, null, null));
        Suite.equal(List.of("20 UPDATED k 19 20"), told(read));
        // Beyond the newest is from the next one on.
        CompletableFuture<ReadResultSet<EventJournalMapEvent<String, Integer>>> next = read(map, 99, 1, 9, null, null);
        map.set(KEY, 30);
        Suite.eventually("a change comes", () -> {
            map.set(KEY, 31);
            return next.isDone();
        });
        Suite.yes(now(next).getSequence(0) >= 30);
        map.destroy();
    }

    private static void waits() throws Exception {
        ClientMapProxy<String, Integer> map = journaled();
        CompletableFuture<ReadResultSet<EventJournalMapEvent<String, Integer>>> one = read(map, 0, 1, 10, null, null);
        map.put(KEY, 1);
        Suite.equal(List.of("0 ADDED k null 1"), told(now(one)));
        CompletableFuture<ReadResultSet<EventJournalMapEvent<String, Integer>>> two = read(map, 0, 2, 10, null, null);
        Suite.equal(1, map.get(KEY));
        Suite.no(two.isDone());
        map.put(KEY, 2);
        Suite.equal(List.of("0 ADDED k null 1", "1 UPDATED k 1 2"), told(now(two)));
        map.destroy();
    }

    /** Those that Jet uses for its sources. */
    private static void filtered() throws Exception {
        ClientMapProxy<String, Integer> map = journaled();
        map.put(KEY, 1);
        map.remove(KEY);
        map.put(KEY, 2);
        ReadResultSet<Integer> values =
            now(read(map, 0, 2, 10, MapEventJournalFunctions.mapPutEvents(), MapEventJournalFunctions.mapEventNewValue()));
        Suite.equal(2, values.size());
        Suite.equal(1, values.get(0));
        Suite.equal(2, values.get(1));
        Suite.equal(3, values.readCount());
        Suite.equal(2L, values.getSequence(1));
        ReadResultSet<Map.Entry<String, Integer>> entries =
            now(read(map, 1, 1, 10, MapEventJournalFunctions.mapPutEvents(), MapEventJournalFunctions.mapEventToEntry()));
        Suite.equal(KEY, entries.get(0).getKey());
        Suite.equal(2, entries.get(0).getValue());
        map.destroy();
    }

    private static void without() throws Exception {
        ClientMapProxy<String, Integer> map = proxy(Suite.name());
        map.put(KEY, 1);
        Suite.fails(UnsupportedOperationException.class, () -> now(map.subscribeToEventJournal(partition())));
        Suite.fails(UnsupportedOperationException.class, () -> now(read(map, 0, 1, 1, null, null)));
        map.destroy();
    }

    private static void queryByPages() {
        ClientMapProxy<Integer, Integer> map = proxy(Suite.name());
        for (int key = 0; key < 3_000; key++) {
            map.set(key, -key);
        }
        TreeSet<Integer> found = new TreeSet<>();
        for (int partition = 0; partition < 271; partition++) {
            map.<Integer>iterator(3, partition, Projections.singleAttribute("this"), Predicates.greaterThan("this", -1_000))
                .forEachRemaining(value -> Suite.yes(found.add(value)));
        }
        Suite.equal(1_000, found.size());
        Suite.equal(-999, found.first());
        map.destroy();
    }

    private static void metadata() throws Exception {
        ClientMapProxy<String, String> map = proxy("with-stats-" + Suite.name());
        long created = System.currentTimeMillis() - 100_000;
        SimpleEntryView<String, String> view = new SimpleEntryView<>(KEY, "v").withCreationTime(created)
            .withLastUpdateTime(created + 1_000).withLastAccessTime(created + 2_000).withHits(5).withVersion(3)
            .withTtl(Long.MAX_VALUE).withMaxIdle(Long.MAX_VALUE).withExpirationTime(Long.MAX_VALUE);
        map.putAllWithMetadataAsync(List.of(view)).get(20, TimeUnit.SECONDS);
        EntryView<String, String> found = map.getEntryView(KEY);
        Suite.equal("v", found.getValue());
        // Hazelcast keeps whole seconds.
        Suite.yes(Math.abs(found.getCreationTime() - created) <= 1_000);
        Suite.yes(Math.abs(found.getLastUpdateTime() - created - 1_000) <= 1_000);
        Suite.equal("v", map.get(KEY));
        map.destroy();
    }
}
