"""Entries one by one and in bulk."""

import pytest
from hazelcast.errors import HazelcastError, IllegalArgumentError


def test_get_of_an_absent_key_is_none(a_map):
    assert a_map.get("k") is None


def test_put_gives_back_the_previous_value(a_map):
    assert a_map.put("k", "a") is None
    assert a_map.put("k", "b") == "a"
    assert a_map.get("k") == "b"


def test_set_gives_nothing_back(a_map):
    assert a_map.set("k", "a") is None
    assert a_map.get("k") == "a"


def test_remove_gives_back_the_value(a_map):
    a_map.put("k", "a")
    assert a_map.remove("k") == "a"
    assert a_map.remove("k") is None
    assert not a_map.contains_key("k")


def test_delete_says_nothing(a_map):
    a_map.put("k", "a")
    assert a_map.delete("k") is None
    assert a_map.is_empty()


def test_remove_if_same(a_map):
    a_map.put("k", "a")
    assert not a_map.remove_if_same("k", "b")
    assert a_map.remove_if_same("k", "a")
    assert not a_map.remove_if_same("k", "a")


def test_put_if_absent(a_map):
    assert a_map.put_if_absent("k", "a") is None
    assert a_map.put_if_absent("k", "b") == "a"
    assert a_map.get("k") == "a"


def test_put_transient(a_map):
    a_map.put_transient("k", "a")
    assert a_map.get("k") == "a"


def test_replace_only_what_is_there(a_map):
    assert a_map.replace("k", "a") is None
    assert not a_map.contains_key("k")
    a_map.put("k", "a")
    assert a_map.replace("k", "b") == "a"
    assert a_map.get("k") == "b"


def test_replace_if_same(a_map):
    a_map.put("k", "a")
    assert not a_map.replace_if_same("k", "x", "b")
    assert a_map.get("k") == "a"
    assert a_map.replace_if_same("k", "a", "b")
    assert a_map.get("k") == "b"


def test_try_put_and_try_remove(a_map):
    assert a_map.try_put("k", "a", 1)
    assert a_map.get("k") == "a"
    assert a_map.try_remove("k", 1)
    assert not a_map.contains_key("k")


def test_contains_key_and_value(a_map):
    a_map.put("k", "a")
    assert a_map.contains_key("k") and not a_map.contains_key("other")
    assert a_map.contains_value("a") and not a_map.contains_value("other")


def test_size_and_is_empty(a_map):
    assert a_map.is_empty() and a_map.size() == 0
    a_map.put_all({i: i for i in range(100)})
    assert not a_map.is_empty() and a_map.size() == 100


def test_clear(a_map):
    a_map.put_all({i: i for i in range(100)})
    a_map.clear()
    assert a_map.size() == 0


def test_put_all_and_get_all(a_map):
    wanted = {f"k{i}": i for i in range(1000)}
    a_map.put_all(wanted)
    assert a_map.get_all(list(wanted)) == wanted


def test_get_all_leaves_out_absent_keys(a_map):
    a_map.put("k", 1)
    assert a_map.get_all(["k", "absent"]) == {"k": 1}
    assert a_map.get_all([]) == {}


def test_put_all_of_nothing(a_map):
    a_map.put_all({})
    assert a_map.size() == 0


def test_key_set_values_entry_set(a_map):
    wanted = {f"k{i}": i for i in range(100)}
    a_map.put_all(wanted)
    assert sorted(a_map.key_set()) == sorted(wanted)
    assert sorted(a_map.values()) == sorted(wanted.values())
    assert dict(a_map.entry_set()) == wanted


def test_collections_of_an_empty_map(a_map):
    assert a_map.key_set() == [] and a_map.values() == [] and a_map.entry_set() == []


def test_evict_takes_an_entry_out(a_map):
    a_map.put("k", "a")
    assert a_map.evict("k")
    assert not a_map.evict("k")
    assert a_map.get("k") is None


def test_evict_all_spares_locked_entries(a_map):
    a_map.put_all({"a": 1, "b": 2, "locked": 3})
    a_map.lock("locked")
    a_map.evict_all()
    assert a_map.key_set() == ["locked"]
    a_map.unlock("locked")


def test_flush_without_a_store_does_nothing(a_map):
    a_map.put("k", "a")
    a_map.flush()
    assert a_map.get("k") == "a"


def test_load_all_without_a_store_is_refused(a_map):
    with pytest.raises(IllegalArgumentError):
        a_map.load_all()
    with pytest.raises(HazelcastError):
        a_map.load_all(["k"])


def test_maps_of_different_names_are_apart(client, a_map, name):
    other = client.get_map(name + "-other").blocking()
    a_map.put("k", "a")
    assert other.get("k") is None
    other.destroy()


def test_two_clients_see_the_same_map(a_map, name, new_client):
    a_map.put("k", "a")
    assert new_client().get_map(name).blocking().get("k") == "a"


def test_many_calls_in_flight(client, name):
    """The client sends without waiting; answers find their way back by correlation id."""
    many = client.get_map(name)
    for future in [many.set(i, str(i)) for i in range(2000)]:
        future.result()
    answers = [many.get(i) for i in range(2000)]
    assert [future.result() for future in answers] == [str(i) for i in range(2000)]
    many.blocking().destroy()


def test_values_of_many_sizes(a_map):
    for size in (0, 1, 100, 5_000, 200_000, 3_000_000):
        a_map.set("k", "x" * size)
        assert a_map.get("k") == "x" * size


def test_a_name_with_a_partition_key(client, name):
    """Only the part after @ decides where the map's name hashes to; the whole name is the name."""
    one, two = client.get_map(f"{name}@a").blocking(), client.get_map(f"{name}@b").blocking()
    one.put("k", 1)
    assert two.get("k") is None and one.get("k") == 1
    one.destroy()
    two.destroy()


@pytest.mark.needs_config
def test_a_map_over_its_size_evicts(client, name):
    full = client.get_map(f"evicting-{name}").blocking()
    full.put_all({i: i for i in range(5000)})
    for i in range(5000, 6000):
        full.set(i, i)
    assert 0 < full.size() <= 2000
    full.destroy()
