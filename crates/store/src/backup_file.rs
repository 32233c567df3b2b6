//! A backup: one file with the entries of maps, frame by frame, written and read from begin to end.
//!
//! ```text
//! | "FILBERTB" 8 | salt 8 | definitions | entry | ... | map "orders" | entry | entry | ... | map "users" | ... | seal with the number of entries |
//! ```
//!
//! Unlike a log it is whole or it is no backup: nothing of one that is damaged is restored.

use crate::change::Entry;
use crate::error::StoreError;
use crate::folder;
use crate::frame::{self, Found, Frame, Frames, HEADER, Kind, NO_PARTITION};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"FILBERTB";

/// A backup that is being written, under another name until it is whole. One that does not become whole leaves no file.
#[derive(Debug)]
pub(crate) struct BackupWriter {
    path: PathBuf,
    new: PathBuf,
    out: BufWriter<File>,
    salt: u64,
    entries: u64,
    frame: Vec<u8>,
    has_name: bool,
}

impl Drop for BackupWriter {
    fn drop(&mut self) {
        if !self.has_name {
            // Why it failed is told already; a file that stays is written over by the next one.
            let _ = std::fs::remove_file(&self.new);
        }
    }
}

impl BackupWriter {
    pub(crate) fn create(path: &Path, salt: u64) -> Result<Self, StoreError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let new = PathBuf::from(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // What is in it is nobody else's affair, as in the data directory.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let created = options.open(&new).and_then(|file| {
            let mut out = BufWriter::with_capacity(1 << 20, file);
            out.write_all(MAGIC)?;
            out.write_all(&salt.to_le_bytes())?;
            Ok(out)
        });
        let out = created.map_err(|error| StoreError::io("write", &new, &error))?;
        Ok(Self { path: path.to_owned(), new, out, salt, entries: 0, frame: Vec::new(), has_name: false })
    }

    fn put(&mut self) -> Result<(), StoreError> {
        let written = self.out.write_all(&self.frame);
        self.frame.clear();
        written.map_err(|error| StoreError::io("write", &self.new, &error))
    }

    pub(crate) fn map(&mut self, name: &str) -> Result<(), StoreError> {
        frame::write(&mut self.frame, self.salt, Kind::Map, NO_PARTITION, &[name.as_bytes()]);
        self.put()
    }

    pub(crate) fn definitions(&mut self) -> Result<(), StoreError> {
        frame::write(&mut self.frame, self.salt, Kind::Definitions, NO_PARTITION, &[]);
        self.put()
    }

    pub(crate) fn entry(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.entries += 1;
        entry.as_change().write(&mut self.frame, self.salt, entry.partition);
        self.put()
    }

    /// Seals it, and gives it its name; one that lacks something has another, so that it takes the place of none that does not.
    pub(crate) fn finish(mut self, lacks_nothing: bool) -> Result<(), StoreError> {
        frame::write(&mut self.frame, self.salt, Kind::Seal, NO_PARTITION, &[&self.entries.to_le_bytes()]);
        self.put()?;
        let flushed = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        flushed.map_err(|error| StoreError::io("flush", &self.new, &error))?;
        let path = if lacks_nothing { self.path.clone() } else { incomplete(&self.path) };
        std::fs::rename(&self.new, &path).map_err(|error| StoreError::io("rename", &self.new, &error))?;
        self.has_name = true;
        folder::sync_parent(&path)
    }
}

/// Where a backup goes that lacks what was damaged: `target` with `.incomplete` behind it.
pub fn incomplete(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".incomplete");
    name.into()
}

/// What a backup has next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Definitions,
    Map(String),
    Entry(Entry),
}

/// A backup that is read.
#[derive(Debug)]
pub(crate) struct BackupReader {
    path: PathBuf,
    input: BufReader<File>,
    salt: u64,
    at: u64,
    length: u64,
    entries: u64,
    frame: Vec<u8>,
    is_over: bool,
}

impl BackupReader {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| StoreError::io("read", path, &error);
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut begin = [0; 16];
        input.read_exact(&mut begin).or_else(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Ok(()),
            _ => Err(failed(error)),
        })?;
        let salt = begin[8..].try_into().map(u64::from_le_bytes).unwrap_or_default();
        let this = Self {
            path: path.to_owned(),
            input,
            salt,
            at: 16,
            length,
            entries: 0,
            frame: Vec::new(),
            is_over: false,
        };
        if begin.starts_with(MAGIC) { Ok(this) } else { Err(this.bad("it does not begin like one")) }
    }

    fn bad(&self, problem: &str) -> StoreError {
        let problem = format!("{problem}, at byte {} of {}", self.at, self.length);
        StoreError::BadBackup { path: self.path.display().to_string(), problem }
    }

    pub(crate) fn at(&self) -> (u64, u64) {
        (self.at, self.length)
    }

    /// Reads `count` more bytes of the frame.
    fn fill(&mut self, count: usize) -> Result<(), StoreError> {
        if count as u64 > self.length.saturating_sub(self.at + self.frame.len() as u64) {
            return Err(self.bad("the end is missing"));
        }
        let begin = self.frame.len();
        self.frame.resize(begin + count, 0);
        let read = self.input.read_exact(&mut self.frame[begin..]);
        read.map_err(|error| StoreError::io("read", &self.path, &error))
    }

    /// The next item; `None` at the end, and an error where it is not as it was written.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, StoreError> {
        if self.is_over {
            return Ok(None);
        }
        self.frame.clear();
        self.fill(HEADER)?;
        let length = self.frame[4..8].try_into().map(u32::from_le_bytes).unwrap_or_default();
        self.fill(length as usize)?;
        let bytes = std::mem::take(&mut self.frame);
        let item = match Frames::new(&bytes, self.salt, 0).next() {
            Some((_, Found::Whole(frame))) => self.item(frame),
            _ => Err(self.bad("it is not as it was written")),
        };
        self.at += bytes.len() as u64;
        self.frame = bytes;
        item
    }

    fn item(&mut self, Frame { kind, partition, payload }: Frame<'_>) -> Result<Option<Item>, StoreError> {
        match kind {
            Kind::Definitions => Ok(Some(Item::Definitions)),
            Kind::Map => match std::str::from_utf8(payload) {
                Ok(name) => Ok(Some(Item::Map(name.to_owned()))),
                Err(_) => Err(self.bad("the name of a map is no text")),
            },
            Kind::Seal if payload == self.entries.to_le_bytes() => {
                self.is_over = true;
                if self.at + (HEADER + payload.len()) as u64 != self.length {
                    return Err(self.bad("there is something behind the end"));
                }
                Ok(None)
            }
            _ => match Entry::read(kind, partition, payload) {
                Some(entry) => {
                    self.entries += 1;
                    Ok(Some(Item::Entry(entry)))
                }
                None => Err(self.bad("something that does not belong there")),
            },
        }
    }
}
