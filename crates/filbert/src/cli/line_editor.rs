//! Lines with editing, completion, and a history that only its user can read. For the prompts of `filbert sql` and `filbert grid`.

use super::history;
use super::input::Input;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor, Helper};
use std::io;
use std::path::PathBuf;

/// Texts that are kept.
const KEPT: usize = 10_000;

/// An editor of lines; `H` completes them.
pub(super) struct LineEditor<H: Helper> {
    editor: Editor<H, FileHistory>,
    /// None when it cannot be written.
    history: Option<PathBuf>,
}

impl<H: Helper> LineEditor<H> {
    /// Opens an editor whose history is in the file of that name.
    pub(super) fn open(helper: H, history: &str) -> io::Result<Self> {
        let config = Config::builder()
            .max_history_size(KEPT)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(told)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config).map_err(told)?;
        editor.set_helper(Some(helper));
        let history = history::path(history, |name| std::env::var_os(name).map(PathBuf::from));
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

    pub(super) fn helper_mut(&mut self) -> Option<&mut H> {
        self.editor.helper_mut()
    }

    /// Reads a line.
    pub(super) fn read(&mut self, prompt: &str) -> io::Result<Input> {
        match self.editor.readline(prompt) {
            Ok(line) => Ok(Input::Text(line)),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => Ok(Input::Interrupted),
            Err(error) => Err(told(error)),
        }
    }

    /// Keeps a text at once, so that a prompt that is ended by force has lost nothing. A disk that is full is no reason to stop.
    pub(super) fn keep(&mut self, text: &str) {
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
