//! Lines with editing, history and completion. A statement may have many lines; those behind the first have another prompt.

use super::super::super::input::Input;
use super::super::super::line_editor::LineEditor;
use super::completion::{Completion, Names, complete, files_in};
use super::{CONTINUED, FindNames, PROMPT, is_whole};
use rustyline::Context;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use std::cell::RefCell;
use std::io;

/// Reads statements of any number of lines.
pub(super) struct Lines {
    editor: LineEditor<Typing>,
}

impl Lines {
    pub(super) fn open(find_names: FindNames) -> io::Result<Self> {
        let names = RefCell::default();
        let typing = Typing { find_names, names, paths: FilenameCompleter::new(), before: String::new() };
        Ok(Self { editor: LineEditor::open(typing, "sql_history")? })
    }

    pub(super) fn read(&mut self) -> io::Result<Input> {
        let mut text = String::new();
        loop {
            if let Some(typing) = self.editor.helper_mut() {
                typing.begin(&text);
            }
            match self.editor.read(if text.is_empty() { PROMPT } else { CONTINUED })? {
                Input::Text(line) => text += &line,
                other => return Ok(other),
            }
            if is_whole(&text) {
                self.editor.keep(&text);
                return Ok(Input::Text(text));
            }
            text.push('\n');
        }
    }
}

/// What the editor asks while somebody types.
struct Typing {
    find_names: FindNames,
    /// Those of the files that a text names; kept until the next statement.
    names: RefCell<Option<(Vec<String>, Names)>>,
    paths: FilenameCompleter,
    /// The lines of the statement before this one.
    before: String,
}

impl Typing {
    /// Another line of a statement, or of a new one when there is nothing before it.
    fn begin(&mut self, before: &str) {
        before.clone_into(&mut self.before);
        if before.is_empty() {
            self.names.take();
        }
    }
}

impl Completer for Typing {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let files = files_in(&format!("{}{line}", self.before));
        let mut kept = self.names.borrow_mut();
        let names = match kept.take() {
            Some((of, names)) if of == files => names,
            _ => (self.find_names)(&files),
        };
        let found = complete(&format!("{}{}", self.before, &line[..cursor]), &names);
        *kept = Some((files, names));
        match found {
            Completion::Path => self.paths.complete_path(line, cursor),
            Completion::Words(start, words) => {
                let pair = |word: String| Pair { display: word.clone(), replacement: word };
                let start = start.saturating_sub(self.before.len());
                Ok((start, words.into_iter().map(pair).collect()))
            }
        }
    }
}

impl Validator for Typing {}

impl Hinter for Typing {
    type Hint = String;
}

impl Highlighter for Typing {}

impl rustyline::Helper for Typing {}
