// Lists, queues, JSON, proxies and the connection from Node.js.
'use strict';

const assert = require('node:assert/strict');
const { test, describe, before, after } = require('node:test');
const { HazelcastJsonValue, UUID } = require('hazelcast-client');
const { connect, uniqueName, eventually } = require('./member');

describe('structures', () => {
    let client;

    before(async () => { client = await connect(); });
    after(() => client.shutdown());

    test('list', async () => {
        const list = await client.getList(uniqueName());
        assert.equal(await list.add('a'), true);
        assert.equal(await list.addAll(['b', 'c', 'b']), true);
        await list.addAt(0, 'first');
        assert.deepEqual(await list.toArray(), ['first', 'a', 'b', 'c', 'b']);
        assert.equal(await list.get(1), 'a');
        assert.equal(await list.set(1, 'A'), 'a');
        assert.equal(await list.indexOf('b'), 2);
        assert.equal(await list.lastIndexOf('b'), 4);
        assert.equal(await list.contains('c'), true);
        assert.equal(await list.containsAll(['c', 'x']), false);
        assert.deepEqual((await list.subList(1, 3)).toArray(), ['A', 'b']);
        assert.equal(await list.removeAt(0), 'first');
        assert.equal(await list.remove('b'), true);
        assert.equal(await list.removeAll(['A']), true);
        assert.equal(await list.retainAll(['b']), true);
        assert.deepEqual(await list.toArray(), ['b']);
        await assert.rejects(list.get(7), /index 7 is out of bounds|IndexOutOfBounds/i);
        await list.clear();
        assert.equal(await list.isEmpty(), true);
        await list.destroy();
    });

    test('list listener', async () => {
        const list = await client.getList(uniqueName());
        const heard = [];
        const id = await list.addItemListener({
            itemAdded: (event) => heard.push(['added', event.item]),
            itemRemoved: (event) => heard.push(['removed', event.item]),
        }, true);
        await list.add('a');
        await list.remove('a');
        await eventually(() => heard.length === 2, 'two events');
        assert.deepEqual(heard, [['added', 'a'], ['removed', 'a']]);
        assert.equal(await list.removeItemListener(id), true);
        await list.destroy();
    });

    test('queue', async () => {
        const queue = await client.getQueue(uniqueName());
        assert.equal(await queue.offer('a'), true);
        assert.equal(await queue.add('b'), true);
        assert.equal(await queue.addAll(['c', 'd', 'e']), true);
        assert.equal(await queue.peek(), 'a');
        assert.equal(await queue.size(), 5);
        assert.equal(await queue.poll(), 'a');
        assert.equal(await queue.take(), 'b');
        assert.equal(await queue.contains('c'), true);
        assert.deepEqual(await queue.toArray(), ['c', 'd', 'e']);
        assert.equal(await queue.remove('d'), true);
        const into = [];
        assert.equal(await queue.drainTo(into, 1), 1);
        assert.deepEqual(into, ['c']);
        await queue.clear();
        assert.equal(await queue.poll(100), null);
        await queue.destroy();
    });

    test('a waiting take gets the item', async () => {
        const queue = await client.getQueue(uniqueName());
        const waiting = queue.take();
        await queue.put('a');
        assert.equal(await waiting, 'a');
        await queue.destroy();
    });

    test('values of many types', async () => {
        const map = await client.getMap(uniqueName());
        const values = [
            true, 1.5, 'text', 'Grüße, 你好, 😀', '', Buffer.from([0, 1, 255]), ['a', 'b'], [1, 2.5], 123456789012345678901234567890n,
            new UUID(require('long').fromString('81985529216486895'), require('long').fromString('81985529216486895')),
            { plain: { json: [1, null, 'x'] } },
        ];
        for (const value of values) {
            await map.set('k', value);
            assert.deepEqual(await map.get('k'), value);
        }
        await map.destroy();
    });

    test('json', async () => {
        const map = await client.getMap(uniqueName());
        await map.set('k', new HazelcastJsonValue('{"a": [1, 2]}'));
        const found = await map.get('k');
        assert.deepEqual(found instanceof HazelcastJsonValue ? JSON.parse(found.toString()) : found, { a: [1, 2] });
        await map.destroy();
    });

    test('proxies are listed and destroyed', async () => {
        const name = uniqueName();
        const events = [];
        const id = await client.addDistributedObjectListener((event) => {
            if (event.objectName === name) {
                events.push([event.serviceName, event.eventType]);
            }
        });
        const map = await client.getMap(name);
        await eventually(() => events.length === 1, 'created');
        const listed = await client.getDistributedObjects();
        assert.ok(listed.some((object) => object.getName() === name));
        await map.destroy();
        await eventually(() => events.length === 2, 'destroyed');
        assert.deepEqual(events, [['hz:impl:mapService', 'created'], ['hz:impl:mapService', 'destroyed']]);
        assert.equal(await client.removeDistributedObjectListener(id), true);
    });

    test('another cluster name is refused', async () => {
        await assert.rejects(connect({
            clusterName: 'not-dev',
            connectionStrategy: { connectionRetry: { clusterConnectTimeoutMillis: 500 } },
        }));
    });

    test('partition count and members', () => {
        assert.equal(client.getPartitionService().getPartitionCount(), 271);
        assert.equal(client.getCluster().getMembers().length, 1);
    });
});
