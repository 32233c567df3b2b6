//! What is in a file, and how it is known.

use super::compression::Compression;
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

    /// What it is called after `STORED AS`; the first is what DataFusion calls it.
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

    /// How its files end.
    const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Csv => &["csv", "tsv"],
            other => other.words(),
        }
    }

    /// True for a format whose files may be compressed as a whole.
    const fn may_be_compressed(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }

    /// The kind of a file with that name.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        let is_compressed = Compression::of_path(path).is_some();
        let path = if is_compressed { Path::new(path.file_stem()?) } else { path };
        let ending = path.extension()?.to_str()?;
        let is_its = |kind: &Self| kind.endings().iter().any(|other| other.eq_ignore_ascii_case(ending));
        Self::ALL.into_iter().find(is_its).filter(|kind| !is_compressed || kind.may_be_compressed())
    }
}

/// How the names of files end that are read as tables, each with its point. Others are read only where a statement says what is in them.
pub fn file_endings() -> Vec<String> {
    let endings = |kind: FileKind| {
        let plain = kind.endings().iter().map(|ending| format!(".{ending}"));
        let compressed = plain.clone().flat_map(|plain| {
            Compression::endings().map(move |ending| format!("{plain}{ending}")).collect::<Vec<_>>()
        });
        match kind.may_be_compressed() {
            true => plain.chain(compressed).collect::<Vec<_>>(),
            false => plain.collect(),
        }
    };
    FileKind::ALL.into_iter().flat_map(endings).collect()
}
