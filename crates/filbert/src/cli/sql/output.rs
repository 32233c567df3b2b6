//! Where rows go: the standard output, or a file.

use super::print::Format;
use super::runner::Output;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

/// Opens a file for rows, or the standard output where there is no path.
pub(super) fn output(path: Option<&Path>) -> Result<Output, Box<dyn Error>> {
    let Some(path) = path else {
        let stdout = std::io::stdout();
        let is_terminal = stdout.is_terminal();
        return Ok(Output { to: Box::new(BufWriter::new(stdout)), is_terminal, format: None });
    };
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let to = Box::new(BufWriter::new(Replacing { file, is_new: false }));
    Ok(Output { to, is_terminal: false, format: Format::of_path(path) })
}

/// A file that keeps what it has until something else is written, or a statement ends well without a word: one that is wrong costs nobody the
/// answer of yesterday.
struct Replacing {
    file: File,
    is_new: bool,
}

impl Replacing {
    fn renew(&mut self) -> std::io::Result<()> {
        if !self.is_new {
            empty(&self.file)?;
            self.is_new = true;
        }
        Ok(())
    }
}

impl Write for Replacing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.renew()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.renew()?;
        self.file.flush()
    }
}

/// A pipe or a device has nothing that could be left over.
fn empty(file: &File) -> std::io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}
