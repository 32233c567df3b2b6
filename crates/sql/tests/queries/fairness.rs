//! Long operators give others their turns.

use crate::asking::{idle, number, soon, started, table};
use filbert_pool::Stages;
use filbert_sql::{Sql, SqlSettings};
use futures::StreamExt;
use futures::executor::block_on;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Others have more answers than this while a sort works, dozens on a machine that is not busy. Without turns there are two: one before the sort
/// has its worker, and one after.
const ANSWERS: usize = 2;

/// Sorts what takes seconds, and asks for a number over and over until the first row is there. How many answers there were by then.
fn sorted_beside_others(sql: &Sql, sort: &str) -> usize {
    let is_sorted = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sorts = scope.spawn(|| {
            let mut query = sql.session().query(sort).unwrap();
            let first = block_on(query.next()).unwrap().map(|batch| batch.num_rows());
            is_sorted.store(true, Ordering::Release);
            first
        });
        let session = sql.session();
        let mut answers = 0;
        while !is_sorted.load(Ordering::Acquire) {
            assert_eq!(number(&session, "SELECT 1"), 1);
            answers += 1;
        }
        assert!(sorts.join().unwrap().unwrap() > 0);
        answers
    })
}

/// One worker: who does not end its turns stops everybody. Without turns one other is answered before the sort and one after it, on whatever
/// machine.
#[test]
fn nobody_waits_for_the_end_of_a_sort() {
    let stages = Stages::builder().set("fragment.threads", 1).start().unwrap();
    let sql = Sql::start(&stages, SqlSettings::default()).unwrap();
    for order in ["value * 7919 % 1000003", "value % 10, value * 7919 % 1000003"] {
        let sort = format!("SELECT value FROM generate_series(1, 1500000) ORDER BY {order}");
        let answers = sorted_beside_others(&sql, &sort);
        println!("ORDER BY {order}: {answers} answers before its first row");
        assert!(answers > ANSWERS, "others had {answers} answers while the sort worked");
    }
    idle(&stages, &sql);
}

/// A sort that has to write to files does that in turns as well.
#[test]
fn nobody_waits_for_a_sort_that_spills() {
    let stages = Stages::builder().set("fragment.threads", 1).start().unwrap();
    let settings = SqlSettings { query_memory_bytes: 12 << 20, ..Default::default() };
    let sql = Sql::start(&stages, settings).unwrap();
    let sort = "SELECT value FROM generate_series(1, 1500000) ORDER BY value * 7919 % 1000003";
    let analysed = table(&sql.session(), &format!("EXPLAIN ANALYZE {sort}"));
    let line =
        analysed.lines().find(|line| line.contains("SortRunsExec")).unwrap_or_else(|| panic!("{analysed}"));
    assert!(line.contains("spill_count=") && !line.contains("spill_count=0,"), "{line}");
    let answers = sorted_beside_others(&sql, sort);
    println!("{answers} answers before the first row");
    assert!(answers > ANSWERS, "others had {answers} answers while the sort worked");
    idle(&stages, &sql);
}

/// A join with equal keys on all rows, of which its condition wants none, looks at as many pairs as one without a key.
#[test]
fn joins_that_find_nothing_end_with_their_cancel() {
    let (stages, sql) = started(SqlSettings::default());
    // Endless all the same, and the table of the first side is soon made, which is one call.
    let sides = "generate_series(1, 1000000) a JOIN generate_series(1, 1000000) b";
    let same_key = "a.value / 100000000 = b.value / 100000000";
    for (select, node) in [
        (format!("count(*) FROM {sides} ON a.value + b.value < 0"), "NestedLoopJoinExec"),
        (format!("count(*) FROM {sides} ON {same_key} AND a.value + b.value < 0"), "HashJoinExec"),
    ] {
        let plan = table(&sql.session(), &format!("EXPLAIN SELECT {select}"));
        assert!(plan.contains(node) && plan.contains("PaceExec"), "{plan}");
        let mut query = sql.session().query(&format!("SELECT {select}")).unwrap();
        block_on(query.schema()).unwrap();
        // sleeps because nobody sees when a join has read its first side, and begins to look for pairs
        std::thread::sleep(Duration::from_secs(2));
        let session = sql.session();
        assert_eq!(soon("a short query", move || number(&session, "SELECT 1")), 1);
        let canceller = query.canceller();
        assert_eq!(canceller.cancel().unwrap().wait(), Ok(true));
        assert!(block_on(query.next()).is_some_and(|end| end.is_err()));
        idle(&stages, &sql);
    }
}
