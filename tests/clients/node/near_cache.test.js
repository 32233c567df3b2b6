// Near caches of Node.js: what was not heard of is found, and a client's own changes leave its fresh entries alone.
'use strict';

const assert = require('node:assert/strict');
const net = require('node:net');
const { test, describe, before, after, beforeEach, afterEach } = require('node:test');
const { address, connect, uniqueName, eventually } = require('./member');

const KEYS = Array.from({ length: 50 }, (_, key) => key);

/** A way to the member that can be cut. */
async function startProxy() {
    const [host, port] = address.split(':');
    const sockets = new Set();
    const server = net.createServer((near) => {
        const far = net.connect(Number(port), host);
        for (const [from, to] of [[near, far], [far, near]]) {
            sockets.add(from);
            from.on('error', () => to.destroy());
            from.on('close', () => { sockets.delete(from); to.destroy(); });
            from.pipe(to);
        }
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
        address: `127.0.0.1:${server.address().port}`,
        cut: () => sockets.forEach((socket) => socket.destroy()),
        end: () => server.close(),
    };
}

describe('near cache', () => {
    let proxy;
    let near;
    let writer;
    let name;
    let cached;
    let map;

    before(async () => { writer = await connect(); });
    after(() => writer.shutdown());
    beforeEach(async () => {
        name = uniqueName();
        proxy = await startProxy();
        near = await connect({
            network: { clusterMembers: [proxy.address] },
            nearCaches: { [name]: {} },
            properties: {
                'hazelcast.logging.level': 'OFF',
                'hazelcast.invalidation.min.reconciliation.interval.seconds': 1,
                'hazelcast.invalidation.reconciliation.interval.seconds': 1,
            },
        });
        cached = await near.getMap(name);
        map = await writer.getMap(name);
    });
    afterEach(async () => {
        await map.destroy();
        await near.shutdown();
        proxy.end();
    });

    test('what changed while the connection was cut is found', async () => {
        await map.putAll(KEYS.map((key) => [key, 'old']));
        await cached.getAll(KEYS);
        for (const key of KEYS) {
            assert.equal(await cached.get(key), 'old');
        }
        proxy.cut();
        await map.putAll(KEYS.map((key) => [key, 'new']));
        await eventually(async () => {
            const values = await Promise.all(KEYS.map((key) => cached.get(key).catch(() => 'away')));
            return values.every((value) => value === 'new');
        }, 'new values everywhere', 60000);
    });

    test('what the client itself changed stays', async () => {
        for (const key of KEYS) {
            await cached.put(key, 'mine');
            assert.equal(await cached.get(key), 'mine');
        }
        // Events come in order: when that of another client is here, all of those above are.
        await cached.get('mark');
        await map.put('mark', 'theirs');
        await eventually(async () => await cached.get('mark') === 'theirs');
        const before = Number(cached.nearCache.getStatistics().hitCount);
        for (const key of KEYS) {
            assert.equal(await cached.get(key), 'mine');
        }
        assert.equal(Number(cached.nearCache.getStatistics().hitCount) - before, KEYS.length);
    });
});
