//! The words of a line, as a shell would split it: `'...'` as it is, `"..."` and words with `\` before a letter that is meant itself.

/// A word of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// The byte of the line at which it begins, quote included.
    pub(super) start: usize,
}

/// The words of a line, and whether more belongs to the last.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) words: Vec<Word>,
    /// The quote that is not closed.
    pub(super) open: Option<char>,
    /// A line that ends within or right behind the last word.
    pub(super) is_within: bool,
}

/// Returns whether a line says nothing: a comment begins with `#`.
pub(super) fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Splits a line.
pub(super) fn split(line: &str) -> Words {
    let mut words: Vec<Word> = Vec::new();
    let (mut open, mut is_within) = (None, false);
    let mut letters = line.char_indices();
    while let Some((at, letter)) = letters.next() {
        if open.is_none() && letter.is_whitespace() {
            is_within = false;
            continue;
        }
        if !is_within {
            words.push(Word { text: String::new(), start: at });
            is_within = true;
        }
        let Some(word) = words.last_mut() else { continue };
        match (open, letter) {
            (Some(quote), letter) if letter == quote => open = None,
            (None, '\'' | '"') => open = Some(letter),
            (None, '\\') => word.text.extend(letters.next().map(|(_, next)| next)),
            (Some('"'), '\\') => match letters.next() {
                Some((_, next @ ('"' | '\\'))) => word.text.push(next),
                // Anything else is a part of the text, as in \n of JSON.
                next => {
                    word.text.push('\\');
                    word.text.extend(next.map(|(_, next)| next));
                }
            },
            (_, letter) => word.text.push(letter),
        }
    }
    Words { words, open, is_within }
}

/// Writes a word so that [`split`] reads it as one.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@+=,*".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<String> {
        split(line).words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_split_as_a_shell_does() {
        assert_eq!(texts("  map  put m 1 one "), ["map", "put", "m", "1", "one"]);
        assert_eq!(
            texts(r#"put m 'a b' "c \"d\" \n" e\ f 'it'\''s' '' x"y"z"#),
            ["put", "m", "a b", r#"c "d" \n"#, "e f", "it's", "", "xyz"]
        );
        assert_eq!(texts(r#"put m '{"name": "Ann"}'"#), ["put", "m", r#"{"name": "Ann"}"#]);
        assert!(texts("  ").is_empty());
    }

    #[test]
    fn a_line_may_end_within_a_word() {
        let words = split("map get 'my ma");
        assert_eq!((words.open, words.is_within), (Some('\''), true));
        assert_eq!(words.words[2], Word { text: "my ma".to_owned(), start: 8 });
        let words = split("map get ");
        assert_eq!((words.open, words.is_within, words.words.len()), (None, false, 2));
    }

    #[test]
    fn a_quoted_word_is_read_as_one() {
        for word in ["cities", "my map", "it's", "", "a\"b", "a\\b", "#1"] {
            assert_eq!(texts(&quoted(word)), [word]);
        }
        assert_eq!(quoted("orders-2024"), "orders-2024");
    }

    #[test]
    fn comments_and_empty_lines_are_blank() {
        assert!(["", "  ", "# a comment"].into_iter().all(is_blank));
        assert!(!is_blank("map list # 1"));
    }
}
