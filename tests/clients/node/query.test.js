// Predicates, paging, indexes, aggregations from Node.js.
'use strict';

const assert = require('node:assert/strict');
const { test, describe, before, after } = require('node:test');
const { Aggregators, HazelcastJsonValue, Predicates } = require('hazelcast-client');
const { connect, uniqueName } = require('./member');

const numbers = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

// name: [predicate over {0: 0 .. 9: 9}, matching keys]
const CASES = {
    equal: [Predicates.equal('this', 3), [3]],
    notEqual: [Predicates.notEqual('this', 3), [0, 1, 2, 4, 5, 6, 7, 8, 9]],
    greaterThan: [Predicates.greaterThan('this', 7), [8, 9]],
    greaterEqual: [Predicates.greaterEqual('this', 7), [7, 8, 9]],
    lessThan: [Predicates.lessThan('this', 2), [0, 1]],
    lessEqual: [Predicates.lessEqual('this', 2), [0, 1, 2]],
    between: [Predicates.between('this', 3, 5), [3, 4, 5]],
    inPredicate: [Predicates.inPredicate('this', 1, 5, 77), [1, 5]],
    and: [Predicates.and(Predicates.greaterThan('this', 3), Predicates.lessThan('this', 6)), [4, 5]],
    or: [Predicates.or(Predicates.equal('this', 3), Predicates.equal('this', 6)), [3, 6]],
    not: [Predicates.not(Predicates.greaterThan('this', 0)), [0]],
    alwaysTrue: [Predicates.alwaysTrue(), numbers(0, 10)],
    alwaysFalse: [Predicates.alwaysFalse(), []],
    'the key': [Predicates.greaterThan('__key', 7), [8, 9]],
    sql: [Predicates.sql('this BETWEEN 3 AND 5 OR this = 9'), [3, 4, 5, 9]],
};

describe('query', () => {
    let client;
    let map;
    let people;

    before(async () => {
        client = await connect();
        map = await client.getMap(uniqueName());
        await map.putAll(numbers(0, 10).map((i) => [i, i]));
        people = await client.getMap(uniqueName());
        await people.putAll(numbers(0, 10).map((i) => [
            `p${i}`,
            new HazelcastJsonValue(JSON.stringify({ age: 20 + i, name: `Person ${i}`, home: { city: i % 2 ? 'Rome' : 'Oslo' } })),
        ]));
    });
    after(async () => {
        await map.destroy();
        await people.destroy();
        await client.shutdown();
    });

    for (const [name, [predicate, wanted]] of Object.entries(CASES)) {
        test(name, async () => {
            assert.deepEqual([...await map.keySetWithPredicate(predicate)].sort(), wanted);
            assert.deepEqual([...await map.valuesWithPredicate(predicate)].sort(), wanted);
            assert.deepEqual((await map.entrySetWithPredicate(predicate)).map(([key]) => key).sort(), wanted);
        });
    }

    test('text', async () => {
        const words = await client.getMap(uniqueName());
        await words.putAll(['ant', 'Ant', 'bat'].map((word) => [word, word]));
        assert.deepEqual([...await words.keySetWithPredicate(Predicates.like('this', '%t'))].sort(), ['Ant', 'ant', 'bat']);
        assert.deepEqual([...await words.keySetWithPredicate(Predicates.ilike('this', 'ANT'))].sort(), ['Ant', 'ant']);
        assert.deepEqual([...await words.keySetWithPredicate(Predicates.regex('this', '[ab].t'))].sort(), ['ant', 'bat'].filter((w) => /^[ab].t$/.test(w)));
        await words.destroy();
    });

    test('json attributes, with and without an index', async () => {
        const rome = Predicates.and(Predicates.equal('home.city', 'Rome'), Predicates.greaterThan('age', 25));
        const wanted = ['p7', 'p9'];
        assert.deepEqual([...await people.keySetWithPredicate(rome)].sort(), wanted);
        await people.addIndex({ type: 'SORTED', attributes: ['age'] });
        await people.addIndex({ type: 'HASH', attributes: ['home.city'] });
        assert.deepEqual([...await people.keySetWithPredicate(rome)].sort(), wanted);
    });

    test('paging', async () => {
        const paging = Predicates.paging(Predicates.greaterEqual('this', 2), 3);
        assert.deepEqual([...await map.valuesWithPredicate(paging)], [2, 3, 4]);
        paging.nextPage();
        assert.deepEqual([...await map.valuesWithPredicate(paging)], [5, 6, 7]);
        paging.nextPage();
        assert.deepEqual([...await map.keySetWithPredicate(paging)], [8, 9]);
        paging.setPage(0);
        assert.deepEqual((await map.entrySetWithPredicate(paging)).map(([key]) => key), [2, 3, 4]);
    });

    test('aggregations', async () => {
        assert.equal(Number(await map.aggregate(Aggregators.count())), 10);
        assert.equal(await map.aggregate(Aggregators.numberAvg('this')), 4.5);
        assert.equal(await map.aggregate(Aggregators.max('this')), 9);
        assert.equal(await map.aggregate(Aggregators.min('this')), 0);
        assert.equal(Number(await map.aggregate(Aggregators.fixedPointSum('this'))), 45);
        assert.equal(Number(await map.aggregateWithPredicate(Aggregators.count(), Predicates.lessThan('this', 3))), 3);
    });
});
