//! Reads the one part of a JSON text that a path leads to, without building the rest.
//!
//! What lies beside the path is skipped by counting brackets, so neither depth nor size of hostile JSON matters: there is no recursion
//! but one level per `[any]` of the path, and nothing is allocated but the result. Text that is no JSON gives no value, as in
//! Hazelcast: one bad value must not end a query over a million good ones.

use super::attribute::PathStep;
use super::extract::Extracted;
use filbert_wire::Value;

/// What `steps` lead to in `text`; objects and arrays as their JSON text.
pub(crate) fn find(text: &str, steps: &[PathStep]) -> Extracted {
    let mut reader = Reader { text, at: 0 };
    if !steps.contains(&PathStep::Any) {
        return Extracted::One(reader.follow(steps).unwrap_or(Value::Null));
    }
    let mut found = Vec::new();
    let _ = reader.follow_all(steps, &mut found);
    Extracted::Many(found)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Goes over `byte`, if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// The value at the end of steps without `[any]`; `None` when there is none.
    fn follow(&mut self, steps: &[PathStep]) -> Option<Value> {
        for step in steps {
            self.enter(step)?;
        }
        self.value()
    }

    /// All values at the end of the steps. The reader stands behind the value afterwards.
    fn follow_all(&mut self, steps: &[PathStep], found: &mut Vec<Value>) -> Option<()> {
        let Some(any) = steps.iter().position(|step| *step == PathStep::Any) else {
            let end = self.end_of_value()?;
            let part = self.follow(steps);
            // Items without the attribute do not count, and neither do objects and arrays.
            found.extend(part.filter(|value| !matches!(value, Value::Json(_))));
            self.at = end;
            return Some(());
        };
        let end = self.end_of_value()?;
        let entered = steps[..any].iter().try_for_each(|step| self.enter(step));
        if entered.is_some() && self.take(b'[') && !self.take(b']') {
            loop {
                self.follow_all(&steps[any + 1..], found)?;
                if !self.take(b',') {
                    break;
                }
            }
        }
        self.at = end;
        Some(())
    }

    /// Goes to the start of the field's or item's value.
    fn enter(&mut self, step: &PathStep) -> Option<()> {
        match step {
            PathStep::Field(name) => {
                if !self.take(b'{') {
                    return None;
                }
                while self.peek() == Some(b'"') {
                    let key = self.raw_string()?;
                    let hit = if key.contains('\\') { unescaped(key)? == **name } else { *key == **name };
                    if !self.take(b':') {
                        return None;
                    }
                    if hit {
                        return Some(());
                    }
                    self.skip_value()?;
                    if !self.take(b',') {
                        return None;
                    }
                }
                None
            }
            PathStep::Item(number) => {
                if !self.take(b'[') {
                    return None;
                }
                for _ in 0..*number {
                    self.skip_value()?;
                    if !self.take(b',') {
                        return None;
                    }
                }
                Some(())
            }
            PathStep::Any => None,
        }
    }

    fn end_of_value(&mut self) -> Option<usize> {
        let start = self.at;
        self.skip_value()?;
        Some(std::mem::replace(&mut self.at, start))
    }

    /// Goes over a value of any kind.
    fn skip_value(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.raw_string().map(|_| ()),
            b'{' | b'[' => {
                let mut open = 0_usize;
                loop {
                    match self.text.as_bytes().get(self.at)? {
                        b'"' => {
                            self.raw_string()?;
                            continue;
                        }
                        b'{' | b'[' => open += 1,
                        b'}' | b']' => open -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if open == 0 {
                        return Some(());
                    }
                }
            }
            b',' | b':' | b'}' | b']' => None,
            _ => {
                self.word();
                Some(())
            }
        }
    }

    /// A number, `true`, `false` or `null`: all up to the next sign of structure.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find([',', ':', '}', ']', '{', '[', '"', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The inside of the string that begins here, escapes as they are.
    fn raw_string(&mut self) -> Option<&'a str> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut at = start;
        loop {
            match bytes.get(at)? {
                b'"' => break,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        self.text.get(start..at)
    }

    /// The value that begins here.
    fn value(&mut self) -> Option<Value> {
        match self.peek()? {
            b'"' => unescaped(self.raw_string()?).map(Value::String),
            b'{' | b'[' => {
                let start = self.at;
                self.skip_value()?;
                Some(Value::Json(self.text[start..self.at].to_owned()))
            }
            _ => match self.word() {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                "null" => Some(Value::Null),
                number => number_of(number),
            },
        }
    }
}

/// Whole numbers as longs, all others as doubles, as Hazelcast reads them.
fn number_of(text: &str) -> Option<Value> {
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return None;
    }
    if let Ok(whole) = text.parse() {
        return Some(Value::Long(whole));
    }
    text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Double)
}

/// The string that the inside of a JSON string stands for.
fn unescaped(raw: &str) -> Option<String> {
    if !raw.contains('\\') {
        return Some(raw.to_owned());
    }
    let mut text = String::with_capacity(raw.len());
    let mut units = Vec::new();
    let mut rest = raw;
    while let Some(escape) = rest.find('\\') {
        let (before, after) = rest.split_at(escape);
        if !before.is_empty() {
            flush(&mut units, &mut text)?;
            text.push_str(before);
        }
        let sign = *after.as_bytes().get(1)?;
        rest = after.get(2..)?;
        if sign == b'u' {
            let digits = rest.get(..4)?;
            units.push(u16::from_str_radix(digits, 16).ok()?);
            rest = &rest[4..];
            continue;
        }
        flush(&mut units, &mut text)?;
        text.push(match sign {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => sign.into(),
            _ => return None,
        });
    }
    flush(&mut units, &mut text)?;
    text.push_str(rest);
    Some(text)
}

/// Writes UTF-16 code units, of which two may make one character.
fn flush(units: &mut Vec<u16>, text: &mut String) -> Option<()> {
    for character in char::decode_utf16(units.drain(..)) {
        text.push(character.ok()?);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::attribute::Attribute;
    use super::*;

    fn found(text: &str, path: &str) -> Extracted {
        find(text, path.parse::<Attribute>().unwrap().steps())
    }

    fn one(text: &str, path: &str) -> Value {
        match found(text, path) {
            Extracted::One(value) => value,
            Extracted::Many(values) => panic!("{values:?}"),
        }
    }

    #[test]
    fn paths_lead_to_scalars() {
        let text =
            r#" {"a": {"x": [1, 2.5, "drei", true, null, {"y": -7}]}, "b\u0041": "q\"\n\ud83d\ude00"} "#;
        assert_eq!(one(text, "a.x[0]"), Value::Long(1));
        assert_eq!(one(text, "a.x[1]"), Value::Double(2.5));
        assert_eq!(one(text, "a.x[2]"), Value::String("drei".into()));
        assert_eq!(one(text, "a.x[3]"), Value::Bool(true));
        assert_eq!(one(text, "a.x[4]"), Value::Null);
        assert_eq!(one(text, "a.x[5].y"), Value::Long(-7));
        assert_eq!(one(text, "a.x[6]"), Value::Null);
        assert_eq!(one(text, "bA"), Value::String("q\"\n\u{1f600}".into()));
        assert_eq!(one(text, "a.x[5]"), Value::Json(r#"{"y": -7}"#.into()));
        assert_eq!(one(text, "this"), Value::Json(text.trim().into()));
        assert_eq!(one("17", "this"), Value::Long(17));
    }

    #[test]
    fn any_collects_every_item() {
        let text =
            r#"{"a": [{"b": 1}, {"c": 2}, 3, {"b": [4, 5]}, {"b": "x"}, [6]], "n": [[1, 2], [], [3]]}"#;
        assert_eq!(found(text, "a[any].b"), Extracted::Many(vec![Value::Long(1), Value::String("x".into())]));
        assert_eq!(found(text, "a[any]"), Extracted::Many(vec![Value::Long(3)]));
        let numbers = vec![Value::Long(1), Value::Long(2), Value::Long(3)];
        assert_eq!(found(text, "n[any][any]"), Extracted::Many(numbers));
        assert_eq!(found(text, "zzz[any]"), Extracted::Many(vec![]));
    }

    #[test]
    fn what_is_no_json_gives_nothing() {
        let broken = [
            "",
            "{",
            "[",
            "\"",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":}",
            "{\"a\" 1}",
            "{a:1}",
            "]",
            "\\",
            "{\"a\":\"\\u12\"}",
            "{\"a\":\"\\",
            "{\"a\":+1}",
            "{\"a\":1e999}",
        ];
        for text in broken {
            assert_eq!(one(text, "a"), Value::Null, "{text}");
            assert_eq!(one(text, "a[1]"), Value::Null, "{text}");
        }
        let deep = "[".repeat(1_000_000);
        assert_eq!(one(&format!("{{\"b\":{deep}"), "a"), Value::Null);
    }
}
