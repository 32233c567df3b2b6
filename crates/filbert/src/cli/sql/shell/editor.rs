//! Lines with editing, history and completion. A statement may have many lines: Enter ends it only behind its semicolon.

use super::completion::{Completion, Names, complete};
use super::{FindNames, Input, history, is_whole};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor};
use std::cell::RefCell;
use std::io;
use std::path::PathBuf;

/// Statements that are kept.
const KEPT: usize = 10_000;

/// Reads statements of any number of lines.
pub(super) struct Lines {
    editor: Editor<Typing, FileHistory>,
    /// None when it cannot be written.
    history: Option<PathBuf>,
}

impl Lines {
    pub(super) fn open(find_names: FindNames) -> io::Result<Self> {
        let config = Config::builder()
            .max_history_size(KEPT)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(told)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config).map_err(told)?;
        let names = RefCell::default();
        editor.set_helper(Some(Typing { find_names, names, paths: FilenameCompleter::new() }));
        let history = history::path(|name| std::env::var_os(name).map(PathBuf::from));
        let history = history.filter(|path| match history::prepare(path) {
            Ok(()) => true,
            Err(error) => {
                println!("what you type is not kept: {}: {error}", path.display());
                false
            }
        });
        if let Some(path) = &history {
            // One that cannot be read is begun anew.
            let _ = editor.load_history(path);
        }
        Ok(Self { editor, history })
    }

    pub(super) fn read(&mut self) -> io::Result<Input> {
        if let Some(typing) = self.editor.helper() {
            typing.names.take();
        }
        match self.editor.readline("filbert> ") {
            Ok(text) => {
                self.keep(&text);
                Ok(Input::Text(text))
            }
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => Ok(Input::Interrupted),
            Err(error) => Err(told(error)),
        }
    }

    /// At once, so that a shell that is ended by force has lost nothing. A disk that is full is no reason to stop.
    fn keep(&mut self, text: &str) {
        if text.trim().is_empty() || !matches!(self.editor.add_history_entry(text), Ok(true)) {
            return;
        }
        if let Some(path) = &self.history {
            let _ = self.editor.append_history(path);
        }
    }
}

fn told(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// What the editor asks while somebody types.
struct Typing {
    find_names: FindNames,
    /// Until the next statement.
    names: RefCell<Option<Names>>,
    paths: FilenameCompleter,
}

impl Completer for Typing {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let mut names = self.names.borrow_mut();
        let names = names.get_or_insert_with(|| (self.find_names)());
        match complete(&line[..cursor], names) {
            Completion::Path => self.paths.complete_path(line, cursor),
            Completion::Words(start, words) => {
                let pair = |word: String| Pair { display: word.clone(), replacement: word };
                Ok((start, words.into_iter().map(pair).collect()))
            }
        }
    }
}

impl Validator for Typing {
    fn validate(&self, typed: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let is_whole = is_whole(typed.input());
        Ok(if is_whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for Typing {
    type Hint = String;
}

impl Highlighter for Typing {}

impl rustyline::Helper for Typing {}
