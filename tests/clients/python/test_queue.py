"""IQueue: every method, also those that wait. `bounded*` queues hold six items."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hazelcast.errors import IllegalStateError
from hazelcast.proxy.base import ItemEventType
from waiting import Seen


@pytest.fixture
def bounded(client, name):
    made = client.get_queue(f"bounded-{name}").blocking()
    yield made
    made.destroy()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(4) as pool:
        yield pool


def test_first_in_first_out(a_queue):
    for item in "abc":
        assert a_queue.offer(item)
    assert [a_queue.poll() for _ in range(4)] == ["a", "b", "c", None]


def test_peek_leaves_the_item(a_queue):
    assert a_queue.peek() is None
    a_queue.add("a")
    assert a_queue.peek() == "a" and a_queue.size() == 1


def test_size_and_empty(a_queue):
    assert a_queue.is_empty() and a_queue.size() == 0
    a_queue.add("a")
    assert not a_queue.is_empty() and a_queue.size() == 1
    a_queue.clear()
    assert a_queue.is_empty()


def test_put_and_take(a_queue):
    a_queue.put("a")
    assert a_queue.take() == "a"


def test_add_all_and_iterator(a_queue):
    assert a_queue.add_all(["a", "b", "c"])
    assert list(a_queue.iterator()) == ["a", "b", "c"]


def test_contains(a_queue):
    a_queue.add_all(["a", "b"])
    assert a_queue.contains("a") and not a_queue.contains("x")
    assert a_queue.contains_all(["a", "b"]) and not a_queue.contains_all(["a", "x"])


def test_remove(a_queue):
    a_queue.add_all(["a", "b", "a"])
    assert a_queue.remove("a") and not a_queue.remove("x")
    assert list(a_queue.iterator()) == ["b", "a"]


def test_remove_all_and_retain_all(a_queue):
    a_queue.add_all(["a", "b", "c", "d"])
    assert a_queue.remove_all(["a", "x"]) and not a_queue.remove_all(["x"])
    assert a_queue.retain_all(["b", "c"]) and not a_queue.retain_all(["b", "c"])
    assert list(a_queue.iterator()) == ["b", "c"]


def test_drain_to(a_queue):
    a_queue.add_all(["a", "b", "c"])
    into = []
    assert a_queue.drain_to(into) == 3
    assert into == ["a", "b", "c"] and a_queue.is_empty()


def test_drain_to_some(a_queue):
    a_queue.add_all(["a", "b", "c"])
    into = ["before"]
    assert a_queue.drain_to(into, 2) == 2
    assert into == ["before", "a", "b"] and a_queue.size() == 1


@pytest.mark.needs_config
def test_a_full_queue_refuses(bounded):
    bounded.add_all(list(range(6)))
    assert bounded.remaining_capacity() == 0
    assert not bounded.offer("x")
    assert not bounded.offer("x", 0.2)
    with pytest.raises(IllegalStateError):
        bounded.add("x")
    assert bounded.size() == 6


@pytest.mark.needs_config
def test_remaining_capacity(bounded):
    assert bounded.remaining_capacity() == 6
    bounded.add("a")
    assert bounded.remaining_capacity() == 5


@pytest.mark.needs_config
def test_a_waiting_offer_goes_in_when_there_is_room(bounded, pool):
    bounded.add_all(list(range(6)))
    waiting = pool.submit(bounded.offer, "late", 60)
    assert bounded.take() == 0
    assert waiting.result(60)
    assert list(bounded.iterator()) == [1, 2, 3, 4, 5, "late"]


@pytest.mark.needs_config
def test_a_waiting_put_goes_in_when_there_is_room(bounded, pool):
    bounded.add_all(list(range(6)))
    waiting = pool.submit(bounded.put, "late")
    assert not waiting.done()
    bounded.poll()
    waiting.result(60)
    assert bounded.contains("late")


def test_a_poll_with_a_time_out_ends_empty(a_queue):
    assert a_queue.poll(0.2) is None


def test_a_waiting_poll_gets_the_item(a_queue, pool):
    waiting = pool.submit(a_queue.poll, 60)
    a_queue.offer("a")
    assert waiting.result(60) == "a"


def test_a_waiting_take_gets_the_item(a_queue, pool):
    waiting = pool.submit(a_queue.take)
    a_queue.offer("a")
    assert waiting.result(60) == "a"


def test_each_item_goes_to_one_of_the_waiting(a_queue, pool):
    waiting = [pool.submit(a_queue.poll, 60) for _ in range(4)]
    for item in range(4):
        a_queue.offer(item)
    assert sorted(future.result(60) for future in waiting) == [0, 1, 2, 3]


def test_waiting_holds_up_nobody(client, a_queue, name):
    """Many calls wait at the member; others are served meanwhile."""
    waiting = [client.get_queue(name).take() for _ in range(200)]
    other = client.get_queue(name + "-other").blocking()
    assert other.offer(1) and other.take() == 1
    a_queue.add_all(list(range(200)))
    assert sorted(future.result() for future in waiting) == list(range(200))
    other.destroy()


@pytest.mark.parametrize("include_value", [True, False])
def test_listener(a_queue, include_value):
    added, removed = Seen(), Seen()
    registration = a_queue.add_listener(include_value=include_value, item_added_func=added, item_removed_func=removed)
    a_queue.offer("a")
    a_queue.poll()
    item = "a" if include_value else None
    assert [(e.event_type, e.item) for e in added.wait_for(1)] == [(ItemEventType.ADDED, item)]
    assert [(e.event_type, e.item) for e in removed.wait_for(1)] == [(ItemEventType.REMOVED, item)]
    assert a_queue.remove_listener(registration)
    assert not a_queue.remove_listener(registration)
