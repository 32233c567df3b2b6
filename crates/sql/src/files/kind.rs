//! What is in a file, and how it is known.

use std::path::Path;

/// The formats that tables are read from and written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Csv,
    /// A JSON object per line.
    Json,
    Parquet,
    /// Arrow IPC.
    Arrow,
}

impl FileKind {
    pub(crate) const ALL: [Self; 4] = [Self::Csv, Self::Json, Self::Parquet, Self::Arrow];

    /// What it is called after `STORED AS`, and how its files end; the first is what DataFusion calls it.
    pub(crate) const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Csv => &["csv"],
            Self::Json => &["json", "ndjson", "jsonl"],
            Self::Parquet => &["parquet"],
            Self::Arrow => &["arrow", "ipc", "feather"],
        }
    }

    /// The kind of that name.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.words().iter().any(|other| other.eq_ignore_ascii_case(word)))
    }

    /// The kind of a file with that name.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        Self::of_word(path.extension()?.to_str()?)
    }
}

/// How the names of files end that are read as tables, each with its point. Others are read only where a statement says what is in them.
pub fn file_endings() -> Vec<String> {
    let words = FileKind::ALL.into_iter().flat_map(FileKind::words);
    words.map(|word| format!(".{word}")).collect()
}
