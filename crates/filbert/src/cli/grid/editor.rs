//! Lines with editing, history and completion.

use super::super::input::Input;
use super::super::line_editor::LineEditor;
use super::completion::complete;
use super::typed::definition;
use super::{FindNames, PROMPT};
use clap::Command;
use rustyline::Context;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use std::io;

/// Reads lines from a terminal.
pub(super) struct Lines {
    editor: LineEditor<Typing>,
}

impl Lines {
    pub(super) fn open(find_names: FindNames) -> io::Result<Self> {
        let typing = Typing { find_names, definition: definition() };
        Ok(Self { editor: LineEditor::open(typing, "grid_history")? })
    }

    pub(super) fn read(&mut self) -> io::Result<Input> {
        let input = self.editor.read(PROMPT)?;
        if let Input::Text(line) = &input {
            self.editor.keep(line);
        }
        Ok(input)
    }
}

/// Completes lines while somebody types.
struct Typing {
    find_names: FindNames,
    definition: Command,
}

impl Completer for Typing {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, found) = complete(&self.definition, &line[..cursor], &self.find_names);
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Validator for Typing {}

impl Hinter for Typing {
    type Hint = String;
}

impl Highlighter for Typing {}

impl rustyline::Helper for Typing {}
