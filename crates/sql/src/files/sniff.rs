//! What the begin of a file says of the rest: the separator of a CSV file, and the order of the names in JSON.

use datafusion::common::Result;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use futures::StreamExt;
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::sync::Arc;

/// Bytes that are looked at.
const MOST_BYTES: usize = 256 << 10;

/// Lines that are looked at.
const MOST_LINES: usize = 100;

/// Separators that are looked for; of two that fit equally well the first.
const SEPARATORS: [u8; 4] = *b",;\t|";

/// Reads the begin of a file, as its reader will see it.
pub(super) async fn begin_of(store: &Arc<dyn ObjectStore>, location: &Path) -> Result<Vec<u8>> {
    let mut pieces = store.get(location).await?.into_stream();
    let mut begin = Vec::new();
    while begin.len() < MOST_BYTES
        && let Some(piece) = pieces.next().await
    {
        begin.extend_from_slice(&piece?);
    }
    begin.truncate(MOST_BYTES);
    Ok(begin)
}

/// Finds the separator with which all lines have the same number of fields, more than one; none where no separator has.
pub(super) fn separator(begin: &[u8]) -> Option<u8> {
    let is_whole = begin.len() < MOST_BYTES;
    let mut best = None;
    for separator in SEPARATORS {
        let Some(fields) = fields(begin, separator, is_whole) else { continue };
        if best.is_none_or(|(most, _)| fields > most) {
            best = Some((fields, separator));
        }
    }
    best.map(|(_, separator)| separator)
}

/// How many fields each line has with that separator, where all have as many, and more than one.
fn fields(begin: &[u8], separator: u8, is_whole: bool) -> Option<usize> {
    let (mut expected, mut count, mut lines) = (None, 1, 0);
    let (mut is_quoted, mut is_empty) = (false, true);
    let mut end = |count: usize| match *expected.get_or_insert(count) == count {
        true => Some(count).filter(|count| *count > 1),
        false => None,
    };
    let mut fields = None;
    for byte in begin {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => {
                if !is_empty {
                    fields = Some(end(count)?);
                    lines += 1;
                }
                (count, is_empty) = (1, true);
                if lines == MOST_LINES {
                    return fields;
                }
                continue;
            }
            b'\r' => continue,
            byte if *byte == separator && !is_quoted => count += 1,
            _ => {}
        }
        is_empty = false;
    }
    // The last line may go on behind what was looked at.
    if is_whole && !is_empty && !is_quoted { end(count) } else { fields }
}

/// The names of the objects in lines of JSON, in the order in which they first appear.
pub(super) fn names_in_order(begin: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for line in begin.split(|byte| *byte == b'\n').take(MOST_LINES) {
        // The last one may be cut; what is wrong with a line, its reader tells.
        let _ = serde_json::Deserializer::from_slice(line).deserialize_map(Names(&mut names));
    }
    names
}

/// Collects the names of an object.
struct Names<'a>(&'a mut Vec<String>);

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if !self.0.contains(&name) {
                self.0.push(name);
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_is_the_one_with_which_lines_are_alike() {
        for (text, found) in [
            ("a,b\n1,2\n", Some(b',')),
            ("a;b\n1,5;2\n", Some(b';')),
            ("a;b;c\n1,5;2;x,y\n", Some(b';')),
            ("name;price\nx;1,5\ny;2,5", Some(b';')),
            ("a\tb\r\n1\t2\r\n", Some(b'\t')),
            ("a|b\n\n1|2\n", Some(b'|')),
            ("a,b\n\"x;y\nz\",2\n", Some(b',')),
            ("a,b;c\n1,2;3\n", Some(b',')),
            ("one\ntwo\n", None),
            ("a,b\n1\n", None),
            ("", None),
        ] {
            assert_eq!(separator(text.as_bytes()), found, "{text:?}");
        }
        let long = format!("a;b\n{}", "1;2\n".repeat(100_000));
        assert_eq!(separator(&long.as_bytes()[..MOST_BYTES]), Some(b';'));
    }

    #[test]
    fn names_of_json_are_in_the_order_of_the_file() {
        let text = "{\"ts\": 1, \"id\": {\"z\": 1, \"a\": 2}}\n\nno json\n{\"id\": 1, \"amount\": 2}\n{\"cut";
        assert_eq!(names_in_order(text.as_bytes()), ["ts", "id", "amount"]);
    }
}
