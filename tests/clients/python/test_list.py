"""IList: every method."""

import pytest
from hazelcast.errors import HazelcastError, IndexOutOfBoundsError
from hazelcast.proxy.base import ItemEventType
from waiting import Seen


@pytest.fixture
def abc(a_list):
    a_list.add_all(["a", "b", "c"])
    return a_list


def test_add_and_get(a_list):
    assert a_list.add("a") and a_list.add("a")
    assert a_list.get(0) == "a" and a_list.get(1) == "a"
    assert a_list.size() == 2


def test_add_at(abc):
    abc.add_at(1, "x")
    assert abc.get_all() == ["a", "x", "b", "c"]


def test_add_all(a_list):
    assert a_list.add_all(["a", "b"])
    assert not a_list.add_all([])
    assert a_list.get_all() == ["a", "b"]


def test_add_all_at(abc):
    assert abc.add_all_at(1, ["x", "y"])
    assert abc.get_all() == ["a", "x", "y", "b", "c"]


def test_set_at_gives_back_the_previous(abc):
    assert abc.set_at(1, "x") == "b"
    assert abc.get_all() == ["a", "x", "c"]


def test_remove_at_gives_back_the_item(abc):
    assert abc.remove_at(0) == "a"
    assert abc.get_all() == ["b", "c"]


def test_remove_takes_the_first(a_list):
    a_list.add_all(["a", "b", "a"])
    assert a_list.remove("a")
    assert a_list.get_all() == ["b", "a"]
    assert not a_list.remove("x")


def test_remove_all(abc):
    assert abc.remove_all(["a", "c", "x"])
    assert abc.get_all() == ["b"]
    assert not abc.remove_all(["x"])


def test_retain_all(abc):
    assert abc.retain_all(["b", "x"])
    assert abc.get_all() == ["b"]
    assert not abc.retain_all(["b"])


def test_contains(abc):
    assert abc.contains("a") and not abc.contains("x")
    assert abc.contains_all(["a", "c"]) and not abc.contains_all(["a", "x"])


def test_index_of(a_list):
    a_list.add_all(["a", "b", "a"])
    assert (a_list.index_of("a"), a_list.last_index_of("a")) == (0, 2)
    assert (a_list.index_of("x"), a_list.last_index_of("x")) == (-1, -1)


def test_sub_list(abc):
    assert abc.sub_list(1, 3) == ["b", "c"]
    assert abc.sub_list(1, 1) == []


def test_iterators(abc):
    assert list(abc.iterator()) == ["a", "b", "c"]
    assert list(abc.list_iterator(1)) == ["b", "c"]


def test_clear_and_empty(client, abc, name):
    def is_empty():
        return client.get_list(name).is_empty().result()  # the blocking form of 5.7.0 gives back a future

    assert not is_empty()
    abc.clear()
    assert is_empty() and abc.size() == 0


OUTSIDE = {
    "get": lambda m: m.get(3),
    "set": lambda m: m.set_at(3, "x"),
    "add": lambda m: m.add_at(9, "x"),
    "remove": lambda m: m.remove_at(9),
    "sub list": lambda m: m.sub_list(2, 9),
}


@pytest.mark.parametrize("call", OUTSIDE.values(), ids=OUTSIDE)
def test_outside_the_list_is_an_error(abc, call):
    with pytest.raises(IndexOutOfBoundsError):
        call(abc)
    assert abc.size() == 3


@pytest.mark.parametrize("include_value", [True, False])
def test_listener(a_list, include_value):
    added, removed = Seen(), Seen()
    registration = a_list.add_listener(include_value=include_value, item_added_func=added, item_removed_func=removed)
    a_list.add("a")
    a_list.remove("a")
    assert [(e.event_type, e.item) for e in added.wait_for(1)] == [(ItemEventType.ADDED, "a" if include_value else None)]
    assert [(e.event_type, e.item) for e in removed.wait_for(1)] == [(ItemEventType.REMOVED, "a" if include_value else None)]
    assert a_list.remove_listener(registration)
    assert not a_list.remove_listener(registration)


@pytest.mark.needs_config
def test_a_full_list_refuses(client, name):
    bounded = client.get_list(f"bounded-{name}").blocking()
    assert [bounded.add(i) for i in range(5)] == [True, True, True, False, False]
    assert not bounded.add_all([1, 2])
    bounded.destroy()


def test_many_items_keep_their_order(a_list):
    a_list.add_all(list(range(5000)))
    assert a_list.get_all() == list(range(5000))


def test_a_wrong_index_leaves_the_connection_alive(a_list):
    with pytest.raises(HazelcastError):
        a_list.get(-1)
    assert a_list.add(1)
