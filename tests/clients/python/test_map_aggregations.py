"""Aggregations and projections: the member computes, the client gets the result."""

import pytest
from hazelcast import aggregator as agg
from hazelcast.config import IntType
from hazelcast.errors import HazelcastError
from hazelcast.predicate import equal, false, greater, less
from hazelcast.projection import identity, multi_attribute, single_attribute
from people import Person, PersonPortable, TeamPortable

AGES = [20 + i for i in range(10)]

# over ten people, whose ages are ints
OVER_INTS = {
    "count": (agg.count("age"), 10),
    "count of entries": (agg.count(), 10),
    "distinct": (agg.distinct("city"), {"Oslo", "Rome"}),
    "int_sum": (agg.int_sum("age"), sum(AGES)),
    "int_avg": (agg.int_avg("age"), 24.5),
    "number_avg": (agg.number_avg("age"), 24.5),
    "fixed_point_sum": (agg.fixed_point_sum("age"), sum(AGES)),
    "floating_point_sum": (agg.floating_point_sum("age"), float(sum(AGES))),
    "min": (agg.min_("age"), 20),
    "max": (agg.max_("age"), 29),
    "min of text": (agg.min_("name"), "Person 0"),
    "max of text": (agg.max_("name"), "Person 9"),
}


@pytest.fixture(scope="module")
def compact_people(client):
    made = client.get_map("people-for-aggregations").blocking()
    made.put_all({i: Person.number(i) for i in range(10)})
    yield made
    made.destroy()


@pytest.mark.parametrize("case", OVER_INTS)
def test_over_ints(compact_people, case):
    aggregator, wanted = OVER_INTS[case]
    assert compact_people.aggregate(aggregator) == wanted


@pytest.mark.parametrize("aggregator, wanted", [(agg.double_sum("this"), 10.0), (agg.double_avg("this"), 2.5)], ids=["sum", "avg"])
def test_over_doubles(a_map, aggregator, wanted):
    a_map.put_all({i: float(i) for i in range(1, 5)})
    assert a_map.aggregate(aggregator) == wanted


@pytest.mark.parametrize("aggregator, wanted", [(agg.long_sum("this"), 6 << 40), (agg.long_avg("this"), 2 << 40)], ids=["sum", "avg"])
def test_over_longs(new_client, name, aggregator, wanted):
    longs = new_client(default_int_type=IntType.LONG).get_map(name).blocking()
    longs.put_all({i: i << 40 for i in range(1, 4)})
    assert longs.aggregate(aggregator) == wanted
    longs.destroy()


@pytest.mark.parametrize("aggregator, wanted", [(agg.max_by("age"), 9), (agg.min_by("age"), 0)], ids=["max", "min"])
def test_entry_with_the_extreme(compact_people, aggregator, wanted):
    entry = compact_people.aggregate(aggregator)
    assert (entry.key, entry.value) == (wanted, Person.number(wanted))


def test_portable_objects_within_a_result(a_map):
    """Their offsets count from the first byte of the whole result."""
    ann, bob = PersonPortable("Ann", 1), PersonPortable("Bob", 2)
    team = TeamPortable(ann, [bob, ann], [1, 2])
    a_map.put_all({1: ann, 2: bob, 3: ann})
    assert a_map.aggregate(agg.distinct()) == {ann, bob}
    entry = a_map.aggregate(agg.max_by("age"))
    assert (entry.key, entry.value) == (2, bob)
    a_map.clear()
    a_map.put("team", team)
    assert a_map.aggregate(agg.distinct("leader")) == {ann}
    assert a_map.aggregate(agg.distinct("people[any]")) == {ann, bob}
    assert a_map.project(single_attribute("leader")) == [ann]
    (found,) = a_map.aggregate(agg.distinct())
    assert (found.leader, found.people, found.scores) == (ann, [bob, ann], [1, 2])


def test_with_a_predicate(compact_people):
    assert compact_people.aggregate(agg.count(), equal("city", "Rome")) == 5
    assert compact_people.aggregate(agg.int_sum("age"), less("age", 22)) == 41


@pytest.mark.parametrize(
    "aggregator, wanted",
    [(agg.count(), 0), (agg.int_sum("age"), 0), (agg.max_("age"), None), (agg.int_avg("age"), None), (agg.distinct("age"), set())],
    ids=["count", "sum", "max", "avg", "distinct"],
)
def test_of_nothing(compact_people, aggregator, wanted):
    assert compact_people.aggregate(aggregator, false()) == wanted


def test_over_json(people):
    assert people.aggregate(agg.fixed_point_sum("age")) == sum(AGES)
    assert people.aggregate(agg.distinct("home.city")) == {"Oslo", "Rome"}


def test_a_sum_of_text_is_an_error(compact_people):
    with pytest.raises(HazelcastError):
        compact_people.aggregate(agg.int_sum("name"))
    assert compact_people.size() == 10


def test_project_one_attribute(compact_people):
    assert sorted(compact_people.project(single_attribute("age"))) == AGES


def test_project_several_attributes(compact_people):
    found = compact_people.project(multi_attribute("age", "city"), less("age", 22))
    assert sorted(map(list, found)) == [[20, "Oslo"], [21, "Rome"]]


def test_project_whole_entries(compact_people):
    found = compact_people.project(identity(), greater("age", 28))
    assert [(entry.key, entry.value) for entry in found] == [(9, Person.number(9))]


def test_project_json(people):
    assert sorted(people.project(single_attribute("home.city"), less("age", 22))) == ["Oslo", "Rome"]
