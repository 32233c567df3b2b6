"""Time to live and max idle: entries that go by themselves. Tests wait for the end, never for an exact time."""

import pytest
from waiting import eventually


def gone(a_map, key="k"):
    # Asks by size and not by key: a look at the entry would keep an idle one alive.
    return eventually(lambda: a_map.size() == 0, f"{key} expired")


WAYS_TO_LIVE_SHORTLY = {
    "put": lambda m: m.put("k", "v", ttl=1),
    "set": lambda m: m.set("k", "v", ttl=1),
    "put_if_absent": lambda m: m.put_if_absent("k", "v", ttl=1),
    "put_transient": lambda m: m.put_transient("k", "v", ttl=1),
    "set_ttl": lambda m: (m.put("k", "v"), m.set_ttl("k", 1)),
}
WAYS_TO_IDLE_SHORTLY = {
    "put": lambda m: m.put("k", "v", max_idle=1),
    "set": lambda m: m.set("k", "v", max_idle=1),
    "put_if_absent": lambda m: m.put_if_absent("k", "v", max_idle=1),
    "put_transient": lambda m: m.put_transient("k", "v", max_idle=1),
}


@pytest.mark.parametrize("way", WAYS_TO_LIVE_SHORTLY.values(), ids=WAYS_TO_LIVE_SHORTLY)
def test_time_to_live(a_map, way):
    way(a_map)
    eventually(lambda: a_map.get("k") is None)
    assert not a_map.contains_key("k")
    assert a_map.put("k", "again") is None


@pytest.mark.parametrize("way", WAYS_TO_IDLE_SHORTLY.values(), ids=WAYS_TO_IDLE_SHORTLY)
def test_max_idle(a_map, way):
    way(a_map)
    gone(a_map)


def test_a_long_time_to_live_keeps_the_entry(a_map):
    a_map.put("k", "v", ttl=1000)
    assert a_map.get("k") == "v"


def test_put_without_a_time_to_live_ends_an_earlier_one(a_map):
    a_map.put("short", "v", ttl=1)
    a_map.put("k", "v", ttl=1)
    a_map.put("k", "w", ttl=0)
    eventually(lambda: a_map.get("short") is None)
    assert a_map.get("k") == "w"


def test_set_ttl_of_zero_means_for_ever(a_map):
    a_map.put("short", "v", ttl=2)
    a_map.put("k", "v", ttl=2)
    a_map.set_ttl("k", 0)
    eventually(lambda: a_map.get("short") is None)
    assert a_map.get("k") == "v"


def test_expired_entries_are_in_no_collection(a_map):
    a_map.put("k", "v", ttl=1)
    eventually(lambda: not a_map.contains_key("k"))
    assert a_map.key_set() == [] and a_map.values() == [] and a_map.get_all(["k"]) == {}


@pytest.mark.needs_config
def test_time_to_live_of_the_map(client, name):
    short = client.get_map(f"short-lived-{name}").blocking()
    short.put("k", "v")
    short.put("long", "v", ttl=1000)
    eventually(lambda: short.get("k") is None)
    assert short.get("long") == "v"
    short.destroy()


@pytest.mark.needs_config
def test_max_idle_of_the_map(client, name):
    idle = client.get_map(f"idle-{name}").blocking()
    idle.put("k", "v")
    gone(idle)
    idle.destroy()
