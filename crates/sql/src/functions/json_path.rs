//! Parts of a JSON text, found without making a tree of it: a part is a piece of the text as it is written, digits and order included.

use serde::de::IgnoredAny;

/// One step of a path.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// `.name`
    Member(String),
    /// `[3]`
    Element(usize),
    /// `[*]`
    Every,
}

/// A path such as `$.orders[0]."unit price"`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(path: &str) -> Result<Vec<Step>, String> {
    let wrong = |what: &str| format!("the path '{path}' {what}; write it like '$.orders[0].price'");
    let text = path.trim();
    let text =
        text.strip_prefix("lax ").or_else(|| text.strip_prefix("strict ")).unwrap_or(text).trim_start();
    let mut rest = text.strip_prefix('$').ok_or_else(|| wrong("does not begin with $"))?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('.') {
            if let Some(quoted) = behind.strip_prefix('"') {
                let (name, behind) =
                    quoted.split_once('"').ok_or_else(|| wrong("has a quote without end"))?;
                steps.push(Step::Member(name.to_owned()));
                rest = behind;
                continue;
            }
            let end = behind.find(['.', '[', ' ', '*', '?', '(', '@']).unwrap_or(behind.len());
            if end == 0 {
                return Err(wrong("has a . without the name of a member behind it"));
            }
            steps.push(Step::Member(behind[..end].to_owned()));
            rest = &behind[end..];
        } else if let Some(behind) = rest.strip_prefix('[') {
            let (inside, behind) = behind.split_once(']').ok_or_else(|| wrong("has a [ without ]"))?;
            let inside = inside.trim();
            let name = inside.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
            steps.push(match (inside, name, inside.parse()) {
                ("*", ..) => Step::Every,
                (_, Some(name), _) => Step::Member(name.to_owned()),
                (_, _, Ok(number)) => Step::Element(number),
                _ => return Err(wrong("has something else than a number, a name or * between [ and ]")),
            });
            rest = behind;
        } else {
            return Err(wrong("has more than members and elements"));
        }
    }
    Ok(steps)
}

/// True for a text that is JSON.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// What a path leads to, in a text that is JSON.
pub(super) fn find<'t>(text: &'t str, steps: &[Step]) -> Vec<&'t str> {
    let mut found = vec![text.trim()];
    for step in steps {
        found = found
            .into_iter()
            .flat_map(|value| match step {
                Step::Member(name) => member(value, name).into_iter().collect::<Vec<_>>(),
                Step::Element(number) => elements(value).into_iter().nth(*number).into_iter().collect(),
                Step::Every => elements(value),
            })
            .collect();
    }
    found
}

/// The member of an object; the last one, where several have the name.
pub(super) fn member<'t>(object: &'t str, name: &str) -> Option<&'t str> {
    if !object.starts_with('{') {
        return None;
    }
    let mut rest = object[1..].trim_start();
    let mut found = None;
    while rest.starts_with('"') {
        let (key, behind) = rest.split_at(end_of(rest));
        let value = behind.trim_start().strip_prefix(':')?.trim_start();
        let (value, behind) = value.split_at(end_of(value));
        let is_it = key[1..key.len() - 1] == *name
            || (key.contains('\\') && text_of(key).is_some_and(|key| key == name));
        if is_it {
            found = Some(value);
        }
        let behind = behind.trim_start();
        rest = behind.strip_prefix(',').unwrap_or(behind).trim_start();
    }
    found
}

/// The elements of an array; none of anything else.
pub(super) fn elements(array: &str) -> Vec<&str> {
    let mut found = Vec::new();
    if !array.starts_with('[') {
        return found;
    }
    let mut rest = array[1..].trim_start();
    while !rest.is_empty() && !rest.starts_with(']') {
        let (value, behind) = rest.split_at(end_of(rest));
        found.push(value);
        let behind = behind.trim_start();
        rest = behind.strip_prefix(',').unwrap_or(behind).trim_start();
    }
    found
}

/// A value as text: a string without quotes and escapes, all else as it is written; nothing for `null`.
pub(super) fn text_of(value: &str) -> Option<String> {
    match value.as_bytes().first() {
        Some(b'"') => serde_json::from_str(value).ok(),
        _ if value == "null" => None,
        _ => Some(value.to_owned()),
    }
}

/// Where the value ends with which a text of valid JSON begins.
fn end_of(text: &str) -> usize {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    in_string = false;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#" {"a": {"b": [1.10, {"c": "x,}\"]"}, null ]}, "k\u0061": true, "a b":[], "n":12345678901234567890} "#;

    #[test]
    fn paths_lead_to_pieces_of_the_text() {
        assert!(is_json(TEXT) && !is_json("{a: 1}") && !is_json(""));
        let at = |path: &str| find(TEXT, &parse(path).unwrap());
        assert_eq!(at("$.a.b[0]"), ["1.10"]);
        assert_eq!(at("$.a.b[1].c"), [r#""x,}\"]""#]);
        assert_eq!(at("lax $.a.b[*]"), ["1.10", r#"{"c": "x,}\"]"}"#, "null"]);
        assert_eq!(at("$.ka"), ["true"]);
        assert_eq!(at("$.\"a b\""), ["[]"]);
        assert_eq!(at("$['a b'][*]"), [""; 0]);
        assert_eq!(at("$.n"), ["12345678901234567890"]);
        assert_eq!(at("$.a.b.c"), [""; 0]);
        assert_eq!(at("$"), [TEXT.trim()]);
        assert_eq!(text_of(r#""x\n""#).as_deref(), Some("x\n"));
        assert_eq!(text_of("null"), None);
    }

    #[test]
    fn wrong_paths_are_refused() {
        for path in ["a", "", "$.", "$..a", "$[", "$[a]", "$.a?(@.b > 1)", "$.*"] {
            assert!(parse(path).unwrap_err().contains("write it like"), "{path}");
        }
    }
}
