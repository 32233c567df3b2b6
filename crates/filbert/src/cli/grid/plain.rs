//! Plain lines from the standard input, with a prompt.

use super::super::input::Input;
use super::{FindNames, PROMPT};
use std::io::{self, Write};

/// Reads lines from a terminal.
pub(super) struct Lines;

impl Lines {
    pub(super) fn open(_: FindNames) -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn read(&mut self) -> io::Result<Input> {
        print!("{PROMPT}");
        io::stdout().flush()?;
        let mut line = String::new();
        match io::stdin().read_line(&mut line) {
            Ok(0) => Ok(Input::End),
            Ok(_) => Ok(Input::Text(line)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Input::Interrupted),
            Err(error) => Err(error),
        }
    }
}
