// The runner: runs tests one after the other, prints a line for each, and ends by itself whatever the member does.

import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.core.LifecycleEvent;
import com.hazelcast.core.LifecycleEvent.LifecycleState;
import com.hazelcast.instance.BuildInfoProvider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

public final class Suite {
    /** A test may take so long, and all of them together. */
    private static final int TEST_SECONDS = 30;
    private static final int SUITE_SECONDS = 110;
    private static final int EVENTUALLY_SECONDS = 20;

    /** Whether the member is a real Hazelcast. */
    static final boolean ORACLE = present("HAZELCAST_JARS");
    /** Whether the code of `fixtures.md` is registered in the member. */
    static final boolean HAS_FIXTURES = !ORACLE || System.getenv("HAZELCAST_JARS").contains("tests");
    /** Whether there is a CP subsystem: since 5.5 the client without an Enterprise license has none, and a member neither. */
    static final boolean HAS_CP = !ORACLE && !BuildInfoProvider.getBuildInfo().getVersion().startsWith("5.5");
    static final boolean HAS_SQL = !ORACLE || System.getenv("HAZELCAST_JARS").contains("hazelcast-sql");

    static final ExecutorService ELSEWHERE = Executors.newCachedThreadPool(Suite::daemon);

    /** How often the connection of the client that all tests share was lost. */
    static final AtomicInteger LOST = new AtomicInteger();

    static HazelcastInstance client;

    private final String filter;
    private int passed;
    private int skipped;
    private final List<String> failed = new ArrayList<>();

    interface Body {
        void run() throws Exception;
    }

    private Suite(String filter) {
        this.filter = filter;
    }

    public static void main(String[] words) {
        Thread watchdog = daemon(Suite::endAtLast);
        watchdog.start();
        Suite suite = new Suite(words.length > 0 ? words[0] : "");
        client = connect(new ClientConfig());
        client.getLifecycleService().addLifecycleListener((LifecycleEvent event) -> {
            if (event.getState() == LifecycleState.CLIENT_DISCONNECTED) {
                LOST.incrementAndGet();
            }
        });
        MapTests.addTo(suite);
        MapCodeTests.addTo(suite);
        JournalTests.addTo(suite);
        ExecutorTests.addTo(suite);
        QueryTests.addTo(suite);
        NearCacheTests.addTo(suite);
        CollectionTests.addTo(suite);
        StructureTests.addTo(suite);
        CpTests.addTo(suite);
        ValueTests.addTo(suite);
        SqlTests.addTo(suite);
        ClusterTests.addTo(suite);
        client.shutdown();
        System.out.printf("%d passed, %d skipped, %d failed%n", suite.passed, suite.skipped, suite.failed.size());
        suite.failed.forEach(name -> System.out.println("FAILED " + name));
        // Threads of a client that hangs do not keep the process.
        Runtime.getRuntime().halt(suite.failed.isEmpty() && suite.passed > 0 ? 0 : 1);
    }

    /** Runs a test on a thread of its own. */
    void test(String name, Body body) {
        testIf(true, name, body);
    }

    /** Runs a test of what Filbert does not serve, see docs/compatibility.md: with a real Hazelcast, or when all tests are asked for. */
    void oracleOnly(String name, Body body) {
        testIf(ORACLE || present("FILBERT_NOT_SERVED"), name, body);
    }

    /** Runs a test where the member has what it needs. */
    void testIf(boolean served, String name, Body body) {
        if (!name.contains(filter)) {
            return;
        }
        if (!served) {
            skipped++;
            System.out.println("skipped  " + name);
            return;
        }
        long begin = System.nanoTime();
        Future<?> done = ELSEWHERE.submit(() -> {
            body.run();
            return null;
        });
        Throwable problem = null;
        try {
            done.get(TEST_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException error) {
            problem = error.getCause();
        } catch (TimeoutException | InterruptedException error) {
            done.cancel(true);
            problem = new AssertionError("did not end within " + TEST_SECONDS + " s");
        }
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
        if (problem == null) {
            passed++;
            System.out.println("ok       " + name + " (" + millis + " ms)");
        } else {
            failed.add(name);
            System.out.println("FAILED   " + name);
            problem.printStackTrace(System.out);
        }
    }

    static HazelcastInstance connect(ClientConfig config) {
        config.getNetworkConfig().addAddress(Objects.requireNonNull(System.getenv("FILBERT_ADDRESS"),
            "FILBERT_ADDRESS=host:port names the member to test; tests/clients/run.sh starts one and sets it"));
        config.getConnectionStrategyConfig().getConnectionRetryConfig().setClusterConnectTimeoutMillis(20_000);
        // Often, so that the member gets some while the tests run.
        config.getMetricsConfig().setEnabled(true).setCollectionFrequencySeconds(1);
        config.setProperty("hazelcast.logging.type", "none");
        config.setProperty("hazelcast.phone.home.enabled", "false");
        return HazelcastClient.newHazelcastClient(config);
    }

    /** A name that no other test uses. */
    static String name() {
        return "t-" + UUID.randomUUID();
    }

    static void equal(Object wanted, Object found) {
        boolean same = wanted instanceof byte[] && found instanceof byte[]
            ? Arrays.equals((byte[]) wanted, (byte[]) found) : Objects.equals(wanted, found);
        if (!same) {
            throw new AssertionError("wanted " + wanted + ", found " + found);
        }
    }

    /** Equal as sets, whatever kind of collection and order. */
    static <T extends Comparable<T>> void same(Collection<T> wanted, Collection<T> found) {
        equal(new TreeSet<>(wanted), new TreeSet<>(found));
        equal(wanted.size(), found.size());
    }

    static void check(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    static void yes(boolean condition) {
        check(condition, "wanted true");
    }

    static void no(boolean condition) {
        check(!condition, "wanted false");
    }

    static <T extends Throwable> T fails(Class<T> kind, Body body) throws Exception {
        try {
            body.run();
        } catch (Throwable error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                if (kind.isInstance(cause)) {
                    return kind.cast(cause);
                }
            }
            throw new AssertionError("wanted " + kind.getName(), error);
        }
        throw new AssertionError("wanted " + kind.getName() + ", but it went well");
    }

    /** Waits for a condition, with a deadline. */
    static void eventually(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(EVENTUALLY_SECONDS);
        while (!condition.call()) {
            check(System.nanoTime() < end, what + " did not come true within " + EVENTUALLY_SECONDS + " s");
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    /** Waits until so many events were heard, and compares them in whatever order they came. */
    static void heard(List<String> events, String... wanted) throws Exception {
        eventually("events " + Arrays.toString(wanted), () -> events.size() >= wanted.length);
        equal(Arrays.stream(wanted).sorted().toList(), List.copyOf(events).stream().sorted().toList());
    }

    /** Waits until so many events were heard, in this order. */
    static void heardInOrder(List<String> events, String... wanted) throws Exception {
        heard(events, wanted);
        equal(List.of(wanted), List.copyOf(events));
    }

    /** What another thread gets. */
    static <T> T elsewhere(Callable<T> call) throws Exception {
        return ELSEWHERE.submit(call).get(TEST_SECONDS, TimeUnit.SECONDS);
    }

    private static boolean present(String variable) {
        return System.getenv(variable) != null && !System.getenv(variable).isEmpty();
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    }

    private static void endAtLast() {
        try {
            TimeUnit.SECONDS.sleep(SUITE_SECONDS);
        } catch (InterruptedException ended) {
            return;
        }
        System.out.println("FAILED: the suite did not end within " + SUITE_SECONDS + " s");
        Thread.getAllStackTraces().forEach((thread, trace) -> {
            if (trace.length > 0) {
                System.out.println(thread + ": " + Arrays.toString(trace));
            }
        });
        Runtime.getRuntime().halt(1);
    }
}
