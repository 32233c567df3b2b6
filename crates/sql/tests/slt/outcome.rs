//! Asks a statement and compares its answer with what the script says.

use crate::cells::{Dialect, letters, rows};
use crate::script::{Answer, Order, Record, Wanted};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use filbert_sql::{Session, SqlError};
use futures::executor::block_on;
use md5::{Digest, Md5};

/// What stands in a line in place of what nobody can foretell.
const IGNORED: &str = "<slt:ignore>";

/// How a statement ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    Right,
    /// An error, where none was wanted.
    Refused(SqlError),
    /// Another answer, or none of the error that was wanted.
    Wrong(String),
}

/// Words in the place of others, in every statement, and back again in its answer.
pub(crate) type Places = [(String, String)];

/// Runs one statement of a script.
pub(crate) fn outcome(session: &Session, record: &Record, dialect: Dialect, places: &Places) -> Outcome {
    let text = places.iter().fold(record.text.clone(), |text, (named, real)| text.replace(named, real));
    let back = |text: &str| {
        places.iter().rev().fold(text.to_owned(), |text, (named, real)| text.replace(real, named))
    };
    let answer = (|| {
        let mut query = session.query(&text)?;
        let schema = block_on(query.schema())?;
        Ok::<_, SqlError>((schema, block_on(query.collect())?))
    })();
    match (&record.wanted, answer) {
        (Wanted::Error(says), Err(error)) => {
            let said = back(&error.to_string());
            // Messages of other engines are others.
            if dialect != Dialect::Own || said.contains(says) {
                Outcome::Right
            } else {
                Outcome::Wrong(format!("says: {said}"))
            }
        }
        (_, Err(error)) => Outcome::Refused(error),
        (Wanted::Error(_), Ok((_, batches))) => {
            Outcome::Wrong(format!("no error, but\n{}", joined(rows(&batches, dialect, "")).join("\n")))
        }
        (Wanted::Ok, Ok(_)) => Outcome::Right,
        (Wanted::Count(count), Ok((_, batches))) => {
            let lines = joined(rows(&batches, dialect, ""));
            // Others also count the rows of a query, and none where nothing changes.
            let is_number = dialect != Dialect::Own && lines.len() as u64 == *count;
            let is_right = is_number || lines == [count.to_string()];
            if is_right { Outcome::Right } else { Outcome::Wrong(format!("changed: {}", lines.join(", "))) }
        }
        (Wanted::Rows { types, order, answer }, Ok(found)) => {
            compared(&found, (types, *order, answer), dialect, &back)
        }
    }
}

fn joined(rows: Vec<Vec<String>>) -> Vec<String> {
    rows.into_iter().map(|row| row.join(" ")).collect()
}

fn compared(
    (schema, batches): &(SchemaRef, Vec<RecordBatch>),
    (types, order, answer): (&str, Order, &Answer),
    dialect: Dialect,
    back: &dyn Fn(&str) -> String,
) -> Outcome {
    let found = letters(schema, dialect);
    let mut rows = rows(batches, dialect, types);
    for value in rows.iter_mut().flatten() {
        *value = back(value);
    }
    match order {
        Order::Rows => rows.sort(),
        Order::Values => {
            rows = rows.into_iter().flatten().map(|value| vec![value]).collect();
            rows.sort();
        }
        Order::AsIs | Order::Like => {}
    }
    let is_typed = match dialect {
        Dialect::Own => found == types,
        Dialect::DataFusion => {
            let known = |letter| if "BDIPRT".contains(letter) { letter } else { '?' };
            found == types.chars().map(known).collect::<String>()
        }
        // Its letters say how values are written.
        Dialect::Sqlite => found.len() == types.len(),
    };
    let is_right = match answer {
        Answer::Hash { values, md5 } => {
            let all: Vec<_> = rows.iter().flatten().collect();
            let mut digest = Md5::new();
            for value in &all {
                digest.update(value);
                digest.update("\n");
            }
            let hash: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            all.len() == *values && hash == *md5
        }
        Answer::Lines(wanted) => {
            let lines = match dialect {
                Dialect::Sqlite => rows.iter().flatten().cloned().collect(),
                _ => joined(rows.clone()),
            };
            same_lines(lines, wanted.clone(), order)
        }
    };
    if (is_typed || order == Order::Like) && is_right {
        return Outcome::Right;
    }
    let hint = if is_right { "" } else { ", rows" };
    Outcome::Wrong(format!("types {found}{hint}\n{}", joined(rows).join("\n")))
}

fn same_lines(mut found: Vec<String>, mut wanted: Vec<String>, order: Order) -> bool {
    for line in found.iter_mut().chain(&mut wanted) {
        line.truncate(line.trim_end().len());
    }
    if order == Order::Like {
        let all = found.join("\n");
        return wanted.iter().all(|line| match line.strip_prefix('!') {
            Some(absent) => !all.contains(absent),
            None => all.contains(line.as_str()),
        });
    }
    if wanted.iter().any(|line| line.contains(IGNORED)) {
        return is_like(&found.join("\n"), &wanted.join("\n"));
    }
    if order == Order::Rows {
        found.sort();
        wanted.sort();
    }
    found == wanted
}

/// Compares with a text in which some parts are left open.
fn is_like(found: &str, wanted: &str) -> bool {
    let mut parts = wanted.split(IGNORED);
    let Some(mut rest) = parts.next().and_then(|first| found.strip_prefix(first)) else { return false };
    for part in parts {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::parse;
    use filbert_pool::Stages;
    use filbert_sql::{Sql, SqlSettings};

    fn check(dialect: Dialect, right: &[&str], wrong: &[&str]) {
        let stages = Stages::builder().set("fragment.threads", 1).start().unwrap();
        let session = Sql::start(&stages, SqlSettings::default()).unwrap().session();
        let is_right = |script: &str| {
            let records = parse(script, "s", &|_| unreachable!()).unwrap();
            assert_eq!(records.len(), 1, "{script}");
            let places = [("HERE".to_owned(), "/a/folder".to_owned())];
            matches!(outcome(&session, &records[0], dialect, &places), Outcome::Right)
        };
        for script in right {
            assert!(is_right(script), "{script}");
        }
        for script in wrong {
            assert!(!is_right(script), "{script}");
        }
    }

    #[test]
    fn wrong_answers_are_told_from_right_ones() {
        let right = [
            "query IT\nSELECT 1, 'a b'\n----\n1 a b\n",
            "query I rowsort\nSELECT * FROM (VALUES (2), (10))\n----\n2\n10\n",
            "query T\nSELECT 'HERE' || '/x'\n----\nHERE/x\n",
        ];
        let wrong = [
            "query IT\nSELECT 1, 'a b'\n----\n1 a c\n",
            "query II\nSELECT 1, 'a b'\n----\n1 a b\n",
            "query I\nSELECT 1\n----\n",
            "query I\nSELECT 1 WHERE false\n----\n1\n",
            "query I\nSELECT nonsense\n----\n1\n",
            "query T\nSELECT ''\n----\nNULL\n",
            "query T like\nSELECT 'abc'\n----\nd\n",
            "query T like\nSELECT 'abc'\n----\n!b\n",
            "statement ok\nSELEC\n",
            "statement error nonsense\nSELECT 1\n",
            "statement error that\nSELECT this\n",
            "statement count 2\nSELECT 1\n",
        ];
        check(Dialect::Own, &right, &wrong);
    }

    #[test]
    fn answers_to_scripts_of_datafusion_are_compared_in_its_way() {
        let right = [
            "query R\nSELECT 1.50::double\n----\n1.5\n",
            "query D\nSELECT '10:00'::time\n----\n10:00:00\n",
            "query T\nSELECT 'abcd'\n----\na<slt:ignore>d\n",
            "statement error DataFusion error: its own words\nSELEC\n",
            "query I\nSELECT * FROM generate_series(1, 3)\n----\n3 values hashing to c0710d6b4f15dfa88f600b0e6b624077\n",
        ];
        let wrong = [
            "query R\nSELECT 1.5::double\n----\n1.50\n",
            "query I\nSELECT 1.5::double\n----\n1.5\n",
            "query T\nSELECT 'abcd'\n----\nb<slt:ignore>d\n",
            "query I\nSELECT * FROM generate_series(1, 4)\n----\n3 values hashing to c0710d6b4f15dfa88f600b0e6b624077\n",
            "query I\nSELECT * FROM (VALUES (1), (2), (4))\n----\n3 values hashing to c0710d6b4f15dfa88f600b0e6b624077\n",
            "statement error\nSELECT 1\n",
        ];
        check(Dialect::DataFusion, &right, &wrong);
    }

    #[test]
    fn answers_to_scripts_of_sqlite_are_compared_by_values() {
        let right = [
            "query IR nosort\nSELECT true, 2\n----\n1\n2.000\n",
            "query II rowsort\nSELECT * FROM (VALUES (2, 1), (10, 3))\n----\n10\n3\n2\n1\n",
            "query II valuesort\nSELECT * FROM (VALUES (2, 1), (10, 3))\n----\n1\n10\n2\n3\n",
        ];
        let wrong = [
            "query IR nosort\nSELECT true, 2\n----\n1\n2\n",
            "query II nosort\nSELECT 1\n----\n1\n",
            "query II nosort\nSELECT * FROM (VALUES (2, 1), (10, 3))\n----\n10\n3\n2\n1\n",
        ];
        check(Dialect::Sqlite, &right, &wrong);
    }
}
