// Maps: code that is registered in the member (entry processors, interceptors) and tasks of an executor.

import com.hazelcast.core.IExecutorService;
import com.hazelcast.map.IMap;
import com.hazelcast.query.Predicates;
import com.hazelcast.cluster.Member;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

final class MapCodeTests {
    private MapCodeTests() {
    }

    static void addTo(Suite suite) {
        suite.testIf(Suite.HAS_FIXTURES, "code: an entry processor on a key", MapCodeTests::onKey);
        suite.testIf(Suite.HAS_FIXTURES, "code: an entry processor on many keys", MapCodeTests::onKeys);
        suite.test("code: what is not registered is refused", MapCodeTests::notRegistered);
        suite.testIf(Suite.HAS_FIXTURES, "code: an interceptor", MapCodeTests::interceptor);
        suite.testIf(Suite.HAS_FIXTURES, "executor: tasks", MapCodeTests::tasks);
        suite.testIf(Suite.HAS_FIXTURES, "executor: errors and an end", MapCodeTests::errors);
    }

    private static void onKey() throws Exception {
        IMap<Object, Object> map = Suite.client.getMap(Suite.name());
        Suite.equal("new", map.executeOnKey("k", new Fixtures.SetValue("new")));
        Suite.equal("new", map.get("k"));
        Suite.equal(-1, map.executeOnKey(7, new Fixtures.MultiplyKey(3)));
        Future<String> later = map.submitToKey("l", new Fixtures.SetValue("x")).toCompletableFuture();
        Suite.equal("x", later.get(20, TimeUnit.SECONDS));
        map.destroy();
    }

    private static void onKeys() {
        IMap<Object, Object> map = Suite.client.getMap(Suite.name());
        map.putAll(Map.of("a", "1", "b", "2", "c", "3"));
        Suite.equal(Map.of("a", "x", "b", "x"), map.executeOnKeys(Set.of("a", "b"), new Fixtures.SetValue("x")));
        Suite.equal(Map.of("c", "y"), map.executeOnEntries(new Fixtures.SetValue("y"), Predicates.equal("this", "3")));
        Suite.equal(3, map.executeOnEntries(new Fixtures.SetValue("z")).size());
        Suite.yes(map.values().stream().allMatch("z"::equals));
        map.destroy();
    }

    private static void notRegistered() throws Exception {
        IMap<Object, Object> map = Suite.client.getMap(Suite.name());
        Suite.fails(RuntimeException.class, () -> map.executeOnKey("k", new Fixtures.NotRegistered()));
        // Java's own serialization is not run by the member either.
        IExecutorService executor = Suite.client.getExecutorService(Suite.name());
        Suite.fails(Exception.class, () -> executor.submit(new Plain()).get(20, TimeUnit.SECONDS));
        map.set("k", 1);
        Suite.equal(1, map.get("k"));
        map.destroy();
    }

    private static final class Plain implements java.util.concurrent.Callable<Integer>, java.io.Serializable {
        @Override
        public Integer call() {
            return 1;
        }
    }

    private static void interceptor() {
        IMap<String, String> map = Suite.client.getMap(Suite.name());
        map.set("k", "v");
        String id = map.addInterceptor(new Fixtures.PrefixOnGet("p-"));
        Suite.equal("p-v", map.get("k"));
        Suite.yes(map.removeInterceptor(id));
        Suite.equal("v", map.get("k"));
        map.destroy();
    }

    private static void tasks() throws Exception {
        IExecutorService executor = Suite.client.getExecutorService(Suite.name());
        Member member = Suite.client.getCluster().getMembers().iterator().next();
        String wanted = "m:CallableResult";
        Suite.equal(wanted, executor.submit(Fixtures.Task.append("m")).get(20, TimeUnit.SECONDS));
        Suite.equal(wanted, executor.submitToKeyOwner(Fixtures.Task.append("m"), "k").get(20, TimeUnit.SECONDS));
        Suite.equal(wanted, executor.submitToMember(Fixtures.Task.append("m"), member).get(20, TimeUnit.SECONDS));
        Map<Member, Future<String>> everywhere = executor.submitToAllMembers(Fixtures.Task.append("m"));
        Suite.equal(Set.of(member), everywhere.keySet());
        Suite.equal(wanted, everywhere.get(member).get(20, TimeUnit.SECONDS));
        Suite.equal(null, executor.submit(Fixtures.Task.returnNull()).get(20, TimeUnit.SECONDS));
    }

    private static void errors() throws Exception {
        IExecutorService executor = Suite.client.getExecutorService(Suite.name());
        Suite.fails(ExecutionException.class, () -> executor.submit(Fixtures.Task.fail()).get(20, TimeUnit.SECONDS));
        Suite.no(executor.isShutdown());
        executor.shutdown();
        Suite.eventually("the executor is shut down", executor::isShutdown);
    }
}
