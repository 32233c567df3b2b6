// The CP subsystem. The Java client of 5.5 refuses it without an Enterprise license, so `run.sh` runs these tests with that of 5.4.

import com.hazelcast.cp.IAtomicLong;
import com.hazelcast.cp.IAtomicReference;
import com.hazelcast.cp.ICountDownLatch;
import com.hazelcast.cp.ISemaphore;
import com.hazelcast.cp.lock.FencedLock;
import com.hazelcast.spi.exception.DistributedObjectDestroyedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

final class CpTests {
    private CpTests() {
    }

    static void addTo(Suite suite) {
        suite.testIf(Suite.HAS_CP, "CP: atomic long", CpTests::atomicLong);
        suite.testIf(Suite.HAS_CP, "CP: atomic reference", CpTests::atomicReference);
        suite.testIf(Suite.HAS_CP, "CP: latch", CpTests::latch);
        suite.testIf(Suite.HAS_CP, "CP: semaphore", () -> semaphore(Suite.name()));
        suite.testIf(Suite.HAS_CP, "CP: semaphore without sessions", () -> semaphore("sessionless-" + Suite.name()));
        suite.testIf(Suite.HAS_CP, "CP: lock", CpTests::lock);
        suite.testIf(Suite.HAS_CP, "CP: one holds a lock at a time", CpTests::oneAtATime);
    }

    private static void atomicLong() throws Exception {
        IAtomicLong number = Suite.client.getCPSubsystem().getAtomicLong(Suite.name());
        Suite.equal(5L, number.addAndGet(5));
        Suite.equal(5L, number.getAndIncrement());
        Suite.yes(number.compareAndSet(6, 7));
        Suite.no(number.compareAndSet(6, 8));
        Suite.equal(7L, number.getAndSet(3));
        number.alter(new Fixtures.Multiply(2));
        Suite.equal(30L, number.alterAndGet(new Fixtures.Multiply(5)));
        Suite.equal(30L, number.getAndAlter(new Fixtures.Multiply(-1)));
        Suite.equal(-60L, number.apply(new Fixtures.Multiply(2)));
        Suite.equal(-30L, number.get());
        number.destroy();
        Suite.fails(DistributedObjectDestroyedException.class, number::get);
    }

    private static void atomicReference() {
        IAtomicReference<String> reference = Suite.client.getCPSubsystem().getAtomicReference(Suite.name());
        Suite.yes(reference.isNull());
        Suite.yes(reference.compareAndSet(null, "a"));
        Suite.no(reference.compareAndSet(null, "b"));
        Suite.yes(reference.contains("a"));
        Suite.equal("ab", reference.alterAndGet(new Fixtures.AppendText("b")));
        Suite.equal("ab!", reference.apply(new Fixtures.AppendText("!")));
        Suite.equal("ab", reference.getAndSet("c"));
        reference.clear();
        Suite.equal(null, reference.get());
    }

    private static void latch() throws Exception {
        ICountDownLatch latch = Suite.client.getCPSubsystem().getCountDownLatch(Suite.name());
        Suite.yes(latch.trySetCount(2));
        Suite.no(latch.trySetCount(3));
        Suite.no(latch.await(20, TimeUnit.MILLISECONDS));
        Future<Boolean> waits = Suite.ELSEWHERE.submit(() -> latch.await(20, TimeUnit.SECONDS));
        latch.countDown();
        Suite.equal(1, latch.getCount());
        latch.countDown();
        Suite.yes(waits.get(20, TimeUnit.SECONDS));
    }

    private static void semaphore(String name) throws Exception {
        ISemaphore semaphore = Suite.client.getCPSubsystem().getSemaphore(name);
        Suite.yes(semaphore.init(3));
        Suite.no(semaphore.init(5));
        semaphore.acquire(2);
        Suite.yes(semaphore.tryAcquire());
        Suite.no(semaphore.tryAcquire(1, 20, TimeUnit.MILLISECONDS));
        Future<?> waits = Suite.ELSEWHERE.submit(() -> {
            semaphore.acquire(2);
            return null;
        });
        semaphore.release(2);
        waits.get(20, TimeUnit.SECONDS);
        semaphore.release(3);
        semaphore.reducePermits(1);
        semaphore.increasePermits(3);
        Suite.equal(5, semaphore.drainPermits());
        Suite.equal(0, semaphore.availablePermits());
    }

    private static void lock() throws Exception {
        FencedLock lock = Suite.client.getCPSubsystem().getLock(Suite.name());
        long fence = lock.lockAndGetFence();
        Suite.yes(FencedLock.INVALID_FENCE != fence);
        lock.lock();
        Suite.equal(2, lock.getLockCount());
        Suite.yes(lock.isLockedByCurrentThread());
        Suite.no(Suite.elsewhere(() -> lock.tryLock()));
        Suite.no(Suite.elsewhere(() -> lock.tryLock(20, TimeUnit.MILLISECONDS)));
        Suite.fails(IllegalMonitorStateException.class, () -> Suite.elsewhere(() -> {
            lock.unlock();
            return null;
        }));
        lock.unlock();
        Future<Long> next = Suite.ELSEWHERE.submit(() -> lock.lockAndGetFence());
        lock.unlock();
        Suite.yes(next.get(20, TimeUnit.SECONDS) > fence);
    }

    private static void oneAtATime() throws Exception {
        FencedLock lock = Suite.client.getCPSubsystem().getLock(Suite.name());
        // Guarded by the lock alone.
        List<Long> fences = new ArrayList<>();
        List<Future<?>> workers = new ArrayList<>();
        for (int worker = 0; worker < 4; worker++) {
            workers.add(Suite.ELSEWHERE.submit(() -> {
                for (int i = 0; i < 25; i++) {
                    fences.add(lock.lockAndGetFence());
                    lock.unlock();
                }
            }));
        }
        for (Future<?> worker : workers) {
            worker.get(20, TimeUnit.SECONDS);
        }
        Suite.equal(100, fences.size());
        Suite.equal(fences.stream().sorted().distinct().toList(), fences);
    }
}
