//! NDJSON: a JSON value per line.

use super::block::Block;
use super::error::FileError;
use super::lines::LinesOfBlock;
use super::source::{FileSource, Format, Parse, Row};
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Emits the JSON value of every line, read as a `T`. Empty lines are left out. Files are found as by [`lines`](super::lines()).
///
/// ```
/// #[derive(serde::Deserialize)]
/// struct Order { id: u64, product: String }
///
/// let orders = filbert_connect::file::ndjson::<Order>("orders/*.ndjson");
/// ```
pub fn ndjson<T: DeserializeOwned + Send + 'static>(pattern: impl AsRef<Path>) -> FileSource<JsonRows<T>> {
    FileSource::new(pattern, JsonRows { item: PhantomData })
}

/// The format of [`ndjson`].
#[derive(Debug)]
pub struct JsonRows<T> {
    item: PhantomData<fn() -> T>,
}

impl<T> Clone for JsonRows<T> {
    fn clone(&self) -> Self {
        Self { item: PhantomData }
    }
}

impl<T: DeserializeOwned + Send + 'static> Format for JsonRows<T> {
    type Item = T;
    type Parser = ReadJson<T>;

    fn parser(&self, _: &[PathBuf], _: usize) -> Result<ReadJson<T>, FileError> {
        Ok(ReadJson { block: None, item: PhantomData })
    }
}

/// The parser of [`ndjson`].
pub struct ReadJson<T> {
    block: Option<LinesOfBlock>,
    item: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + Send + 'static> Parse for ReadJson<T> {
    type Item = T;

    fn begin(&mut self, block: Block) {
        self.block = Some(LinesOfBlock::new(block));
    }

    fn next(&mut self) -> Row<T> {
        let Some(block) = &mut self.block else { return Row::End };
        loop {
            let Some((line, offset)) = block.next() else { return Row::End };
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return match serde_json::from_slice(line) {
                Ok(item) => Row::Good(item),
                Err(error) => {
                    // Its own line is always the first.
                    let said = error.to_string();
                    let said = said.split(" at line ").next().unwrap_or_default();
                    let problem = format!("not the JSON that is wanted: {said}");
                    Row::Bad { offset, column: error.column() as u64, problem }
                }
            };
        }
    }
}
