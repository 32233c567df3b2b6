"""Predicates of every kind, over plain values, JSON, Portable and Compact, and the SQL text of the same."""

import pytest
from hazelcast import predicate as p
from hazelcast.errors import HazelcastError
from people import Person, PersonPortable, TeamPortable

ALL = list(range(10))

# name: (predicate over the map {0: 0, 1: 1, .. 9: 9}, keys that match)
OVER_NUMBERS = {
    "equal": (p.equal("this", 3), [3]),
    "not_equal": (p.not_equal("this", 3), [i for i in ALL if i != 3]),
    "greater": (p.greater("this", 7), [8, 9]),
    "greater_or_equal": (p.greater_or_equal("this", 7), [7, 8, 9]),
    "less": (p.less("this", 2), [0, 1]),
    "less_or_equal": (p.less_or_equal("this", 2), [0, 1, 2]),
    "between includes both ends": (p.between("this", 3, 5), [3, 4, 5]),
    "in": (p.in_("this", 1, 5, 77), [1, 5]),
    "and": (p.and_(p.greater("this", 3), p.less("this", 6)), [4, 5]),
    "and of nothing is true": (p.and_(), ALL),
    "or": (p.or_(p.equal("this", 3), p.equal("this", 6)), [3, 6]),
    "or of nothing is false": (p.or_(), []),
    "not": (p.not_(p.greater("this", 0)), [0]),
    "nested": (p.not_(p.or_(p.less("this", 4), p.and_(p.greater("this", 5), p.true()))), [4, 5]),
    "true": (p.true(), ALL),
    "false": (p.false(), []),
    "the key": (p.greater("__key", 7), [8, 9]),
    "instance_of": (p.instance_of("java.lang.Integer"), ALL),
    "instance_of another class": (p.instance_of("java.lang.String"), []),
    "a number of another type": (p.equal("this", 3.0), [3]),
    "sql =": (p.sql("this = 3"), [3]),
    "sql ==": (p.sql("this == 3"), [3]),
    "sql !=": (p.sql("this != 3"), [i for i in ALL if i != 3]),
    "sql <>": (p.sql("this <> 3"), [i for i in ALL if i != 3]),
    "sql >": (p.sql("this > 7"), [8, 9]),
    "sql <=": (p.sql("this <= 2"), [0, 1, 2]),
    "sql between": (p.sql("this BETWEEN 3 AND 5"), [3, 4, 5]),
    "sql in": (p.sql("this IN (1, 5, 77)"), [1, 5]),
    "sql not in": (p.sql("this NOT IN (0,1,2,3,4,5,6,7)"), [8, 9]),
    "sql and or": (p.sql("this > 3 AND this < 6 OR this = 9"), [4, 5, 9]),
    "sql brackets": (p.sql("this > 3 AND (this < 5 OR this = 9)"), [4, 9]),
    "sql not": (p.sql("NOT (this > 0)"), [0]),
    "sql key": (p.sql("__key >= 8"), [8, 9]),
    "sql words in any case": (p.sql("this between 3 and 5 oR this = 9"), [3, 4, 5, 9]),
}

WORDS = ["ant", "Ant", "bat", "cat", "a%b", "a_b", "axb", "", "two words"]
# name: (predicate over the map {word: word}, words that match)
OVER_WORDS = {
    "like %": (p.like("this", "a%"), ["ant", "a%b", "a_b", "axb"]),
    "like _": (p.like("this", "_at"), ["bat", "cat"]),
    "like the whole": (p.like("this", "at"), []),
    "like with an escape": (p.like("this", "a\\%b"), ["a%b"]),
    "like with an escaped underscore": (p.like("this", "a\\_b"), ["a_b"]),
    "ilike": (p.ilike("this", "ANT"), ["ant", "Ant"]),
    "regex": (p.regex("this", "[bc]at"), ["bat", "cat"]),
    "regex matches the whole": (p.regex("this", "a"), []),
    "regex with alternatives": (p.regex("this", "^(ant|two.*)$"), ["ant", "two words"]),
    "greater by order of letters": (p.greater("this", "bat"), ["cat", "two words"]),
    "sql like": (p.sql("this LIKE 'a%'"), ["ant", "a%b", "a_b", "axb"]),
    "sql ilike": (p.sql("this ILIKE 'ant'"), ["ant", "Ant"]),
    "sql regex": (p.sql("this REGEX '[bc]at'"), ["bat", "cat"]),
    "sql with a space in the text": (p.sql("this = 'two words'"), ["two words"]),
    "sql in words": (p.sql("this IN ('ant', 'bat')"), ["ant", "bat"]),
    "sql not like": (p.sql("this NOT LIKE '%a%'"), ["Ant", "", "two words"]),
}

# name: (predicate over ten people as JSON, numbers of those that match)
OVER_JSON = {
    "attribute": (p.greater("age", 27), [8, 9]),
    "attribute inside": (p.equal("home.city", "Rome"), [1, 3, 5, 7, 9]),
    "element of an array": (p.equal("tags[0]", "R"), [1, 3, 5, 7, 9]),
    "any element of an array": (p.equal("tags[any]", "O"), [0, 2, 4, 6, 8]),
    "absent attribute": (p.equal("nothing", 1), []),
    "two attributes": (p.and_(p.equal("home.city", "Oslo"), p.less("age", 24)), [0, 2]),
    "sql": (p.sql("home.city = 'Oslo' AND age BETWEEN 22 AND 26"), [2, 4, 6]),
    "text": (p.like("name", "Person _"), ALL),
}


@pytest.fixture(scope="module")
def numbers(client):
    made = client.get_map("numbers-for-predicates").blocking()
    made.put_all({i: i for i in ALL})
    yield made
    made.destroy()


@pytest.fixture(scope="module")
def words(client):
    made = client.get_map("words-for-predicates").blocking()
    made.put_all({word: word for word in WORDS})
    yield made
    made.destroy()


@pytest.fixture(scope="module")
def json_people(client):
    made = client.get_map("people-for-predicates").blocking()
    made.put_all({i: Person.number(i).json() for i in ALL})
    yield made
    made.destroy()


@pytest.mark.parametrize("case", OVER_NUMBERS)
def test_over_numbers(numbers, case):
    predicate, wanted = OVER_NUMBERS[case]
    assert sorted(numbers.key_set(predicate)) == wanted
    assert sorted(numbers.values(predicate)) == wanted
    assert sorted(numbers.entry_set(predicate)) == [(i, i) for i in wanted]


@pytest.mark.parametrize("case", OVER_WORDS)
def test_over_words(words, case):
    predicate, wanted = OVER_WORDS[case]
    assert sorted(words.key_set(predicate)) == sorted(wanted)


@pytest.mark.parametrize("case", OVER_JSON)
def test_over_json(json_people, case):
    predicate, wanted = OVER_JSON[case]
    assert sorted(json_people.key_set(predicate)) == wanted


def test_over_portable(a_map):
    a_map.put_all({i: PersonPortable(f"Person {i}", 20 + i) for i in ALL})
    assert sorted(a_map.key_set(p.sql("age > 27 OR name = 'Person 0'"))) == [0, 8, 9]
    assert a_map.values(p.equal("name", "Person 4")) == [PersonPortable("Person 4", 24)]


def put_teams(a_map):
    def person(i):
        return PersonPortable(f"Person {i}", 20 + i)

    a_map.put(0, TeamPortable(person(0), [person(1), person(2)], [5, 6]))
    a_map.put(1, TeamPortable(person(3), [person(4)], [7]))
    a_map.put(2, TeamPortable(None, [person(1)], [6, 9]))


def test_over_portable_within_portable(a_map):
    put_teams(a_map)
    for text, keys in (
        ("leader.age > 21", [1]),
        ("leader.name = 'Person 0'", [0]),
        ("people[0].age = 21", [0, 2]),
        ("people[1].age = 22", [0]),
        ("people[any].name = 'Person 4'", [1]),
        ("scores[any] = 6", [0, 2]),
        ("scores[1] > 5", [0, 2]),
    ):
        assert sorted(a_map.key_set(p.sql(text))) == keys, text


@pytest.mark.filbert_only
def test_whether_there_is_a_portable_within(a_map):
    """A real Hazelcast would have to make the object, whose class it does not know."""
    put_teams(a_map)
    assert sorted(a_map.key_set(p.sql("leader = null"))) == [2]
    assert sorted(a_map.key_set(p.sql("leader != null"))) == [0, 1]


def test_over_portable_keys(a_map):
    a_map.put_all({PersonPortable(f"Person {i}", 20 + i): i for i in ALL})
    assert sorted(a_map.values(p.sql("__key.age >= 28"))) == [8, 9]


def test_over_compact(a_map):
    a_map.put_all({i: Person.number(i) for i in ALL})
    assert sorted(a_map.key_set(p.and_(p.equal("city", "Oslo"), p.greater("age", 25)))) == [6, 8]
    assert a_map.values(p.equal("name", "Person 4")) == [Person.number(4)]


def test_none_matches_null(a_map):
    a_map.put_all({1: Person("a", 1, "Oslo"), 2: Person(None, 2, "Oslo")})
    assert a_map.key_set(p.equal("name", None)) == [2]
    assert a_map.key_set(p.not_equal("name", None)) == [1]


def test_remove_all_by_predicate(a_map):
    a_map.put_all({i: i for i in ALL})
    a_map.remove_all(p.greater("this", 4))
    assert sorted(a_map.key_set()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("text", ["this >", "= 3", "this = 3 AND", "(this = 3"])
def test_sql_text_that_is_wrong_is_an_error(numbers, text):
    with pytest.raises(HazelcastError):
        numbers.key_set(p.sql(text))
    assert numbers.size() == 10, "the connection lives"
