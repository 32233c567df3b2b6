//! Lines with editing, history and completion.

use super::super::super::input::Input;
use super::super::super::line_editor::LineEditor;
use super::PROMPT;
use super::completion::{Names, complete};
use rustyline::Context;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use std::io;

/// Reads lines from a terminal.
pub(super) struct Lines(LineEditor<Typing>);

impl Lines {
    pub(super) fn open(names: Names) -> io::Result<Self> {
        Ok(Self(LineEditor::open(Typing(names), "cube_history")?))
    }

    pub(super) fn read(&mut self) -> io::Result<Input> {
        let input = self.0.read(PROMPT)?;
        if let Input::Text(text) = &input {
            self.0.keep(text);
        }
        Ok(input)
    }
}

/// The helper of the editor while somebody types.
struct Typing(Names);

impl Completer for Typing {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = complete(&line[..cursor], &self.0);
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Validator for Typing {}

impl Hinter for Typing {
    type Hint = String;
}

impl Highlighter for Typing {}

impl rustyline::Helper for Typing {}
