"""IExecutorService: tasks on the owner of a key, on a member, on members, on all; failures; the end of the executor."""

import pytest
from fixtures import Append, Fail, MemberUuid, ReturnNull, SleepMillis
from hazelcast.errors import HazelcastError, RejectedExecutionError
from waiting import eventually

pytestmark = pytest.mark.needs_fixtures
APPENDED = ":CallableResult"


@pytest.fixture
def executor(client, name):
    made = client.get_executor(name).blocking()
    yield made
    made.destroy()


@pytest.fixture
def member(client):
    return client.cluster_service.get_members()[0]


def test_on_the_owner_of_a_key(executor):
    assert executor.execute_on_key_owner("key", Append("m")) == "m" + APPENDED


def test_on_a_member(executor, member):
    assert executor.execute_on_member(member, Append("m")) == "m" + APPENDED
    assert executor.execute_on_member(member, MemberUuid()) == member.uuid


def test_on_members(executor, member):
    assert executor.execute_on_members([member], Append("m")) == ["m" + APPENDED]
    assert executor.execute_on_members([], Append("m")) == []


def test_on_all_members(executor):
    assert executor.execute_on_all_members(Append("m")) == ["m" + APPENDED]


def test_that_gives_nothing_back(executor):
    assert executor.execute_on_key_owner("key", ReturnNull()) is None


def test_that_fails(executor):
    with pytest.raises(HazelcastError):
        executor.execute_on_key_owner("key", Fail())
    assert executor.execute_on_key_owner("key", Append("m")) == "m" + APPENDED, "the executor works on"


def test_many_at_once(client, executor, name):
    tasks = [client.get_executor(name).execute_on_key_owner(i, Append(str(i))) for i in range(300)]
    assert [task.result() for task in tasks] == [f"{i}{APPENDED}" for i in range(300)]


def test_slow_tasks_of_one_executor_hold_up_no_other(client, executor, member, name):
    slow = [client.get_executor(name).execute_on_member(member, SleepMillis(2000)) for _ in range(20)]
    other = client.get_executor(name + "-other").blocking()
    assert other.execute_on_member(member, Append("m")) == "m" + APPENDED
    assert not all(task.done() for task in slow), "the other executor did not wait for the slow tasks"
    assert all(task.result() for task in slow)
    other.destroy()


def test_shutdown(client, name):
    ending = client.get_executor(name).blocking()
    assert not ending.is_shutdown()
    ending.shutdown()
    eventually(ending.is_shutdown)
    ending.destroy()


@pytest.mark.filbert_only
def test_after_shutdown_tasks_are_refused(client, name):
    """A Hazelcast member runs them still: only its own proxies refuse."""
    ending = client.get_executor(name).blocking()
    ending.shutdown()
    eventually(ending.is_shutdown)
    with pytest.raises(RejectedExecutionError):
        ending.execute_on_key_owner("key", Append("m"))
    ending.destroy()


def test_that_is_not_registered_is_an_error(executor):
    class Unknown(Append):
        ids = (66, 999)

    with pytest.raises(HazelcastError):
        executor.execute_on_key_owner("key", Unknown("m"))
    assert not executor.is_shutdown()
