//! The members of a JSON object, as pieces of its text.
//!
//! A scan wants a few members, an `UPDATE` changes a few, and both leave the others as they are: numbers with more digits than a double
//! has, the order of members, white space. So the text is walked and not built into a tree. Where a value ends says `serde_json`, which
//! thereby checks it, without recursion. Rejected: its `RawValue`, a feature that all crates of the build would get, the planner among them.
//!
//! Of two members with one name the first counts, as it does for predicates and indexes of the grid.

use super::cell::Cell;
use filbert_wire::{BigInteger, Value};
use serde::de::{Error as _, IgnoredAny};
use serde_json::{Deserializer, Error};
use std::borrow::Cow;
use std::ops::Range;

/// One member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member<'t> {
    pub(crate) name: Cow<'t, str>,
    /// From the bracket or comma before it to the one behind it.
    span: Range<usize>,
    /// Its value.
    value: Range<usize>,
}

impl<'t> Member<'t> {
    /// Its value in the text that it is of.
    pub(crate) fn cell(&self, text: &'t str) -> Result<Cell<'t>, Error> {
        cell_of(&text[self.value.clone()])
    }
}

/// Goes over the members of an object, in order.
pub(crate) struct Members<'t> {
    text: &'t str,
    at: usize,
    begun: bool,
}

impl<'t> Members<'t> {
    /// Those of a JSON text; nothing when it is no object.
    pub(crate) fn of(text: &'t str) -> Result<Option<Self>, Error> {
        let mut members = Self { text, at: 0, begun: false };
        if members.take(b'{') {
            return Ok(Some(members));
        }
        serde_json::from_str::<IgnoredAny>(text).map(|_| None)
    }

    /// The next one; nothing behind the last, when the whole text was read.
    pub(crate) fn next_member(&mut self) -> Result<Option<Member<'t>>, Error> {
        let start = self.at;
        if self.take(b'}') {
            self.skip_space();
            return if self.at == self.text.len() { Ok(None) } else { Err(self.broken()) };
        }
        let start = match (self.begun, self.take(b',')) {
            (false, false) => start,
            (true, true) => self.at,
            _ => return Err(self.broken()),
        };
        self.begun = true;
        self.skip_space();
        if self.text.as_bytes().get(self.at) != Some(&b'"') {
            return Err(self.broken());
        }
        let name = self.skip_value()?;
        let name = text_of(&self.text[name])?;
        if !self.take(b':') {
            return Err(self.broken());
        }
        self.skip_space();
        let value = self.skip_value()?;
        self.skip_space();
        Ok(Some(Member { name, span: start..self.at, value }))
    }

    fn skip_space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
    }

    /// Goes over that byte if it is next, white space aside.
    fn take(&mut self, byte: u8) -> bool {
        let start = self.at;
        self.skip_space();
        let found = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at = if found { self.at + 1 } else { start };
        found
    }

    /// Goes over the value that begins here.
    fn skip_value(&mut self) -> Result<Range<usize>, Error> {
        let start = self.at;
        let mut values = Deserializer::from_str(&self.text[start..]).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => self.at = start + values.byte_offset(),
            _ => return Err(self.broken()),
        }
        Ok(start..self.at)
    }

    /// What is wrong, with its place in the whole text.
    fn broken(&self) -> Error {
        match serde_json::from_str::<IgnoredAny>(self.text) {
            Err(error) => error,
            Ok(_) => Error::custom("it is no JSON object"),
        }
    }
}

/// What a string stands for that was skipped before, quotes included.
fn text_of(quoted: &str) -> Result<Cow<'_, str>, Error> {
    match quoted.contains('\\') {
        true => serde_json::from_str(quoted).map(Cow::Owned),
        false => Ok(Cow::Borrowed(&quoted[1..quoted.len() - 1])),
    }
}

/// A value by its text, which was skipped before: objects and lists as they are written.
fn cell_of(text: &str) -> Result<Cell<'_>, Error> {
    Ok(match text.as_bytes().first() {
        Some(b'"') => Cell::Text(text_of(text)?),
        Some(b'{' | b'[') => Cell::Value(Value::Json(text.to_owned())),
        Some(b't') => Cell::Value(Value::Bool(true)),
        Some(b'f') => Cell::Value(Value::Bool(false)),
        Some(b'n') => Cell::NULL,
        _ => Cell::Value(number_of(text)?),
    })
}

/// Whole numbers as longs while they fit, others as the double that is nearest: as indexes of the grid read them.
fn number_of(text: &str) -> Result<Value, Error> {
    if let Ok(whole) = text.parse() {
        return Ok(Value::Long(whole));
    }
    if let Ok(wide) = text.parse::<u64>() {
        return Ok(Value::BigInteger(BigInteger::from(i128::from(wide))));
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Value::Double(number)),
        _ => Err(Error::custom(format!("the number {text:.60} is out of range"))),
    }
}

/// The members that are wanted, each with the cell that it goes into.
#[derive(Debug, Default)]
pub(crate) struct MemberPick {
    wanted: Vec<(String, usize)>,
    found: Vec<bool>,
}

impl MemberPick {
    pub(crate) fn add(&mut self, name: &str, cell: usize) {
        self.wanted.push((name.to_owned(), cell));
        self.found.push(false);
    }

    pub(crate) fn wanted(&self) -> &[(String, usize)] {
        &self.wanted
    }

    /// Fills the cells of members that an object has. JSON that is no object has none.
    pub(crate) fn pick<'t>(&mut self, text: &'t str, cells: &mut [Cell<'t>]) -> Result<(), Error> {
        let Some(mut members) = Members::of(text)? else { return Ok(()) };
        self.found.fill(false);
        let mut left = self.wanted.len();
        while let Some(member) = members.next_member()? {
            if left == 0 {
                continue;
            }
            // Two columns of a mapping may be one member.
            for (place, (name, cell)) in self.wanted.iter().enumerate() {
                if *name == member.name && !self.found[place] {
                    cells[*cell] = member.cell(text)?;
                    self.found[place] = true;
                    left -= 1;
                }
            }
        }
        Ok(())
    }
}

/// The object with some members set, as JSON text, or taken out; every other byte of the members stays. Nothing when it is no object.
pub(crate) fn spliced(text: &str, changes: &[(&str, Option<String>)]) -> Result<Option<String>, Error> {
    let Some(mut members) = Members::of(text)? else { return Ok(None) };
    let (mut kept, mut done) = (Vec::new(), vec![false; changes.len()]);
    let (begin, mut end) = (members.at, members.at);
    while let Some(member) = members.next_member()? {
        end = member.span.end;
        let change = changes.iter().position(|(name, _)| *name == member.name);
        match change {
            None => kept.push(Cow::Borrowed(&text[member.span])),
            // A second one of that name would only hide what was set.
            Some(number) if done[number] => {}
            Some(number) => {
                done[number] = true;
                if let Some(value) = &changes[number].1 {
                    let before = &text[member.span.start..member.value.start];
                    kept.push(Cow::Owned(
                        [before, value.as_str(), &text[member.value.end..member.span.end]].concat(),
                    ));
                }
            }
        }
    }
    for ((name, value), _) in changes.iter().zip(done).filter(|(_, done)| !done) {
        if let Some(value) = value {
            kept.push(Cow::Owned(format!("{}:{value}", serde_json::Value::from(*name))));
        }
    }
    Ok(Some([&text[..begin], kept.join(",").as_str(), text[end..].trim_ascii_start()].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(text: &str, names: &[&str]) -> Result<Vec<Value>, Error> {
        let mut pick = MemberPick::default();
        names.iter().enumerate().for_each(|(cell, name)| pick.add(name, cell));
        let mut cells = vec![Cell::NULL; names.len()];
        pick.pick(text, &mut cells)?;
        Ok(cells.into_iter().map(Cell::into_value).collect())
    }

    #[test]
    fn wanted_members_are_found_wherever_they_are() {
        let json = r#" { "a" : 1 ,"skip":{"b":[1,2,{"a":9}]},"b":"x","c":{"d":[true, null]},"e":1.5,"f":18446744073709551615 } "#;
        assert_eq!(picked(json, &["b", "a"]).unwrap(), [Value::String("x".into()), Value::Long(1)]);
        let nested = Value::Json(r#"{"d":[true, null]}"#.into());
        assert_eq!(picked(json, &["c", "none"]).unwrap(), [nested, Value::Null]);
        assert_eq!(picked(json, &["e"]).unwrap(), [Value::Double(1.5)]);
        assert_eq!(picked(json, &["f"]).unwrap(), [Value::BigInteger(BigInteger::from(u64::MAX as i128))]);
        assert_eq!(picked(r#"{"a":"\u00e4"}"#, &["a"]).unwrap(), [Value::String("ä".into())]);
        assert_eq!(picked(r#"{"\u00e4":7}"#, &["ä"]).unwrap(), [Value::Long(7)]);
        assert_eq!(picked(r#"{"a":null,"a":7}"#, &["a"]).unwrap(), [Value::Null], "the first counts");
        assert_eq!(picked("{}", &["a"]).unwrap(), [Value::Null]);
        // The nearest double: serde_json's own reader may be one off with so many digits.
        let near = picked(r#"{"a":31.245270191439438}"#, &["a"]).unwrap();
        assert_eq!(near, [Value::Double(31.245_270_191_439_438)]);
    }

    #[test]
    fn json_that_is_no_object_has_no_members_and_what_is_no_json_is_an_error() {
        for json in ["1", "null", "\"a\"", "[{\"a\":1}]", "true", "1.5"] {
            assert_eq!(picked(json, &["a"]).unwrap(), [Value::Null]);
            assert!(Members::of(json).unwrap().is_none());
            assert_eq!(spliced(json, &[("a", Some("1".into()))]).unwrap(), None);
        }
        let broken = [
            "",
            "{",
            "{\"a\":1}x",
            "{\"a\"}",
            "{\"a\":1",
            "{\"a\":1,}",
            "{,\"a\":1}",
            "{\"a\":1 \"b\":2}",
            "{a:1}",
            "{\"a\":01}",
            "{\"a\":\"\\x\"}",
            "{\"b\":[1}",
            "{\"b\":tru}",
            "{\"a\":1e999}",
            "{\"a\":}",
            "{\"a\" 1}",
            "{\"\\ud800\":1,\"a\":1}",
        ];
        for json in broken {
            assert!(picked(json, &["a"]).is_err(), "{json}");
        }
        let place = picked("{\"b\":1,\n\"a\":x}", &["a"]).unwrap_err().to_string();
        assert!(place.contains("line 2 column 5"), "{place}");
        // Depth costs no stack, neither here nor where it is skipped.
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(&picked(&deep, &["a"]).unwrap()[..], [Value::Json(text)] if text.len() == 200_001));
        assert_eq!(picked(&deep, &["b"]).unwrap(), [Value::Null]);
    }

    #[test]
    fn a_change_leaves_every_other_byte() {
        let spliced = |text: &str, changes: &[(&str, Option<&str>)]| {
            let changes: Vec<_> =
                changes.iter().map(|(name, value)| (*name, value.map(str::to_owned))).collect();
            spliced(text, &changes).unwrap().unwrap()
        };
        let text = "{ \"z\": 12345678901234567890.10 ,\n\"a\" : 1e0, \"m\":[ 0.1000 ] }";
        assert_eq!(
            spliced(text, &[("a", Some("2"))]),
            "{ \"z\": 12345678901234567890.10 ,\n\"a\" : 2, \"m\":[ 0.1000 ] }"
        );
        assert_eq!(spliced(text, &[("a", None)]), "{ \"z\": 12345678901234567890.10 , \"m\":[ 0.1000 ] }");
        assert_eq!(spliced(text, &[("z", None), ("m", None)]), "{\n\"a\" : 1e0}");
        assert_eq!(spliced("{\"a\":1}", &[("q\"", Some("[]")), ("b", None)]), r#"{"a":1,"q\"":[]}"#);
        assert_eq!(spliced("{ }", &[("a", Some("1"))]), r#"{"a":1}"#);
        assert_eq!(spliced("{\"a\":1}", &[("a", None)]), "{}");
        assert_eq!(spliced(r#"{"a":1,"b":2,"a":3}"#, &[("a", Some("4"))]), r#"{"a":4,"b":2}"#);
        assert_eq!(spliced(r#"{"\u0061":1}"#, &[("a", Some("4"))]), r#"{"\u0061":4}"#);
    }
}
