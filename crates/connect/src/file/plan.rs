//! Which files are read, and which processor reads which bytes of them.
//!
//! All files together are seen as one run of bytes, which is cut into equal parts, one per processor. What is no plain file (a pipe, a
//! terminal) has no length and cannot be cut: it is given as a whole to one processor.

use super::error::FileError;
use filbert_flow::Share;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) path: PathBuf,
    /// Its place among the files of the source.
    pub(crate) index: usize,
}

/// A file, and how long it is; none for what cannot be cut.
#[derive(Debug, Clone)]
pub(crate) struct Whole {
    pub(crate) origin: Arc<Origin>,
    pub(crate) length: Option<u64>,
}

/// A part of a file: the lines that begin in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) origin: Arc<Origin>,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Nothing of the file comes after it.
    pub(crate) is_tail: bool,
}

impl Split {
    /// All of something that has no length.
    pub(crate) fn stream(origin: Arc<Origin>) -> Self {
        Self { origin, from: 0, to: u64::MAX, is_tail: true }
    }

    /// True for what has no length.
    pub(crate) fn is_stream(&self) -> bool {
        self.to == u64::MAX
    }
}

/// The files that match a pattern, in the order of their names: a file itself, the files of a folder, or what a glob finds. Blocks.
pub(crate) fn files(patterns: &[String]) -> Result<Vec<Whole>, FileError> {
    let mut paths = Vec::new();
    for pattern in patterns {
        let before = paths.len();
        let path = Path::new(pattern);
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                let entries = std::fs::read_dir(path).map_err(|error| FileError::io("list", path, error))?;
                for entry in entries {
                    let entry = entry.map_err(|error| FileError::io("list", path, error))?;
                    let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
                    if !is_hidden && !entry.path().is_dir() {
                        paths.push(entry.path());
                    }
                }
            }
            Ok(_) => paths.push(path.to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => globbed(pattern, &mut paths)?,
            Err(error) => return Err(FileError::io("look at", path, error)),
        }
        paths[before..].sort();
        if paths.len() == before {
            return Err(FileError::NoFile { pattern: pattern.clone() });
        }
    }
    paths.into_iter().enumerate().map(|(index, path)| whole(path, index)).collect()
}

fn globbed(pattern: &str, paths: &mut Vec<PathBuf>) -> Result<(), FileError> {
    let bad = |error: glob::PatternError| FileError::BadPattern {
        pattern: pattern.to_owned(),
        problem: error.to_string(),
    };
    for found in glob::glob(pattern).map_err(bad)? {
        let path = found.map_err(|error| {
            let path = error.path().to_owned();
            FileError::Io { verb: "look at", path, source: error.into() }
        })?;
        if !path.is_dir() {
            paths.push(path);
        }
    }
    Ok(())
}

fn whole(path: PathBuf, index: usize) -> Result<Whole, FileError> {
    let found = std::fs::metadata(&path).map_err(|error| FileError::io("look at", &path, error))?;
    let length = found.is_file().then_some(found.len());
    Ok(Whole { origin: Arc::new(Origin { path, index }), length })
}

/// What one processor reads. With `is_cut` files are cut where a part ends; otherwise each goes to the processor in whose part it begins.
pub(crate) fn splits(files: &[Whole], share: Share, is_cut: bool) -> Vec<Split> {
    let total = files.iter().filter_map(|file| file.length).sum();
    let part = share.part_of(0..total);
    let mut splits = Vec::new();
    let mut begin = 0;
    for file in files {
        let Some(length) = file.length else {
            if file.origin.index % share.global_count() == share.global_index() {
                splits.push(Split::stream(Arc::clone(&file.origin)));
            }
            continue;
        };
        let from = part.start.clamp(begin, begin + length) - begin;
        let to = part.end.clamp(begin, begin + length) - begin;
        let is_mine = if is_cut { from < to } else { part.contains(&begin) && length > 0 };
        if is_mine {
            let (from, to) = if is_cut { (from, to) } else { (0, length) };
            splits.push(Split { origin: Arc::clone(&file.origin), from, to, is_tail: to == length });
        }
        begin += length;
    }
    splits
}
