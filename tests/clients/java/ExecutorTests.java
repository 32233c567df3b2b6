// Executors beside the plain one: tasks for later, tasks whose results are kept, tasks that are cancelled.

import com.hazelcast.cluster.Member;
import com.hazelcast.core.IExecutorService;
import com.hazelcast.durableexecutor.DurableExecutorService;
import com.hazelcast.durableexecutor.DurableExecutorServiceFuture;
import com.hazelcast.scheduledexecutor.DuplicateTaskException;
import com.hazelcast.scheduledexecutor.IScheduledExecutorService;
import com.hazelcast.scheduledexecutor.IScheduledFuture;
import com.hazelcast.scheduledexecutor.ScheduledTaskHandler;
import com.hazelcast.scheduledexecutor.ScheduledTaskStatistics;
import com.hazelcast.scheduledexecutor.StaleTaskException;
import com.hazelcast.scheduledexecutor.TaskUtils;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

final class ExecutorTests {
    private ExecutorTests() {
    }

    static void addTo(Suite suite) {
        suite.testIf(Suite.HAS_FIXTURES, "executor: a runnable, and a task that is cancelled", ExecutorTests::cancelled);
        suite.testIf(Suite.HAS_FIXTURES, "scheduled executor: once", ExecutorTests::once);
        suite.testIf(Suite.HAS_FIXTURES, "scheduled executor: at a fixed rate", ExecutorTests::atFixedRate);
        suite.testIf(Suite.HAS_FIXTURES, "scheduled executor: names, places and handlers", ExecutorTests::names);
        suite.testIf(Suite.HAS_FIXTURES, "scheduled executor: errors, a bound and an end", ExecutorTests::errors);
        suite.testIf(Suite.HAS_FIXTURES, "durable executor: results are kept", ExecutorTests::durable);
        suite.testIf(Suite.HAS_FIXTURES, "durable executor: errors and an end", ExecutorTests::durableErrors);
    }

    private static void cancelled() throws Exception {
        IExecutorService executor = Suite.client.getExecutorService(Suite.name());
        // The client sends the task alone, so the member cannot tell that it is a runnable.
        Suite.equal("m:CallableResult", executor.submit(new Fixtures.Job("m")).get(20, TimeUnit.SECONDS));
        Future<Boolean> sleeps = executor.submitToKeyOwner(Fixtures.Task.sleep(2_000), "k");
        Suite.yes(sleeps.cancel(true));
        Suite.yes(sleeps.isCancelled());
        Suite.fails(CancellationException.class, () -> sleeps.get(20, TimeUnit.SECONDS));
        Future<String> done = executor.submitToKeyOwner(Fixtures.Task.append("m"), "k");
        Suite.equal("m:CallableResult", done.get(20, TimeUnit.SECONDS));
        Suite.no(done.cancel(true));
    }

    private static void once() throws Exception {
        IScheduledExecutorService executor = Suite.client.getScheduledExecutorService(Suite.name());
        IScheduledFuture<String> future = executor.schedule(Fixtures.Task.append("m"), 5, TimeUnit.MILLISECONDS);
        Suite.equal("m:CallableResult", future.get(20, TimeUnit.SECONDS));
        Suite.yes(future.isDone());
        Suite.no(future.isCancelled());
        Suite.no(future.cancel(false));
        ScheduledTaskStatistics statistics = future.getStats();
        Suite.equal(1L, statistics.getTotalRuns());
        Suite.yes(statistics.getTotalIdleTime(TimeUnit.NANOSECONDS) > 0);
        IScheduledFuture<Object> runnable = executor.scheduleOnKeyOwner(new Fixtures.Job("m"), "key", 1, TimeUnit.MILLISECONDS);
        Suite.equal(null, runnable.get(20, TimeUnit.SECONDS));
        IScheduledFuture<String> far = executor.scheduleOnKeyOwner(Fixtures.Task.append("m"), "key", 1, TimeUnit.HOURS);
        Suite.yes(far.getDelay(TimeUnit.MINUTES) > 50);
        Suite.fails(TimeoutException.class, () -> far.get(10, TimeUnit.MILLISECONDS));
        Suite.yes(far.cancel(false));
        Suite.yes(far.isCancelled());
        Suite.yes(far.isDone());
        Suite.equal(0L, far.getDelay(TimeUnit.MINUTES));
        Suite.fails(CancellationException.class, () -> far.get(20, TimeUnit.SECONDS));
        executor.destroy();
    }

    private static void atFixedRate() throws Exception {
        IScheduledExecutorService executor = Suite.client.getScheduledExecutorService(Suite.name());
        Member member = Suite.client.getCluster().getMembers().iterator().next();
        List<IScheduledFuture<Object>> futures = List.of(
            executor.scheduleAtFixedRate(new Fixtures.Job("m"), 0, 2, TimeUnit.MILLISECONDS),
            executor.scheduleOnKeyOwnerAtFixedRate(new Fixtures.Job("m"), "k", 1, 2, TimeUnit.MILLISECONDS),
            executor.scheduleOnMemberAtFixedRate(new Fixtures.Job("m"), member, 1, 2, TimeUnit.MILLISECONDS));
        for (IScheduledFuture<Object> future : futures) {
            Suite.eventually("it runs again and again", () -> future.getStats().getTotalRuns() > 3);
            Suite.no(future.isDone());
            Suite.yes(future.cancel(false));
        }
        // An error is the last run.
        IScheduledFuture<Object> fails = executor.scheduleAtFixedRate(new Fixtures.FailingJob(), 0, 1, TimeUnit.MILLISECONDS);
        Suite.fails(ExecutionException.class, () -> fails.get(20, TimeUnit.SECONDS));
        Suite.yes(fails.isDone());
        Suite.equal(1L, fails.getStats().getTotalRuns());
        executor.destroy();
    }

    private static void names() throws Exception {
        IScheduledExecutorService executor = Suite.client.getScheduledExecutorService(Suite.name());
        Member member = Suite.client.getCluster().getMembers().iterator().next();
        Callable<String> named = TaskUtils.named("one", Fixtures.Task.append("m"));
        IScheduledFuture<String> first = executor.schedule(named, 1, TimeUnit.MILLISECONDS);
        Suite.equal("one", first.getHandler().getTaskName());
        Suite.fails(DuplicateTaskException.class, () -> executor.schedule(named, 1, TimeUnit.MILLISECONDS));
        IScheduledFuture<String> there = executor.scheduleOnMember(named, member, 1, TimeUnit.MILLISECONDS);
        Suite.equal("m:CallableResult", there.get(20, TimeUnit.SECONDS));
        Runnable job = TaskUtils.named("job", (Runnable) new Fixtures.Job("m"));
        Suite.equal(null, executor.schedule(job, 1, TimeUnit.MILLISECONDS).get(20, TimeUnit.SECONDS));
        Map<Member, List<IScheduledFuture<Object>>> all = executor.getAllScheduledFutures();
        Suite.equal(3, all.get(member).size());
        for (IScheduledFuture<Object> listed : all.get(member)) {
            listed.get(20, TimeUnit.SECONDS);
            Suite.equal(1L, listed.getStats().getTotalRuns());
        }
        // Another program finds it by its handler.
        String urn = first.getHandler().toUrn();
        IScheduledFuture<String> again = executor.getScheduledFuture(ScheduledTaskHandler.of(urn));
        Suite.equal("m:CallableResult", again.get(20, TimeUnit.SECONDS));
        again.dispose();
        Suite.fails(StaleTaskException.class, () -> first.get(20, TimeUnit.SECONDS));
        executor.schedule(named, 1, TimeUnit.MILLISECONDS);
        Callable<String> unwanted = TaskUtils.autoDisposable(TaskUtils.named("two", Fixtures.Task.append("m")));
        executor.schedule(unwanted, 1, TimeUnit.MILLISECONDS);
        Suite.eventually("it is disposed of", () -> executor.getAllScheduledFutures().get(member).size() == 3);
        executor.destroy();
    }

    private static void errors() throws Exception {
        IScheduledExecutorService executor = Suite.client.getScheduledExecutorService(Suite.name());
        IScheduledFuture<Object> failed = executor.schedule(Fixtures.Task.fail(), 1, TimeUnit.MILLISECONDS);
        Suite.fails(ExecutionException.class, () -> failed.get(20, TimeUnit.SECONDS));
        for (int number = 1; number < 100; number++) {
            executor.schedule(Fixtures.Task.append("m"), 1, TimeUnit.HOURS);
        }
        Suite.fails(RejectedExecutionException.class, () -> executor.schedule(Fixtures.Task.append("m"), 1, TimeUnit.HOURS));
        failed.dispose();
        executor.schedule(Fixtures.Task.append("m"), 1, TimeUnit.HOURS);
        executor.shutdown();
        Suite.fails(RejectedExecutionException.class, () -> executor.schedule(Fixtures.Task.append("m"), 1, TimeUnit.HOURS));
        executor.destroy();
    }

    private static void durable() throws Exception {
        DurableExecutorService executor = Suite.client.getDurableExecutorService(Suite.name());
        DurableExecutorServiceFuture<String> future = executor.submit(Fixtures.Task.append("m"));
        Suite.equal("m:CallableResult", future.get(20, TimeUnit.SECONDS));
        long id = future.getTaskId();
        Suite.equal("m:CallableResult", executor.retrieveResult(id).get(20, TimeUnit.SECONDS));
        Suite.equal("m:CallableResult", executor.retrieveAndDisposeResult(id).get(20, TimeUnit.SECONDS));
        Suite.equal(null, executor.retrieveResult(id).get(20, TimeUnit.SECONDS));
        DurableExecutorServiceFuture<String> ofKey = executor.submitToKeyOwner(Fixtures.Task.append("k"), "key");
        Suite.equal("k:CallableResult", ofKey.get(20, TimeUnit.SECONDS));
        executor.disposeResult(ofKey.getTaskId());
        Suite.equal(null, executor.retrieveResult(ofKey.getTaskId()).get(20, TimeUnit.SECONDS));
        Suite.equal("given", executor.submit(new Fixtures.Job("m"), "given").get(20, TimeUnit.SECONDS));
        executor.execute(new Fixtures.Job("m"));
        executor.destroy();
    }

    private static void durableErrors() throws Exception {
        DurableExecutorService executor = Suite.client.getDurableExecutorService(Suite.name());
        Suite.fails(ExecutionException.class, () -> executor.submit(Fixtures.Task.fail()).get(20, TimeUnit.SECONDS));
        Suite.no(executor.isShutdown());
        executor.shutdown();
        Suite.yes(executor.isShutdown());
        Suite.fails(RejectedExecutionException.class,
            () -> executor.submit(Fixtures.Task.append("m")).get(20, TimeUnit.SECONDS));
        executor.destroy();
    }
}
