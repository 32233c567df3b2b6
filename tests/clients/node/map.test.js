// Maps from Node.js: entries, bulk, expiry, locks, iteration, entry listeners.
'use strict';

const assert = require('node:assert/strict');
const { test, describe, before, after, beforeEach, afterEach } = require('node:test');
const { connect, uniqueName, eventually } = require('./member');

describe('map', () => {
    let client;
    let map;

    before(async () => { client = await connect(); });
    after(() => client.shutdown());
    beforeEach(async () => { map = await client.getMap(uniqueName()); });
    afterEach(() => map.destroy());

    test('put gives back the previous value', async () => {
        assert.equal(await map.put('k', 'a'), null);
        assert.equal(await map.put('k', 'b'), 'a');
        assert.equal(await map.get('k'), 'b');
    });

    test('remove, delete, contains', async () => {
        await map.set('k', 1);
        assert.equal(await map.containsKey('k'), true);
        assert.equal(await map.containsValue(1), true);
        assert.equal(await map.remove('k'), 1);
        await map.set('k', 1);
        await map.delete('k');
        assert.equal(await map.containsKey('k'), false);
    });

    test('conditional writes', async () => {
        assert.equal(await map.putIfAbsent('k', 'a'), null);
        assert.equal(await map.putIfAbsent('k', 'b'), 'a');
        assert.equal(await map.replace('k', 'b'), 'a');
        assert.equal(await map.replaceIfSame('k', 'x', 'c'), false);
        assert.equal(await map.replaceIfSame('k', 'b', 'c'), true);
        assert.equal(await map.remove('k', 'x'), false);
        assert.equal(await map.remove('k', 'c'), true);
        assert.equal(await map.tryPut('k', 1, 1000), true);
        assert.equal(await map.tryRemove('k', 1000), true);
    });

    test('putAll, setAll, getAll', async () => {
        const pairs = Array.from({ length: 500 }, (_, i) => [`k${i}`, i]);
        await map.putAll(pairs.slice(0, 250));
        await map.setAll(pairs.slice(250));
        assert.equal(await map.size(), 500);
        const found = await map.getAll(pairs.map(([key]) => key).concat('absent'));
        assert.deepEqual(new Map(found), new Map(pairs));
    });

    test('keySet, values, entrySet, clear', async () => {
        await map.putAll([['a', 1], ['b', 2]]);
        assert.deepEqual([...await map.keySet()].sort(), ['a', 'b']);
        assert.deepEqual([...await map.values()].sort(), [1, 2]);
        assert.deepEqual((await map.entrySet()).sort(), [['a', 1], ['b', 2]]);
        await map.clear();
        assert.equal(await map.isEmpty(), true);
    });

    test('iteration in batches', async () => {
        const wanted = new Map(Array.from({ length: 1000 }, (_, i) => [i, `v${i}`]));
        await map.putAll([...wanted]);
        const found = new Map();
        for (const [key, value] of await map.entrySet()) {
            found.set(key, value);
        }
        assert.deepEqual(found, wanted);
    });

    test('time to live and max idle', async () => {
        await map.put('ttl', 1, 1000);
        await map.set('idle', 1, 0, 1000);
        await map.put('kept', 1);
        await eventually(async () => await map.size() === 1, 'both expired');
        assert.equal(await map.get('kept'), 1);
    });

    test('entry view and setTtl', async () => {
        await map.put('k', 'v', 1000000);
        const view = await map.getEntryView('k');
        assert.equal(view.key, 'k');
        assert.equal(view.value, 'v');
        assert.equal(Number(view.ttl), 1000000);
        assert.equal(await map.getEntryView('absent'), null);
        await map.setTtl('k', 500);
        await eventually(async () => await map.get('k') === null, 'k expired');
    });

    test('evict and evictAll', async () => {
        await map.putAll([['a', 1], ['b', 2]]);
        assert.equal(await map.evict('a'), true);
        await map.evictAll();
        assert.equal(await map.size(), 0);
    });

    test('a lock holds off another client', async () => {
        const other = await connect();
        const theirs = await other.getMap(map.getName());
        await map.lock('k');
        assert.equal(await map.isLocked('k'), true);
        assert.equal(await theirs.tryPut('k', 1, 100), false);
        assert.equal(await theirs.tryLock('k', 100), false);
        await map.unlock('k');
        assert.equal(await theirs.tryLock('k', 100), true);
        await map.forceUnlock('k');
        assert.equal(await map.isLocked('k'), false);
        await other.shutdown();
    });

    test('listener with values', async () => {
        const heard = [];
        const id = await map.addEntryListener({
            added: (event) => heard.push(['added', event.key, event.value, event.oldValue]),
            updated: (event) => heard.push(['updated', event.key, event.value, event.oldValue]),
            removed: (event) => heard.push(['removed', event.key, event.value, event.oldValue]),
            mapCleared: (event) => heard.push(['cleared', event.numberOfAffectedEntries]),
        }, undefined, true);
        await map.put('k', 'a');
        await map.put('k', 'b');
        await map.remove('k');
        await map.put('x', 1);
        await map.clear();
        await eventually(() => heard.length >= 5, 'five events');
        const ofKey = heard.filter((event) => event[1] === 'k');
        assert.deepEqual(ofKey, [['added', 'k', 'a', null], ['updated', 'k', 'b', 'a'], ['removed', 'k', null, 'b']]);
        assert.ok(heard.some((event) => event[0] === 'cleared' && event[1] === 1));
        assert.equal(await map.removeEntryListener(id), true);
    });

    test('listener of a key and of a predicate', async () => {
        const { Predicates } = require('hazelcast-client');
        const ofKey = [];
        const ofPredicate = [];
        await map.addEntryListener({ added: (event) => ofKey.push(event.key) }, 'mine');
        await map.addEntryListenerWithPredicate({ added: (event) => ofPredicate.push(event.key) }, Predicates.sql('this > 5'));
        await map.putAll([['mine', 1], ['other', 9]]);
        await eventually(() => ofKey.length === 1 && ofPredicate.length === 1, 'both heard');
        assert.deepEqual([ofKey, ofPredicate], [['mine'], ['other']]);
    });

    test('many calls in flight', async () => {
        await Promise.all(Array.from({ length: 2000 }, (_, i) => map.set(i, i)));
        const found = await Promise.all(Array.from({ length: 2000 }, (_, i) => map.get(i)));
        assert.deepEqual(found, Array.from({ length: 2000 }, (_, i) => i));
    });
});
