//! The columns of JSON files, found in their first lines.
//!
//! DataFusion 55 finds them in a whole file that it has in memory first, unless the store gives it an open file: of 100 GB that are compressed, all.

use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::reader::infer_json_schema;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use futures::StreamExt;
use std::io::Cursor;
use std::sync::Arc;

/// Bytes of lines that are looked at in each file; what is longer is looked at as far as whole lines go.
const MOST_BYTES: usize = 64 << 20;

/// The number of rows that `sample_size => -1` stands for.
const ALL_ROWS: usize = u32::MAX as usize;

/// Finds the columns in the first `rows` lines of all files together.
pub(super) async fn json_columns(
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    rows: usize,
) -> Result<SchemaRef> {
    let (mut schemas, mut left) = (Vec::new(), rows);
    for object in objects {
        if left == 0 {
            break;
        }
        // Whoever asks for all rows gets them.
        let most_bytes = if left < ALL_ROWS / 2 { MOST_BYTES } else { usize::MAX };
        let lines = first_lines(store, &object.location, left, most_bytes).await?;
        let (schema, seen) = infer_json_schema(Cursor::new(lines), Some(left)).map_err(of_lines)?;
        schemas.push(schema);
        left = left.saturating_sub(seen);
    }
    Ok(Arc::new(Schema::try_merge(schemas)?))
}

/// Says what a file of JSON must have; the engine shows all that it found instead, which may be the whole file.
fn of_lines(error: ArrowError) -> DataFusionError {
    match &error {
        ArrowError::JsonError(text) if text.contains("to be an object") => DataFusionError::Execution(
            "each line must be an object, such as {\"a\": 1}; an array of objects is read where the name ends in .json"
                .to_owned(),
        ),
        _ => error.into(),
    }
}

/// Reads as many lines that are not blank, or all that there are in so many bytes.
async fn first_lines(
    store: &Arc<dyn ObjectStore>,
    location: &Path,
    lines: usize,
    most_bytes: usize,
) -> Result<Vec<u8>> {
    let mut pieces = store.get(location).await?.into_stream();
    let (mut begin, mut seen, mut looked_at) = (Vec::new(), 0, 0);
    while let Some(piece) = pieces.next().await {
        begin.extend_from_slice(&piece?);
        while let Some(length) = begin[looked_at..].iter().position(|byte| *byte == b'\n') {
            seen += usize::from(!begin[looked_at..looked_at + length].trim_ascii().is_empty());
            looked_at += length + 1;
            if seen == lines {
                begin.truncate(looked_at);
                return Ok(begin);
            }
        }
        if begin.len() > most_bytes {
            if seen == 0 {
                let text =
                    format!("its first line has more than {most_bytes} bytes, or it is no JSON by lines");
                return Err(DataFusionError::Execution(text));
            }
            begin.truncate(looked_at);
            return Ok(begin);
        }
        filbert_pool::checkpoint().await;
    }
    Ok(begin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use datafusion::object_store::memory::InMemory;

    fn read(text: &str, lines: usize, most_bytes: usize) -> Result<String> {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let place = Path::from("a.json");
        let read = async {
            store.put(&place, Bytes::from(text.to_owned()).into()).await?;
            first_lines(&store, &place, lines, most_bytes).await
        };
        futures::executor::block_on(read).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn an_array_is_told_without_its_rows() {
        let problem = infer_json_schema(Cursor::new("[{\"a\": 1}, {\"a\": 2}]"), None).map_err(of_lines);
        let problem = problem.unwrap_err().to_string();
        assert!(problem.contains("ends in .json") && !problem.contains("Object {"), "{problem}");
    }

    #[test]
    fn no_more_is_kept_than_is_looked_at() {
        let text = "{\"a\": 1}\n\n{\"a\": 2}\n{\"a\": 3}\n{\"a\": 4}";
        assert_eq!(read(text, 2, 1_000).unwrap(), "{\"a\": 1}\n\n{\"a\": 2}\n");
        assert_eq!(read(text, 4, 1_000).unwrap(), text);
        assert_eq!(read(text, 4, 20).unwrap(), "{\"a\": 1}\n\n{\"a\": 2}\n{\"a\": 3}\n");
        let long = read(&text.replace('\n', " "), 4, 20).unwrap_err().to_string();
        assert!(long.contains("more than 20 bytes"), "{long}");
    }
}
