// node-postgres against the PostgreSQL door at FILBERT_POSTGRES (host:port; `with_door.py` starts one and sets it).
'use strict';

const assert = require('node:assert');
const { after, before, test } = require('node:test');
const { Client, Pool } = require('pg');

const [host, port] = process.env.FILBERT_POSTGRES.split(':');
const settings = { host, port: Number(port), user: 'ann', database: 'filbert' };
let client;

before(async () => {
    client = new Client(settings);
    await client.connect();
});

after(() => client.end());

test('values come back', async () => {
    const found = await client.query('SELECT $1::int AS a, $2::text AS b, $3::float8 AS c, [1, 2] AS d', [7, 'größer', 1.5]);
    assert.deepStrictEqual(found.rows, [{ a: 7, b: 'größer', c: 1.5, d: ['1', '2'] }]);
});

test('paging needs no casts', async () => {
    const text = 'SELECT value FROM generate_series(1, 9) ORDER BY value LIMIT $1 OFFSET $2';
    const found = await client.query(text, [2, 3]);
    assert.deepStrictEqual(found.rows.map((row) => row.value), ['4', '5']);
});

test('lists of ids need no casts', async () => {
    const text = 'SELECT value FROM generate_series(1, 9) WHERE value = ANY($1) ORDER BY value';
    const found = await client.query(text, [[2, 7, 11]]);
    assert.deepStrictEqual(found.rows.map((row) => row.value), ['2', '7']);
});

test('maps and objects keep their members', async () => {
    const found = await client.query("SELECT map([1, 2], ['a', NULL]) AS m, named_struct('x', NULL, 'y', 1) AS s");
    assert.deepStrictEqual(found.rows, [{ m: { 1: 'a', 2: null }, s: { x: null, y: 1 } }]);
});

test('statements of a pool run beside each other', async () => {
    const pool = new Pool({ ...settings, max: 10 });
    const found = await Promise.all(Array.from({ length: 50 }, (_, at) => pool.query('SELECT $1::int + 1 AS x', [at])));
    assert.deepStrictEqual(found.map((one) => Number(one.rows[0].x)), Array.from({ length: 50 }, (_, at) => at + 1));
    await pool.end();
});

test('errors have their codes', async () => {
    await assert.rejects(client.query('SELECT nothing FROM nowhere'), { code: '42P01' });
});
