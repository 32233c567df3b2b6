//! Tells code, comments and literals of Rust text apart, character by character.
//!
//! It knows line and nested block comments, strings with escapes, raw and byte strings, and characters as against
//! lifetimes. Text inside literals is blanked in both results: a rule never looks into them by accident.

/// The code and the comments of a text, each with as many lines, and columns, as the text itself.
pub(super) struct Scanned {
    pub(super) code: String,
    pub(super) comments: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Code,
    Comment,
    Literal,
}

/// Splits a text.
pub(super) fn scan(text: &str) -> Scanned {
    let characters: Vec<char> = text.chars().collect();
    let mut scanned =
        Scanned { code: String::with_capacity(text.len()), comments: String::with_capacity(text.len()) };
    let mut at = 0;
    while at < characters.len() {
        let (place, length) = piece(&characters, at);
        for &character in &characters[at..at + length] {
            let keep = |here: Place| if character == '\n' || place == here { character } else { ' ' };
            scanned.code.push(keep(Place::Code));
            scanned.comments.push(keep(Place::Comment));
        }
        at += length;
    }
    scanned
}

/// What begins at a position of the code, and how long it is.
fn piece(text: &[char], at: usize) -> (Place, usize) {
    let rest = &text[at..];
    match rest {
        ['/', '/', ..] => (Place::Comment, rest.iter().position(|&c| c == '\n').unwrap_or(rest.len())),
        ['/', '*', ..] => (Place::Comment, block_comment(rest)),
        ['"', ..] => (Place::Literal, quoted(rest, '"')),
        ['\'', ..] => match character_literal(rest) {
            Some(length) => (Place::Literal, length),
            None => (Place::Code, 1),
        },
        [first, ..] if first.is_alphabetic() || *first == '_' => {
            let word = rest.iter().position(|c| !c.is_alphanumeric() && *c != '_').unwrap_or(rest.len());
            match raw_string(rest, word) {
                Some(length) => (Place::Literal, length),
                None => (Place::Code, word),
            }
        }
        _ => (Place::Code, 1),
    }
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match (rest[at], rest.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of a literal that starts with a quote and ends with the same one, escapes skipped.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `'x'` and `'\n'` are characters; `'a` is a lifetime or a label.
fn character_literal(rest: &[char]) -> Option<usize> {
    match rest {
        ['\'', '\\', ..] => Some(quoted(rest, '\'')),
        ['\'', _, '\'', ..] => Some(3),
        _ => None,
    }
}

/// The length of `r"..."`, `r#"..."#`, `br"..."` and `cr"..."`, if the word is such a prefix. In `b"..."` and `c"..."` the
/// word is code and the rest an ordinary string.
fn raw_string(rest: &[char], word: usize) -> Option<usize> {
    let prefix: String = rest[..word].iter().collect();
    if !["r", "br", "cr"].contains(&prefix.as_str()) {
        return None;
    }
    let hashes = rest[word..].iter().take_while(|&&c| c == '#').count();
    let open = word + hashes;
    if rest.get(open) != Some(&'"') {
        return None;
    }
    let mut at = open + 1;
    while at < rest.len() {
        if rest[at] == '"' && rest[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes {
            return Some(at + 1 + hashes);
        }
        at += 1;
    }
    Some(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code without the spaces that stand for what is not code.
    fn code(text: &str) -> String {
        scan(text).code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_are_not_code() {
        assert_eq!(code("a // b\nc"), "a c");
        assert_eq!(code("a /* b /* c */ d */ e"), "a e");
        assert_eq!(scan("a // b\n").comments, "  // b\n");
    }

    #[test]
    fn literals_are_neither() {
        assert_eq!(code(r#"f("unsafe // \" x", 1)"#), "f( , 1)");
        assert_eq!(code(r###"f(r#"a "quoted" b"#, br"\", 2)"###), "f( , , 2)");
        assert_eq!(code(r#"f(b"x", c"y")"#), "f(b , c )");
        assert!(scan("\"// not a comment\"").comments.trim().is_empty());
    }

    #[test]
    fn characters_and_lifetimes() {
        assert_eq!(code(r"a<'x>('\'', '{', '/') 'outer: loop"), "a<'x>( , , ) 'outer: loop");
        assert_eq!(code("r#type + r"), "r#type + r");
    }

    #[test]
    fn lines_and_columns_stay() {
        let text = "one \"two\nthree\" /* four\nfive */ six\n";
        let scanned = scan(text);
        assert_eq!(scanned.code.lines().count(), text.lines().count());
        assert_eq!(scanned.code.lines().last(), Some("        six"));
    }

    #[test]
    fn what_is_not_closed_ends_with_the_text() {
        for text in ["\"open", "/* open", "r#\"open", "'\\", "\"\\"] {
            assert_eq!(scan(text).code.chars().count(), text.chars().count(), "{text}");
        }
    }
}
