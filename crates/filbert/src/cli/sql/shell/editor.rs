//! Lines with editing, history and completion. A statement may have many lines; those behind the first have another prompt.

use super::completion::{Completion, Names, complete, files_in};
use super::{CONTINUED, FindNames, Input, PROMPT, history, is_whole};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
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
        let typing = Typing { find_names, names, paths: FilenameCompleter::new(), before: String::new() };
        editor.set_helper(Some(typing));
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
        let mut text = String::new();
        loop {
            if let Some(typing) = self.editor.helper_mut() {
                typing.begin(&text);
            }
            let prompt = if text.is_empty() { PROMPT } else { CONTINUED };
            match self.editor.readline(prompt) {
                Ok(line) => text += &line,
                Err(ReadlineError::Eof) => return Ok(Input::End),
                Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => return Ok(Input::Interrupted),
                Err(error) => return Err(told(error)),
            }
            if is_whole(&text) {
                self.keep(&text);
                return Ok(Input::Text(text));
            }
            text.push('\n');
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
