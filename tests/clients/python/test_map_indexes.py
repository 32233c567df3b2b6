"""Indexes change how fast an answer comes and never what it is."""

import pytest
from hazelcast import predicate as p
from hazelcast.config import IndexType, UniqueKeyTransformation
from people import Person

QUERIES = [
    p.equal("age", 23),
    p.not_equal("age", 23),
    p.between("age", 22, 25),
    p.greater("age", 27),
    p.less_or_equal("age", 21),
    p.in_("age", 20, 25, 99),
    p.equal("city", "Oslo"),
    p.and_(p.equal("city", "Oslo"), p.greater("age", 23)),
    p.or_(p.equal("city", "Rome"), p.less("age", 22)),
    p.not_(p.equal("city", "Rome")),
    p.like("name", "Person 1%"),
    p.sql("city = 'Oslo' AND age > 24"),
]
KINDS = {"sorted": IndexType.SORTED, "hash": IndexType.HASH}


def answers(a_map):
    return [sorted(a_map.key_set(query)) for query in QUERIES]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_same_answers_with_an_index(a_map, kind, when):
    def add():
        a_map.add_index(attributes=["age"], index_type=KINDS[kind], name="by-age")
        a_map.add_index(attributes=["city"], index_type=KINDS[kind])

    people = {i: Person.number(i) for i in range(30)}
    if when == "before":
        add()
        a_map.put_all(people)
        wanted = [[i for i, person in people.items() if matches(query, person)] for query in (0, 2, 6)]
        assert [answers(a_map)[i] for i in (0, 2, 6)] == wanted
    else:
        a_map.put_all(people)
        plain = answers(a_map)
        add()
        assert answers(a_map) == plain


def matches(query, person):
    return {0: person.age == 23, 2: 22 <= person.age <= 25, 6: person.city == "Oslo"}[query]


def test_of_several_attributes(a_map):
    a_map.add_index(attributes=["city", "age"], index_type=IndexType.SORTED)
    a_map.put_all({i: Person.number(i) for i in range(30)})
    assert sorted(a_map.key_set(p.sql("city = 'Rome' AND age = 23"))) == [3]
    assert sorted(a_map.key_set(p.sql("city = 'Rome' AND age > 45"))) == [27, 29]


def test_of_json_attributes(people):
    people.add_index(attributes=["home.city"], index_type=IndexType.HASH)
    people.add_index(attributes=["age"])
    assert sorted(people.key_set(p.equal("home.city", "Rome"))) == ["p1", "p3", "p5", "p7", "p9"]
    assert sorted(people.key_set(p.greater("age", 27))) == ["p8", "p9"]


def test_of_the_key_and_of_the_value(a_map):
    a_map.add_index(attributes=["__key"], index_type=IndexType.SORTED)
    a_map.add_index(attributes=["this"], index_type=IndexType.HASH)
    a_map.put_all({i: i * 10 for i in range(10)})
    assert sorted(a_map.key_set(p.greater("__key", 7))) == [8, 9]
    assert a_map.key_set(p.equal("this", 30)) == [3]


def test_bitmap(a_map):
    a_map.add_index(
        attributes=["this"],
        index_type=IndexType.BITMAP,
        bitmap_index_options={"unique_key": "__key", "unique_key_transformation": UniqueKeyTransformation.OBJECT},
    )
    a_map.put_all({i: i % 3 for i in range(9)})
    assert sorted(a_map.key_set(p.equal("this", 1))) == [1, 4, 7]


def test_follows_updates_and_removals(a_map):
    a_map.add_index(attributes=["this"], index_type=IndexType.SORTED)
    a_map.put_all({i: i for i in range(10)})
    a_map.put(3, 100)
    a_map.remove(4)
    assert a_map.key_set(p.equal("this", 3)) == []
    assert sorted(a_map.key_set(p.greater("this", 8))) == [3, 9]
    a_map.clear()
    assert a_map.key_set(p.greater("this", -1)) == []


def test_the_same_index_twice_is_one(a_map):
    for _ in range(2):
        a_map.add_index(attributes=["age"], index_type=IndexType.SORTED, name="by-age")
    a_map.put("k", Person.number(1))
    assert a_map.key_set(p.equal("age", 21)) == ["k"]


def test_values_without_the_attribute_are_found_by_others(a_map):
    a_map.add_index(attributes=["name"], index_type=IndexType.HASH)
    a_map.put_all({1: Person("a", 1, "Oslo"), 2: Person(None, 2, "Oslo")})
    assert a_map.key_set(p.equal("name", "a")) == [1]
    assert a_map.key_set(p.equal("age", 2)) == [2]
