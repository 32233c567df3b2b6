"""FlakeIdGenerator and PNCounter."""

from concurrent.futures import ThreadPoolExecutor

import pytest


def test_ids_are_unique_over_clients_and_threads(client, new_client, name):
    generators = [c.get_flake_id_generator(name).blocking() for c in (client, new_client())]
    with ThreadPoolExecutor(4) as pool:
        taken = [pool.submit(lambda g=g: [g.new_id() for _ in range(500)]) for g in generators * 2]
        ids = [one for future in taken for one in future.result(60)]
    assert len(set(ids)) == 2000 and all(one > 0 for one in ids)


def test_ids_of_a_client_grow(client, name):
    generator = client.get_flake_id_generator(name).blocking()
    ids = [generator.new_id() for _ in range(1000)]
    assert ids == sorted(ids)


@pytest.fixture
def counter(client, name):
    made = client.get_pn_counter(name).blocking()
    yield made
    made.destroy()


def test_counting(counter):
    assert counter.get() == 0
    assert counter.add_and_get(5) == 5 and counter.get_and_add(2) == 5
    assert counter.subtract_and_get(3) == 4 and counter.get_and_subtract(1) == 4
    assert counter.increment_and_get() == 4 and counter.get_and_increment() == 4
    assert counter.decrement_and_get() == 4 and counter.get_and_decrement() == 4
    assert counter.get() == 3


def test_clients_count_together(counter, new_client, name):
    other = new_client().get_pn_counter(name).blocking()
    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(lambda c=c: [c.increment_and_get() for _ in range(200)]) for c in (counter, other)]
        for future in done:
            assert future.result(60) == sorted(future.result())
    assert counter.get() == other.get() == 400


def test_a_counter_that_was_reset_goes_on(counter):
    counter.add_and_get(5)
    counter.reset()
    assert counter.get() == 5
