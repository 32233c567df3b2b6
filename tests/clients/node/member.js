// What each test file needs: a client of the member at FILBERT_ADDRESS (host:port; `run.sh` starts one), names that no
// other test uses, and waiting for a condition with a deadline.
'use strict';

const { Client } = require('hazelcast-client');
const { randomUUID } = require('node:crypto');

const address = process.env.FILBERT_ADDRESS;
if (!address) {
    throw new Error('FILBERT_ADDRESS=host:port names the member to test; tests/clients/run.sh starts one and sets it');
}

function connect(settings = {}) {
    return Client.newHazelcastClient({
        clusterName: 'dev',
        network: { clusterMembers: [address] },
        connectionStrategy: { connectionRetry: { clusterConnectTimeoutMillis: 20000 } },
        properties: { 'hazelcast.logging.level': 'OFF' },
        ...settings,
    });
}

function uniqueName() {
    return `t-${randomUUID()}`;
}

async function eventually(condition, what = 'the condition', deadlineMs = 30000) {
    const end = Date.now() + deadlineMs;
    for (;;) {
        const value = await condition();
        if (value) {
            return value;
        }
        if (Date.now() > end) {
            throw new Error(`${what} did not come true within ${deadlineMs} ms`);
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

module.exports = { address, connect, uniqueName, eventually };
