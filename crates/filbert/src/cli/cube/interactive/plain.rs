//! Plain lines from a terminal, with a prompt; the terminal's own editing has to do.

use super::super::super::input::Input;
use super::PROMPT;
use super::completion::Names;
use std::io::{self, Write};

/// Reads lines from a terminal.
pub(super) struct Lines;

impl Lines {
    pub(super) fn open(_: Names) -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn read(&mut self) -> io::Result<Input> {
        print!("{PROMPT}");
        io::stdout().flush()?;
        super::plain_line()
    }
}
