//! Where an answer goes: the standard output, or a file that is there when it is whole.
//!
//! A file is written beside its place under a hidden name and then renamed, so that a query that fails, or is cancelled, leaves what was there
//! before. A pipe or a device has no other place, and is written as it is. Threads: the program's own.
//!
//! Every write looks at the signals first. One that waits for the reader of a pipe sees none; there the second signal ends the process.

use super::super::Outcome;
use super::super::interruption::Interruption;
use filbert::connect::file::{Draft, FileError};
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Takes the bytes of an answer. Dropped before it is kept, a file is not made.
pub(super) struct Destination {
    to: BufWriter<Heeding>,
    /// The file that is to be, and what writes to it.
    unfinished: Option<(Draft, File)>,
    /// Somebody sees the answer where progress is told.
    pub(super) is_terminal: bool,
}

impl Destination {
    /// The file at this path, or the standard output.
    pub(super) fn open(path: Option<&Path>, interruption: &Interruption) -> Result<Self, Box<dyn Error>> {
        let heeding = |to: Box<dyn Write>| BufWriter::new(Heeding { to, interruption: interruption.clone() });
        let Some(path) = path.filter(|path| !is_standard_output(path)) else {
            let (stdout, is_terminal) = (std::io::stdout(), std::io::stdout().is_terminal());
            return Ok(Self { to: heeding(Box::new(stdout)), unfinished: None, is_terminal });
        };
        let refused = |problem: &dyn std::fmt::Display| format!("cannot write {}: {problem}", path.display());
        let (file, unfinished) = match path.metadata() {
            Ok(there) if there.is_dir() => return Err(refused(&"it is a folder; name a file in it").into()),
            Ok(there) if !there.is_file() => {
                let opened = OpenOptions::new().write(true).open(path);
                (opened.map_err(|error| refused(&error))?, None)
            }
            _ => {
                let (draft, file) = Draft::create(&place(path)).map_err(|error| match error {
                    FileError::Io { source, .. } => refused(&source),
                    other => refused(&other),
                })?;
                let same = file.try_clone().map_err(|error| refused(&error))?;
                (file, Some((draft, same)))
            }
        };
        Ok(Self { to: heeding(Box::new(file)), unfinished, is_terminal: false })
    }

    /// True when what was there stays until this is kept.
    pub(super) fn is_file(&self) -> bool {
        self.unfinished.is_some()
    }

    /// All is written: a file gets its name.
    pub(super) fn keep(mut self) -> Outcome {
        self.to.flush()?;
        if let Some((draft, file)) = self.unfinished.take() {
            file.sync_all()?;
            self.to.get_ref().heed()?;
            draft.keep()?;
        }
        Ok(())
    }
}

/// Its names lead to the file that a shell writes to, which is not to be replaced under it.
fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// More links than this, one after the other, the system does not follow either.
const MOST_LINKS: usize = 40;

/// A link stays a link: what it leads to is replaced, or made.
fn place(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(there) = place.canonicalize() {
            return there;
        }
        // What it leads to is not there yet, and said as seen from the link.
        let Ok(next) = place.read_link() else { break };
        place = place.parent().unwrap_or(Path::new("")).join(next);
    }
    place
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

/// At most so much goes on between two looks at the signals.
const PIECE_BYTES: usize = 1 << 20;

/// Writes until a signal comes.
struct Heeding {
    to: Box<dyn Write>,
    interruption: Interruption,
}

impl Heeding {
    fn heed(&self) -> std::io::Result<()> {
        self.interruption.interrupted().map_or(Ok(()), |by| Err(std::io::Error::other(by)))
    }
}

impl Write for Heeding {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.heed()?;
        self.to.write(&bytes[..bytes.len().min(PIECE_BYTES)])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}
