//! Files that are compressed as a whole: `.gz` and `.zst`, behind the ending of what is in them.

use flate2::read::MultiGzDecoder;
use std::io::{self, Read};
use std::path::Path;

/// A way in which a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    const ENDINGS: [(&str, Self); 2] = [("gz", Self::Gzip), ("zst", Self::Zstd)];

    /// Finds how a file is compressed by its name.
    pub(super) fn of_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        let mut known = Self::ENDINGS.into_iter();
        known.find(|(word, _)| word.eq_ignore_ascii_case(ending)).map(|(_, compression)| compression)
    }

    /// The endings of compressed files, each with its point.
    pub(super) fn endings() -> impl Iterator<Item = String> {
        Self::ENDINGS.into_iter().map(|(word, _)| format!(".{word}"))
    }

    /// Reads what was compressed, as far as it is asked for: memory is that of a window.
    pub(super) fn reader(self, file: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(file)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(file)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_a_file_is_compressed() {
        for (name, compression) in [
            ("a.csv.gz", Some(Compression::Gzip)),
            ("a.csv.ZST", Some(Compression::Zstd)),
            ("a.csv", None),
            ("gz", None),
        ] {
            assert_eq!(Compression::of_path(Path::new(name)), compression, "{name}");
        }
    }
}
