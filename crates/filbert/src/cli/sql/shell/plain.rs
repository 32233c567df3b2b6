//! Plain lines from the standard input, with a prompt.

use super::super::super::input::Input;
use super::{CONTINUED, FindNames, PROMPT, is_whole};
use std::io::{self, Write};

/// Reads statements of any number of lines.
pub(super) struct Lines;

impl Lines {
    pub(super) fn open(_: FindNames) -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn read(&mut self) -> io::Result<Input> {
        let mut text = String::new();
        loop {
            let prompt = if text.is_empty() { PROMPT } else { CONTINUED };
            print!("{prompt}");
            io::stdout().flush()?;
            match io::stdin().read_line(&mut text) {
                Ok(0) => return Ok(Input::End),
                Ok(_) if is_whole(&text) => return Ok(Input::Text(text)),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Input::Interrupted),
                Err(error) => return Err(error),
            }
        }
    }
}
