//! Reads scripts in the form of sqllogictest: what is asked, and what must be answered.

use std::iter::{Enumerate, Peekable};
use std::path::Path;
use std::str::Lines;

/// The name of the engine in `skipif` and `onlyif` of DataFusion's scripts. What its engine skips is not asked here either.
const ENGINE: &str = "Datafusion";

/// A statement with what it must answer.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// The script's name and the number of the line.
    pub(crate) place: String,
    pub(crate) text: String,
    pub(crate) wanted: Wanted,
}

/// The answer that a statement must give.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wanted {
    Ok,
    Count(u64),
    /// Part of the message; empty where any error is right.
    Error(String),
    Rows {
        types: String,
        order: Order,
        answer: Answer,
    },
}

/// How rows are put in order before they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    AsIs,
    /// The rows are sorted.
    Rows,
    /// The values are sorted, whatever rows they are in.
    Values,
    /// Nothing is compared: every line must be somewhere in the answer.
    Like,
}

/// The rows of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Lines(Vec<String>),
    /// Too many to be written: their number, and the MD5 of all values with a line break behind each.
    Hash {
        values: usize,
        md5: String,
    },
}

/// Reads a script with those that it includes.
pub(crate) fn read(path: &Path, name: &str) -> Result<Vec<Record>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    parse(&text, name, &|pattern| {
        let pattern = folder.join(pattern).display().to_string();
        let mut all: Vec<_> =
            glob::glob(&pattern).map_err(|error| error.to_string())?.filter_map(Result::ok).collect();
        all.sort();
        let read = all.iter().map(|path| {
            let part = path.file_name().unwrap_or_default().to_string_lossy();
            read(path, &format!("{name}>{part}"))
        });
        let parts = read.collect::<Result<Vec<_>, String>>()?;
        if parts.is_empty() { Err(format!("{pattern} names no file")) } else { Ok(parts.concat()) }
    })
}

/// Reads the text of a script; `include` gives the statements of another.
pub(crate) fn parse(
    script: &str,
    name: &str,
    include: &dyn Fn(&str) -> Result<Vec<Record>, String>,
) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    let mut lines = script.lines().enumerate().peekable();
    let mut is_skipped = false;
    while let Some((number, head)) = lines.next() {
        if head.trim().is_empty() || head.starts_with('#') {
            continue;
        }
        let place = format!("{name}:{}", number + 1);
        let words: Vec<_> = head.split_whitespace().collect();
        match words.as_slice() {
            ["skipif", engine, ..] => is_skipped |= *engine == ENGINE,
            ["onlyif", engine, ..] => is_skipped |= *engine != ENGINE,
            // Answers say themselves whether they are hashed.
            ["hash-threshold", _] => {}
            ["halt", ..] => {
                if !std::mem::take(&mut is_skipped) {
                    break;
                }
            }
            ["include", pattern] => records.extend(include(pattern)?),
            ["statement" | "query", ..] => {
                let record = record(&place, head, &words, &mut lines)?;
                if !std::mem::take(&mut is_skipped) {
                    records.push(record);
                }
            }
            _ => return Err(format!("{place}: {head:?} is not known")),
        }
    }
    Ok(records)
}

type Rest<'a> = Peekable<Enumerate<Lines<'a>>>;

fn record(place: &str, head: &str, words: &[&str], lines: &mut Rest<'_>) -> Result<Record, String> {
    let mut text = Vec::new();
    let mut has_answer = false;
    for (_, line) in lines.by_ref() {
        // A statement may begin below a line that is empty.
        if line.trim().is_empty() && !text.is_empty() {
            break;
        }
        if line == "----" {
            has_answer = true;
            break;
        }
        text.push(line);
    }
    let wanted = match words {
        ["statement", "ok"] => Wanted::Ok,
        ["statement", "count", count] => {
            Wanted::Count(count.parse().map_err(|_| format!("{place}: {count} is no number of rows"))?)
        }
        [kind @ ("statement" | "query"), "error", ..] => {
            let (_, says) = head[kind.len()..].split_once("error").unwrap_or_default();
            let says = if has_answer { message(lines) } else { says.trim().to_owned() };
            Wanted::Error(says)
        }
        ["query", types, order @ ..] => {
            if !has_answer {
                return Err(format!("{place}: a query without an answer"));
            }
            let order = match order.first().copied() {
                None | Some("nosort") => Order::AsIs,
                Some("rowsort") => Order::Rows,
                Some("valuesort") => Order::Values,
                Some("like") => Order::Like,
                Some(other) => return Err(format!("{place}: the order {other:?} is not known")),
            };
            let all = lines.by_ref().map(|(_, line)| line).take_while(|line| !line.is_empty());
            let answer: Vec<_> = all.map(str::to_owned).collect();
            Wanted::Rows { types: (*types).to_owned(), order, answer: answer_of(answer) }
        }
        _ => return Err(format!("{place}: {head:?} is not known")),
    };
    Ok(Record { place: place.to_owned(), text: text.join("\n"), wanted })
}

fn answer_of(lines: Vec<String>) -> Answer {
    if let [line] = lines.as_slice()
        && let Some((values, md5)) = line.split_once(" values hashing to ")
        && let Ok(values) = values.parse()
    {
        return Answer::Hash { values, md5: md5.trim().to_owned() };
    }
    Answer::Lines(lines)
}

/// An error of several lines, which ends with two that are empty.
fn message(lines: &mut Rest<'_>) -> String {
    let mut message = Vec::new();
    while let Some((_, line)) = lines.next() {
        if line.is_empty() && lines.peek().is_none_or(|(_, next)| next.is_empty()) {
            break;
        }
        message.push(line);
    }
    message.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(script: &str) -> Result<Vec<Record>, String> {
        parse(script, "s", &|name| parse("statement ok\nincluded\n", name, &|_| unreachable!()))
    }

    #[test]
    fn all_that_scripts_of_others_say_is_understood() {
        let script = "\
# a comment
hash-threshold 8

include ./other.part

skipif Datafusion
statement ok
left out

onlyif mysql # its words
query I
left out
----

skipif postgres
query IT valuesort label-1
SELECT 1,
  2
----
3 values hashing to abc

statement error
SELEC
----
first line

second line


query error no such
SELECT x

statement count 3
DELETE

halt

query I nonsense
not read
";
        let records = parsed(script).unwrap();
        let texts: Vec<_> = records.iter().map(|record| record.text.as_str()).collect();
        assert_eq!(texts, ["included", "SELECT 1,\n  2", "SELEC", "SELECT x", "DELETE"]);
        let hash = Answer::Hash { values: 3, md5: "abc".to_owned() };
        let rows = Wanted::Rows { types: "IT".to_owned(), order: Order::Values, answer: hash };
        assert_eq!(records[1].wanted, rows);
        assert_eq!(records[2].wanted, Wanted::Error("first line\n\nsecond line".to_owned()));
        assert_eq!(records[3].wanted, Wanted::Error("no such".to_owned()));
        assert_eq!(records[4].place, "s:33");
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for script in [
            "nonsense\n",
            "query I upwards\nSELECT 1\n----\n1\n",
            "query I\nSELECT 1\n",
            "statement count x\nSELECT 1\n",
        ] {
            assert!(parsed(script).is_err(), "{script}");
        }
    }
}
