// SQL from Node.js: rows, types, pages, parameters, changes, errors, closing.
'use strict';

const assert = require('node:assert/strict');
const { test, describe, before, after } = require('node:test');
const { HazelcastJsonValue, HazelcastSqlException, SqlColumnType } = require('hazelcast-client');
const { connect, uniqueName } = require('./member');

// name: [type in SQL, an expression of it, what arrives]
const TYPES = {
    VARCHAR: ['VARCHAR', "'Grüße 😀'", (v) => assert.equal(v, 'Grüße 😀')],
    BOOLEAN: ['BOOLEAN', 'TRUE', (v) => assert.equal(v, true)],
    TINYINT: ['TINYINT', '-7', (v) => assert.equal(v, -7)],
    SMALLINT: ['SMALLINT', '-300', (v) => assert.equal(v, -300)],
    INTEGER: ['INTEGER', '70000', (v) => assert.equal(v, 70000)],
    BIGINT: ['BIGINT', '9007199254740993', (v) => assert.equal(v.toString(), '9007199254740993')],
    DECIMAL: ['DECIMAL(10, 2)', '-12.34', (v) => assert.equal(v.toString(), '-12.34')],
    REAL: ['REAL', '1.5', (v) => assert.equal(v, 1.5)],
    DOUBLE: ['DOUBLE', '0.1', (v) => assert.equal(v, 0.1)],
    DATE: ['DATE', "'2024-02-29'", (v) => assert.equal(v.toString(), '2024-02-29')],
    TIME: ['TIME', "'23:59:58'", (v) => assert.equal(v.toString(), '23:59:58')],
    TIMESTAMP: ['TIMESTAMP', "'1969-12-31 23:59:59'", (v) => assert.equal(v.toString(), '1969-12-31T23:59:59')],
    TIMESTAMP_WITH_TIME_ZONE: ['TIMESTAMP WITH TIME ZONE', "'2024-02-29 12:00:00Z'",
        (v) => assert.equal(v.toString(), '2024-02-29T12:00:00Z')],
};

const jars = process.env.HAZELCAST_JARS ?? '';
const skip = jars && !jars.includes('hazelcast-sql') ? 'that Hazelcast runs without SQL: no hazelcast-sql.jar' : false;

describe('sql', { skip }, () => {
    let client;
    let map;
    let name;

    const rows = async (text, params, options) => {
        const found = [];
        for await (const row of await client.getSql().execute(text, params, options)) {
            found.push(row);
        }
        return found;
    };

    before(async () => {
        client = await connect();
        name = uniqueName();
        map = await client.getMap(name);
        await client.getSql().execute(`CREATE MAPPING "${name}" (__key DOUBLE, this DOUBLE) TYPE IMap
            OPTIONS ('keyFormat' = 'double', 'valueFormat' = 'double')`);
        await map.putAll(Array.from({ length: 10 }, (_, i) => [i, i]));
    });
    after(async () => {
        await client.getSql().execute(`DROP MAPPING "${name}"`);
        await map.destroy();
        await client.shutdown();
    });

    for (const [kind, [word, expression, check]] of Object.entries(TYPES)) {
        test(`columns of type ${kind}`, async () => {
            const result = await client.getSql().execute(
                `SELECT CAST(${expression} AS ${word}) AS c, CAST(NULL AS ${word}) AS n FROM "${name}" WHERE this = 1`);
            assert.equal(result.rowMetadata.getColumn(0).type, SqlColumnType[kind]);
            const found = [];
            for await (const row of result) {
                found.push(row);
            }
            assert.equal(found.length, 1);
            check(found[0].c);
            assert.equal(found[0].n, null);
        });
    }

    test('JSON', async () => {
        const other = await client.getMap(uniqueName());
        await other.set(1, new HazelcastJsonValue('{"a":[1,null]}'));
        await client.getSql().execute(`CREATE MAPPING "${other.getName()}" (__key DOUBLE, this JSON) TYPE IMap
            OPTIONS ('keyFormat' = 'double', 'valueFormat' = 'json')`);
        const found = await rows(`SELECT this FROM "${other.getName()}"`);
        assert.equal(found[0].this.toString(), '{"a":[1,null]}');
        await client.getSql().execute(`DROP MAPPING "${other.getName()}"`);
        await other.destroy();
    });

    test('pages and parameters', async () => {
        for (const cursorBufferSize of [1, 3, 10]) {
            const found = await rows(`SELECT this FROM "${name}" WHERE this >= ? ORDER BY this`, [2], { cursorBufferSize });
            assert.deepEqual(found.map((row) => row.this), [2, 3, 4, 5, 6, 7, 8, 9]);
        }
    });

    test('changes', async () => {
        const result = await client.getSql().execute(`INSERT INTO "${name}" VALUES (?, ?)`, [100, 1]);
        assert.ok(!result.isRowSet());
        assert.ok(result.updateCount.toNumber() >= 0);
        assert.equal(await map.get(100), 1);
        await client.getSql().execute(`DELETE FROM "${name}" WHERE __key = 100`);
        assert.equal(await map.get(100), null);
    });

    test('errors', async () => {
        for (const [text, code] of [['SELEC 1', 1008], ['SELECT * FROM "there is none"', 1010]]) {
            await assert.rejects(client.getSql().execute(text), (error) => {
                assert.ok(error instanceof HazelcastSqlException);
                assert.equal(error.code, code);
                return true;
            });
        }
    });

    test('closing', async () => {
        const result = await client.getSql().execute(`SELECT this FROM "${name}"`, [], { cursorBufferSize: 1 });
        await result.next();
        await result.close();
        await assert.rejects(result.next(), HazelcastSqlException);
    });

    test('expected results', async () => {
        await assert.rejects(rows(`SELECT this FROM "${name}"`, [], { expectedResultType: 'UPDATE_COUNT' }), HazelcastSqlException);
        assert.equal((await rows(`SELECT this FROM "${name}"`, [], { expectedResultType: 'ROWS' })).length, 10);
    });
});
