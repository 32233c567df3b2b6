//! Cuts a text into statements, and commands of the shell, while it is still being read.
//!
//! A statement ends with a semicolon that is not inside a quote or a comment, so this knows quotes and comments and nothing else of SQL.
//! What was looked at once is not looked at again: a statement of many lines costs no more than its length.

use super::command::is_command;

/// What a text is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Statement(Statement),
    /// A line that is a command, where a statement could begin.
    Command(String),
}

/// One statement, without its semicolon and what stands before its first word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) text: String,
    /// On which line of the whole text it begins, from 1.
    pub(super) line: usize,
}

/// Takes lines, gives pieces.
#[derive(Debug)]
pub(super) struct Splitter {
    /// What has been read and belongs to no piece yet.
    pending: String,
    /// Of it: how far it was looked at.
    scanned: usize,
    /// Of it: where the first word is, and on which line.
    begin: Option<(usize, usize)>,
    within: Within,
    /// The line that is looked at.
    line: usize,
}

/// What the next letter is part of.
#[derive(Debug, PartialEq, Eq)]
enum Within {
    Plain,
    Quote {
        by: u8,
        /// A backslash takes the meaning of the next letter away: `e'\''`.
        escapes: bool,
    },
    /// `$$ ... $$` or `$tag$ ... $tag$`; this is the tag with its signs.
    Dollar(String),
    LineComment,
    /// How many are open: they nest.
    Comment(usize),
}

impl Splitter {
    pub(super) fn new() -> Self {
        Self { pending: String::new(), scanned: 0, begin: None, within: Within::Plain, line: 1 }
    }

    /// Every piece of a whole text; the last statement needs no semicolon.
    pub(super) fn pieces(text: &str) -> Vec<Piece> {
        let mut splitter = Self::new();
        let mut pieces = splitter.push(text);
        pieces.extend(splitter.finish());
        pieces
    }

    /// The pieces that end within these lines. The text goes up to the end of a line.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for line in text.split_inclusive('\n') {
            let is_free = self.begin.is_none() && self.within == Within::Plain;
            if is_free && is_command(line) {
                pieces.push(Piece::Command(line.trim().to_owned()));
                self.drop_before(self.pending.len());
                self.line += 1;
                continue;
            }
            self.pending += line;
            self.scan(&mut pieces);
        }
        pieces
    }

    /// What is left when nothing more comes.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        let begin = self.begin.take()?;
        let statement = self.statement(begin, self.pending.len());
        *self = Self::new();
        Some(statement)
    }

    /// True when a statement has begun and not ended.
    pub(super) fn is_within_statement(&self) -> bool {
        self.begin.is_some() || self.within != Within::Plain
    }

    /// Bytes that wait for the end of their statement.
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    fn scan(&mut self, pieces: &mut Vec<Piece>) {
        let mut done = 0;
        while self.scanned < self.pending.len() {
            let at = self.scanned;
            let rest = &self.pending.as_bytes()[at..];
            self.line += usize::from(rest[0] == b'\n');
            if self.within != Within::Plain {
                self.scanned += self.leave(at);
                continue;
            }
            let before = at.checked_sub(1).map(|before| self.pending.as_bytes()[before]);
            self.scanned += match rest[0] {
                b';' => {
                    pieces.extend(self.begin.take().map(|begin| self.statement(begin, at)));
                    done = at + 1;
                    1
                }
                b'-' if rest.starts_with(b"--") => self.enter(Within::LineComment, 2),
                b'/' if rest.starts_with(b"/*") => self.enter(Within::Comment(1), 2),
                quote @ (b'\'' | b'"' | b'`') => {
                    let escapes = quote == b'\'' && matches!(before, Some(b'e' | b'E'));
                    self.word(at, Within::Quote { by: quote, escapes }, 1)
                }
                b'$' if !before.is_some_and(is_of_name) => match dollar_tag(rest) {
                    Some(tag) => {
                        let bytes = tag.len();
                        self.word(at, Within::Dollar(tag), bytes)
                    }
                    None => self.word(at, Within::Plain, 1),
                },
                letter if letter.is_ascii_whitespace() => 1,
                _ => self.word(at, Within::Plain, 1),
            };
        }
        self.drop_before(done);
    }

    /// Goes on inside of something; how many bytes that takes.
    fn enter(&mut self, within: Within, bytes: usize) -> usize {
        self.within = within;
        bytes
    }

    /// The same for what belongs to a statement.
    fn word(&mut self, at: usize, within: Within, bytes: usize) -> usize {
        self.begin.get_or_insert((at, self.line));
        self.enter(within, bytes)
    }

    /// One step towards the end of what `at` is inside of; how many bytes that takes.
    fn leave(&mut self, at: usize) -> usize {
        let rest = &self.pending.as_bytes()[at..];
        let (bytes, is_over) = match &mut self.within {
            Within::Plain => (0, true),
            Within::Quote { escapes: true, .. } if rest[0] == b'\\' => {
                // The end of a line is looked at by itself.
                (if matches!(rest.get(1), None | Some(b'\n')) { 1 } else { 2 }, false)
            }
            Within::Quote { by, .. } if rest[0] == *by && rest.get(1) == Some(by) => (2, false),
            Within::Quote { by, .. } => (1, rest[0] == *by),
            Within::Dollar(tag) if rest.starts_with(tag.as_bytes()) => (tag.len(), true),
            Within::Dollar(_) => (1, false),
            Within::LineComment => (1, rest[0] == b'\n'),
            Within::Comment(open) if rest.starts_with(b"/*") => {
                *open += 1;
                (2, false)
            }
            Within::Comment(open) if rest.starts_with(b"*/") => {
                *open -= 1;
                (2, *open == 0)
            }
            Within::Comment(_) => (1, false),
        };
        if is_over {
            self.within = Within::Plain;
        }
        bytes
    }

    fn statement(&self, (begin, line): (usize, usize), end: usize) -> Piece {
        Piece::Statement(Statement { text: self.pending[begin..end].trim_end().to_owned(), line })
    }

    fn drop_before(&mut self, end: usize) {
        self.pending.drain(..end);
        self.scanned -= end.min(self.scanned);
        self.begin = self.begin.map(|(begin, line)| (begin - end, line));
    }
}

fn is_of_name(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_' || letter >= 0x80
}

/// `$$` or `$tag$`, if that is what `rest` begins with.
fn dollar_tag(rest: &[u8]) -> Option<String> {
    let name = rest[1..].iter().take_while(|letter| is_of_name(**letter)).count();
    let is_tag = rest.get(1 + name) == Some(&b'$') && !rest[1].is_ascii_digit();
    is_tag.then(|| String::from_utf8_lossy(&rest[..name + 2]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str, line: usize) -> Piece {
        Piece::Statement(Statement { text: text.to_owned(), line })
    }

    #[test]
    fn statements_end_with_semicolons_outside_of_quotes_and_comments() {
        for whole in [
            "SELECT ';', \"a;b\", `c;d`",
            "SELECT 'it''s; fine'",
            "SELECT e'it\\'s; fine'",
            "SELECT 'no escape\\'",
            "SELECT 1 -- one; two\n + 1",
            "SELECT /* a; /* b; */ c; */ 1",
            "SELECT $$a;b$$, $t$a;$$;b$t$, $1",
            "SELECT 'ü;' AS \"日;本\"",
            "SELECT a$b, 1 - -1",
        ] {
            let twice = format!("{whole};{whole} ;\n");
            let lines = whole.matches('\n').count();
            let expected = [statement(whole, 1), statement(whole, 1 + lines)];
            assert_eq!(Splitter::pieces(&twice), expected, "{twice}");
            let mut letters = Splitter::new();
            let lines: Vec<Piece> = twice.split_inclusive('\n').flat_map(|line| letters.push(line)).collect();
            assert_eq!(lines, expected, "{twice}");
            assert!(!letters.is_within_statement());
        }
    }

    #[test]
    fn the_last_needs_no_semicolon_and_nothing_is_no_statement() {
        assert_eq!(
            Splitter::pieces("SELECT 1;\n\n SELECT 2 "),
            [statement("SELECT 1", 1), statement("SELECT 2", 3)]
        );
        assert_eq!(Splitter::pieces(" ;; -- only a comment;\n /* ; */ ;"), []);
        let mut splitter = Splitter::new();
        assert_eq!(splitter.push("SELECT 'a\n"), []);
        assert!(splitter.is_within_statement());
        assert_eq!(splitter.push("';SELECT\n"), [statement("SELECT 'a\n'", 1)]);
        assert_eq!(
            (splitter.finish(), splitter.is_within_statement()),
            (Some(statement("SELECT", 2)), false)
        );
    }

    #[test]
    fn commands_stand_where_a_statement_could_begin() {
        let text = "-- begin\n\\timing off\nSELECT 1,\n\\x;\n  \\d t \n\nSELECT 2";
        let command = |text: &str| Piece::Command(text.to_owned());
        let expected = [
            command("\\timing off"),
            statement("SELECT 1,\n\\x", 3),
            command("\\d t"),
            statement("SELECT 2", 7),
        ];
        assert_eq!(Splitter::pieces(text), expected);
    }

    #[test]
    fn unfinished_texts_do_no_harm() {
        for text in
            ["'", "e'\\", "\"", "/*", "/**", "--", "$", "$$", "$a", "$1$", "a$", "$é$ $é", ";;'", "\\", "\0"]
        {
            for end in 0..=text.len() {
                if text.is_char_boundary(end) {
                    Splitter::pieces(&text[..end]);
                }
            }
        }
    }

    /// Looked at again from the begin with every line, it would take minutes.
    #[test]
    fn a_statement_of_many_lines_is_read_once() {
        let text = format!("SELECT 1{};", "\n+ 1".repeat(200_000));
        let mut splitter = Splitter::new();
        let pieces: Vec<Piece> = text.split_inclusive('\n').flat_map(|line| splitter.push(line)).collect();
        assert_eq!(pieces, [statement(&text[..text.len() - 1], 1)]);
        assert_eq!(Splitter::pieces(&"SELECT 1;".repeat(50_000)).len(), 50_000);
    }
}
