// Sets, multimaps, replicated maps, ringbuffers, reliable topics, ids, counters and the CP subsystem from Node.js.
'use strict';

const assert = require('node:assert/strict');
const { test, describe, before, after } = require('node:test');
const Long = require('long');
const { connect, uniqueName, eventually } = require('./member');

// A real Hazelcast has the CP subsystem in its Enterprise edition only.
const skip = process.env.HAZELCAST_JARS ? 'Filbert only' : false;

describe('more structures', () => {
    let client;

    before(async () => { client = await connect(); });
    after(() => client.shutdown());

    test('set', async () => {
        const set = await client.getSet(uniqueName());
        assert.equal(await set.add('a'), true);
        assert.equal(await set.add('a'), false);
        assert.equal(await set.addAll(['b', 'c']), true);
        assert.equal(await set.contains('b'), true);
        assert.equal(await set.containsAll(['b', 'x']), false);
        assert.equal(await set.remove('a'), true);
        assert.equal(await set.retainAll(['b']), true);
        assert.deepEqual(await set.toArray(), ['b']);
        assert.equal(await set.removeAll(['b']), true);
        assert.equal(await set.isEmpty(), true);
        await set.destroy();
    });

    test('multimap', async () => {
        const map = await client.getMultiMap(uniqueName());
        assert.equal(await map.put('k', 1), true);
        assert.equal(await map.put('k', 1), false);
        await map.putAll([['k', [2, 3]], ['l', [4]]]);
        assert.equal(await map.valueCount('k'), 3);
        assert.equal(await map.size(), 4);
        assert.deepEqual((await map.get('k')).toArray().sort(), [1, 2, 3]);
        assert.equal(await map.containsEntry('l', 4), true);
        assert.equal(await map.remove('k', 1), true);
        assert.deepEqual((await map.removeAll('k')).toArray().sort(), [2, 3]);
        await map.lock('l');
        assert.equal(await map.isLocked('l'), true);
        await map.unlock('l');
        const heard = [];
        await map.addEntryListener({ added: (event) => heard.push(event.value) }, undefined, true);
        await map.put('m', 5);
        await eventually(() => heard.length === 1, 'an event');
        await map.destroy();
    });

    test('replicated map', async () => {
        const map = await client.getReplicatedMap(uniqueName());
        assert.equal(await map.put('k', 'v'), null);
        assert.equal(await map.put('k', 'w'), 'v');
        assert.equal(await map.get('k'), 'w');
        await map.putAll([['a', 'b']]);
        assert.deepEqual((await map.keySet()).sort(), ['a', 'k']);
        assert.equal(await map.containsValue('b'), true);
        assert.equal(await map.remove('k'), 'w');
        await map.clear();
        assert.equal(await map.isEmpty(), true);
        await map.destroy();
    });

    test('ringbuffer', async () => {
        const ringbuffer = await client.getRingbuffer(uniqueName());
        const waits = ringbuffer.readMany(0, 2, 10);
        assert.equal((await ringbuffer.add('a')).toNumber(), 0);
        assert.equal((await ringbuffer.addAll(['b', 'c'])).toNumber(), 2);
        assert.ok((await waits).getReadCount() >= 2);
        assert.equal(await ringbuffer.readOne(2), 'c');
        assert.equal((await ringbuffer.headSequence()).toNumber(), 0);
        assert.equal((await ringbuffer.tailSequence()).toNumber(), 2);
        assert.equal((await ringbuffer.size()).toNumber(), 3);
        await ringbuffer.destroy();
    });

    test('reliable topic', async () => {
        const topic = await client.getReliableTopic(uniqueName());
        const heard = [];
        topic.addMessageListener((message) => heard.push(message.messageObject));
        for (let number = 0; number < 10; number++) {
            await topic.publish(number);
        }
        await eventually(() => heard.length === 10, 'ten messages');
        assert.deepEqual(heard, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        await topic.destroy();
    });

    test('ids and counters', async () => {
        const generator = await client.getFlakeIdGenerator(uniqueName());
        const ids = await Promise.all(Array.from({ length: 300 }, () => generator.newId()));
        assert.equal(new Set(ids.map(String)).size, 300);
        const counter = await client.getPNCounter(uniqueName());
        assert.equal((await counter.addAndGet(5)).toNumber(), 5);
        assert.equal((await counter.getAndDecrement()).toNumber(), 5);
        assert.equal((await counter.get()).toNumber(), 4);
        await counter.destroy();
    });

    test('atomics', { skip }, async () => {
        const cp = client.getCPSubsystem();
        const long = await cp.getAtomicLong(uniqueName());
        assert.equal((await long.addAndGet(5)).toNumber(), 5);
        assert.equal(await long.compareAndSet(Long.fromNumber(5), Long.fromNumber(7)), true);
        assert.equal((await long.getAndSet(1)).toNumber(), 7);
        const reference = await cp.getAtomicReference(uniqueName());
        assert.equal(await reference.get(), null);
        assert.equal(await reference.compareAndSet(null, 'a'), true);
        assert.equal(await reference.getAndSet('b'), 'a');
        await long.destroy();
        await assert.rejects(long.get(), /destroyed/);
    });

    test('latch, semaphore and lock', { skip }, async () => {
        const cp = client.getCPSubsystem();
        const latch = await cp.getCountDownLatch(uniqueName());
        assert.equal(await latch.trySetCount(1), true);
        const waits = latch.await(60000);
        await latch.countDown();
        assert.equal(await waits, true);
        const semaphore = await cp.getSemaphore(uniqueName());
        assert.equal(await semaphore.init(2), true);
        await semaphore.acquire(2);
        assert.equal(await semaphore.tryAcquire(1), false);
        await semaphore.release(2);
        assert.equal(await semaphore.availablePermits(), 2);
        const lock = await cp.getLock(uniqueName());
        const fence = await lock.lock();
        assert.equal(await lock.isLocked(), true);
        assert.equal(await lock.tryLock(), undefined);
        await lock.unlock(fence);
        assert.equal(await lock.isLocked(), false);
    });
});
