"""The CP subsystem: atomic longs and references, latches, semaphores, locks. Hazelcast has it in its Enterprise edition only."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from fixtures import AppendText, Multiply
from hazelcast.errors import (
    ClassCastError,
    DistributedObjectDestroyedError,
    HazelcastSerializationError,
    IllegalMonitorStateError,
    IllegalStateError,
)
from waiting import eventually

pytestmark = pytest.mark.filbert_only


@pytest.fixture
def elsewhere():
    with ThreadPoolExecutor(8) as pool:
        yield pool


def test_an_atomic_long(client, name):
    number = client.cp_subsystem.get_atomic_long(name).blocking()
    assert number.get() == 0
    assert number.add_and_get(5) == 5 and number.get_and_add(2) == 5
    assert number.increment_and_get() == 8 and number.get_and_increment() == 8
    assert number.decrement_and_get() == 8 and number.get_and_decrement() == 8
    assert number.compare_and_set(7, 10) and not number.compare_and_set(7, 11)
    assert number.get_and_set(1) == 10
    number.set(-(2**63))
    assert number.get() == -(2**63)


@pytest.mark.needs_fixtures
def test_functions_change_an_atomic_long(client, name):
    number = client.cp_subsystem.get_atomic_long(name).blocking()
    number.set(3)
    number.alter(Multiply(2))
    assert number.alter_and_get(Multiply(5)) == 30 and number.get_and_alter(Multiply(-1)) == 30
    assert number.apply(Multiply(2)) == -60 and number.get() == -30
    with pytest.raises(HazelcastSerializationError):
        number.alter("no function")


def test_threads_count_together(client, name, elsewhere):
    number = client.cp_subsystem.get_atomic_long(name).blocking()
    done = [elsewhere.submit(lambda: [number.increment_and_get() for _ in range(100)]) for _ in range(8)]
    taken = [one for future in done for one in future.result(60)]
    assert sorted(taken) == list(range(1, 801))


def test_a_group_has_structures_of_its_own(client, name):
    here = client.cp_subsystem.get_atomic_long(name).blocking()
    there = client.cp_subsystem.get_atomic_long(f"{name}@mine").blocking()
    same = client.cp_subsystem.get_atomic_long(f"{name}@default").blocking()
    here.set(1)
    there.set(2)
    assert (here.get(), there.get(), same.get()) == (1, 2, 1)


def test_what_was_destroyed_stays_destroyed(client, name):
    number = client.cp_subsystem.get_atomic_long(name).blocking()
    number.destroy()
    number.destroy()
    for again in (number, client.cp_subsystem.get_atomic_long(name).blocking()):
        with pytest.raises(DistributedObjectDestroyedError):
            again.get()


def test_an_atomic_reference(client, name):
    reference = client.cp_subsystem.get_atomic_reference(name).blocking()
    assert reference.get() is None and reference.is_none() and reference.contains(None)
    assert reference.compare_and_set(None, "a") and not reference.compare_and_set(None, "b")
    assert reference.get_and_set([1, 2]) == "a" and reference.get() == [1, 2]
    reference.set("b")
    assert reference.contains("b") and not reference.contains("a")
    reference.clear()
    assert reference.is_none()


@pytest.mark.needs_fixtures
def test_functions_change_an_atomic_reference(client, name):
    reference = client.cp_subsystem.get_atomic_reference(name).blocking()
    reference.set("a")
    assert reference.alter(AppendText("b")) is None and reference.get() == "ab"
    assert reference.alter_and_get(AppendText("c")) == "abc" and reference.get_and_alter(AppendText("d")) == "abc"
    assert reference.apply(AppendText("!")) == "abcd!" and reference.get() == "abcd"
    reference.set(1)
    with pytest.raises(ClassCastError):
        reference.alter(AppendText("b"))
    assert reference.get() == 1


def test_a_latch(client, name, elsewhere):
    latch = client.cp_subsystem.get_count_down_latch(name).blocking()
    assert latch.get_count() == 0 and latch.await_latch(0)
    assert latch.try_set_count(2) and not latch.try_set_count(3)
    assert not latch.await_latch(0) and not latch.await_latch(0.1)
    waiting = [elsewhere.submit(latch.await_latch, 60) for _ in range(5)]
    latch.count_down()
    assert latch.get_count() == 1
    latch.count_down()
    assert all(future.result(60) for future in waiting)
    latch.count_down()
    assert latch.get_count() == 0 and latch.try_set_count(1)


@pytest.fixture(params=["sessionless", "sessionaware"])
def semaphore(client, name, request):
    return client.cp_subsystem.get_semaphore(f"{request.param}-{name}").blocking()


@pytest.mark.needs_config
def test_a_semaphore(semaphore, elsewhere):
    assert semaphore.available_permits() == 0
    assert semaphore.init(3) and not semaphore.init(5)
    semaphore.acquire(2)
    assert semaphore.try_acquire() and not semaphore.try_acquire() and not semaphore.try_acquire(1, 0.1)
    waiting = elsewhere.submit(semaphore.acquire, 2)
    semaphore.release(2)
    waiting.result(60)
    semaphore.release(3)
    semaphore.reduce_permits(1)
    semaphore.increase_permits(3)
    assert semaphore.drain_permits() == 5 and semaphore.available_permits() == 0


@pytest.mark.needs_config
def test_who_waits_is_told_when_it_is_destroyed(semaphore, elsewhere):
    waiting = elsewhere.submit(semaphore.acquire)
    semaphore.destroy()
    with pytest.raises(DistributedObjectDestroyedError):
        waiting.result(60)


def test_permits_go_back_with_their_client(client, new_client, name):
    semaphore, other = client.cp_subsystem.get_semaphore(name).blocking(), new_client()
    semaphore.init(2)
    other.cp_subsystem.get_semaphore(name).blocking().acquire(2)
    assert semaphore.available_permits() == 0
    semaphore_of_other = client.cp_subsystem.get_semaphore(name).blocking()
    with pytest.raises(IllegalStateError):
        semaphore_of_other.release()
    other.shutdown()
    eventually(lambda: semaphore.available_permits() == 2, "the permits of a client that is gone")


def test_a_lock(client, name, elsewhere):
    lock = client.cp_subsystem.get_lock(name).blocking()
    first = lock.lock()
    assert first != lock.INVALID_FENCE and lock.lock() == first and lock.get_lock_count() == 2
    assert lock.is_locked() and lock.is_locked_by_current_thread()
    assert elsewhere.submit(lock.try_lock).result(30) == lock.INVALID_FENCE
    assert elsewhere.submit(lock.try_lock, 0.1).result(30) == lock.INVALID_FENCE
    with pytest.raises(IllegalMonitorStateError):
        elsewhere.submit(lock.unlock).result(30)
    lock.unlock()
    waiting = elsewhere.submit(lock.lock)
    lock.unlock()
    assert waiting.result(60) > first
    assert lock.is_locked() and not lock.is_locked_by_current_thread()


def test_one_holds_a_lock_at_a_time(client, name, elsewhere):
    lock, inside, seen = client.cp_subsystem.get_lock(name).blocking(), [], []

    def work():
        for _ in range(10):
            fence = lock.lock()
            inside.append(fence)
            assert inside == [fence]
            seen.append(fence)
            inside.remove(fence)
            lock.unlock()

    for future in [elsewhere.submit(work) for _ in range(8)]:
        future.result(60)
    assert seen == sorted(set(seen)) and len(seen) == 80


def test_a_lock_goes_with_its_client(client, new_client, name):
    lock, other = client.cp_subsystem.get_lock(name).blocking(), new_client()
    other.cp_subsystem.get_lock(name).blocking().lock()
    assert lock.is_locked()
    other.shutdown()
    eventually(lambda: not lock.is_locked(), "the lock of a client that is gone")
    assert lock.try_lock() != lock.INVALID_FENCE


def test_they_are_no_distributed_objects(client, name):
    client.cp_subsystem.get_atomic_long(name).blocking().set(1)
    assert name not in [proxy.name for proxy in client.get_distributed_objects()]
