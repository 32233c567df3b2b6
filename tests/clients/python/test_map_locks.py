"""A lock belongs to a thread of a client, may have a lease, and holds off writes of all others."""

from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest
from hazelcast.errors import HazelcastError
from waiting import eventually


@pytest.fixture
def elsewhere():
    """Runs a call on another thread, which is another lock owner."""
    with ThreadPoolExecutor(1) as pool:
        yield lambda call, *args, **named: pool.submit(call, *args, **named).result(60)


def test_lock_and_unlock(a_map):
    assert not a_map.is_locked("k")
    a_map.lock("k")
    assert a_map.is_locked("k")
    a_map.unlock("k")
    assert not a_map.is_locked("k")


def test_a_lock_needs_no_entry(a_map):
    a_map.lock("k")
    assert not a_map.contains_key("k")
    a_map.unlock("k")


def test_the_owner_may_lock_again_and_must_unlock_as_often(a_map):
    a_map.lock("k")
    a_map.lock("k")
    a_map.unlock("k")
    assert a_map.is_locked("k")
    a_map.unlock("k")
    assert not a_map.is_locked("k")


def test_try_lock_of_a_free_key(a_map):
    assert a_map.try_lock("k")
    a_map.unlock("k")


def test_try_lock_of_anothers_key_is_refused(a_map, elsewhere):
    elsewhere(a_map.lock, "k")
    assert not a_map.try_lock("k")
    assert not a_map.try_lock("k", timeout=0.2)
    elsewhere(a_map.unlock, "k")
    assert a_map.try_lock("k")
    a_map.unlock("k")


def test_try_lock_waits_for_the_release(a_map, elsewhere):
    a_map.lock("k")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(a_map.try_lock, "k", None, 60)
        a_map.unlock("k")
        assert waiting.result(60)


def test_lock_waits_for_the_release(a_map):
    a_map.lock("k")
    got = []
    waiter = Thread(target=lambda: (a_map.lock("k"), got.append(1), a_map.unlock("k")))
    waiter.start()
    assert not got
    a_map.unlock("k")
    waiter.join(60)
    assert got == [1]


def test_a_lease_ends_the_lock(a_map, elsewhere):
    a_map.lock("k", lease_time=1)
    assert a_map.is_locked("k")
    eventually(lambda: not a_map.is_locked("k"))
    assert elsewhere(a_map.try_lock, "k")


def test_try_lock_with_a_lease(a_map):
    assert a_map.try_lock("k", lease_time=1, timeout=1)
    eventually(lambda: not a_map.is_locked("k"))


def test_only_the_owner_unlocks(a_map, elsewhere):
    elsewhere(a_map.lock, "k")
    with pytest.raises(HazelcastError):
        a_map.unlock("k")
    assert a_map.is_locked("k")
    elsewhere(a_map.unlock, "k")


def test_unlock_of_a_free_key_is_an_error(a_map):
    with pytest.raises(HazelcastError):
        a_map.unlock("k")


def test_force_unlock_by_anybody(a_map, elsewhere):
    elsewhere(a_map.lock, "k")
    elsewhere(a_map.lock, "k")
    a_map.force_unlock("k")
    assert not a_map.is_locked("k")


def test_writes_of_others_wait_and_reads_do_not(a_map, elsewhere):
    a_map.put("k", "a")
    elsewhere(a_map.lock, "k")
    assert a_map.get("k") == "a"
    assert not a_map.try_put("k", "b", 0.2)
    assert not a_map.try_remove("k", 0.2)
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(a_map.put, "k", "b")
        assert a_map.get("k") == "a"
        elsewhere(a_map.unlock, "k")
        assert write.result(60) == "a"
    assert a_map.get("k") == "b"


def test_the_owner_writes(a_map):
    a_map.lock("k")
    a_map.put("k", "a")
    assert a_map.get("k") == "a"
    a_map.unlock("k")


def test_locks_of_a_client_that_leaves_are_released(a_map, name, new_client):
    other = new_client()
    other.get_map(name).blocking().lock("k")
    assert a_map.is_locked("k")
    other.shutdown()
    eventually(lambda: not a_map.is_locked("k"))


def test_one_lock_holds_off_one_key(a_map, elsewhere):
    elsewhere(a_map.lock, "k")
    assert a_map.try_lock("other")
    a_map.unlock("other")
    elsewhere(a_map.unlock, "k")
