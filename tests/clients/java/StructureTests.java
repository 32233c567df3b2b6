// Topics, ringbuffers, generators of ids, counters.

import com.hazelcast.crdt.pncounter.PNCounter;
import com.hazelcast.flakeidgen.FlakeIdGenerator;
import com.hazelcast.ringbuffer.OverflowPolicy;
import com.hazelcast.ringbuffer.ReadResultSet;
import com.hazelcast.ringbuffer.Ringbuffer;
import com.hazelcast.ringbuffer.StaleSequenceException;
import com.hazelcast.topic.ITopic;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

final class StructureTests {
    private StructureTests() {
    }

    static void addTo(Suite suite) {
        suite.test("topic", () -> topic(Suite.client.getTopic(Suite.name())));
        suite.test("topic: messages come in their order", StructureTests::topicInOrder);
        suite.test("reliable topic", () -> topic(Suite.client.getReliableTopic(Suite.name())));
        suite.test("ringbuffer", StructureTests::ringbuffer);
        suite.test("ringbuffer: a small one goes round", StructureTests::smallRingbuffer);
        suite.testIf(Suite.HAS_FIXTURES, "ringbuffer: a filter", StructureTests::filter);
        suite.test("flake ids", StructureTests::flakeIds);
        suite.test("PN counter", StructureTests::counter);
    }

    private static void topicInOrder() throws Exception {
        ITopic<Integer> topic = Suite.client.getTopic(Suite.name());
        List<String> heard = Collections.synchronizedList(new ArrayList<>());
        topic.addMessageListener(message -> heard.add(message.getMessageObject().toString()));
        String[] wanted = new String[100];
        for (int number = 0; number < wanted.length; number++) {
            topic.publish(number);
            wanted[number] = String.valueOf(number);
        }
        Suite.heardInOrder(heard, wanted);
        topic.destroy();
    }

    private static void topic(ITopic<String> topic) throws Exception {
        List<String> heard = Collections.synchronizedList(new ArrayList<>());
        UUID id = topic.addMessageListener(message -> heard.add(message.getMessageObject()));
        topic.publish("a");
        topic.publishAll(List.of("b", "c"));
        topic.publishAsync("d").toCompletableFuture().get(20, TimeUnit.SECONDS);
        Suite.heard(heard, "a", "b", "c", "d");
        Suite.yes(topic.removeMessageListener(id));
        topic.publish("e");
        Suite.equal(4, heard.size());
        topic.destroy();
    }

    private static void ringbuffer() throws Exception {
        Ringbuffer<String> ringbuffer = Suite.client.getRingbuffer(Suite.name());
        Future<ReadResultSet<String>> waits = ringbuffer.readManyAsync(0, 2, 10, null).toCompletableFuture();
        Suite.equal(0L, ringbuffer.add("a"));
        Suite.equal(2L, ringbuffer.addAllAsync(List.of("b", "c"), OverflowPolicy.FAIL).toCompletableFuture().get(20, TimeUnit.SECONDS));
        Suite.yes(waits.get(20, TimeUnit.SECONDS).readCount() >= 2);
        Suite.equal("c", ringbuffer.readOne(2));
        Suite.equal(0L, ringbuffer.headSequence());
        Suite.equal(2L, ringbuffer.tailSequence());
        Suite.equal(3L, ringbuffer.size());
        Suite.equal(10_000L, ringbuffer.capacity());
        ringbuffer.destroy();
    }

    /** The member's settings give ringbuffers of this name room for four. */
    private static void smallRingbuffer() throws Exception {
        Ringbuffer<Integer> ringbuffer = Suite.client.getRingbuffer("small-" + Suite.name());
        for (int i = 0; i < 10; i++) {
            Suite.equal((long) i, ringbuffer.add(i));
        }
        Suite.equal(4L, ringbuffer.capacity());
        Suite.equal(6L, ringbuffer.headSequence());
        Suite.fails(StaleSequenceException.class, () -> ringbuffer.readOne(0));
        Suite.equal(9, ringbuffer.readOne(9));
        ringbuffer.destroy();
    }

    private static void filter() throws Exception {
        Ringbuffer<String> ringbuffer = Suite.client.getRingbuffer(Suite.name());
        for (String item : List.of("a1", "b1", "a2", "b2")) {
            ringbuffer.add(item);
        }
        ReadResultSet<String> found =
            ringbuffer.readManyAsync(0, 2, 10, new Fixtures.HasPrefix("a")).toCompletableFuture().get(20, TimeUnit.SECONDS);
        Suite.equal(List.of("a1", "a2"), List.of(found.get(0), found.get(1)));
        Suite.equal(2, found.size());
        ringbuffer.destroy();
    }

    private static void flakeIds() {
        FlakeIdGenerator generator = Suite.client.getFlakeIdGenerator(Suite.name());
        Set<Long> ids = new TreeSet<>();
        for (int i = 0; i < 1_000; i++) {
            Suite.yes(ids.add(generator.newId()));
        }
        generator.destroy();
    }

    private static void counter() {
        PNCounter counter = Suite.client.getPNCounter(Suite.name());
        Suite.equal(5L, counter.addAndGet(5));
        Suite.equal(5L, counter.getAndDecrement());
        Suite.equal(4L, counter.getAndSubtract(2));
        Suite.equal(3L, counter.incrementAndGet());
        Suite.equal(3L, counter.get());
        counter.destroy();
    }
}
