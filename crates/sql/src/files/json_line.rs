//! Which line of a JSON file is broken.
//!
//! The decoder says what it stumbled over and not where. So the file is read once more, line by line, when a query has failed; only lines
//! that are no JSON are found this way, not values of another type than their column.

use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use futures::StreamExt;
use serde::de::IgnoredAny;
use std::sync::Arc;

/// Bytes that are looked through.
const MAX_BYTES: usize = 256 << 20;

/// A line that is longer is not looked at.
const MAX_LINE_BYTES: usize = 16 << 20;

/// The number of the first line that is no JSON, from one on.
pub(super) async fn broken_line(store: Arc<dyn ObjectStore>, location: Path) -> Option<usize> {
    let mut pieces = store.get(&location).await.ok()?.into_stream();
    let (mut begun, mut number, mut bytes) = (Vec::new(), 1, 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.ok()?;
        bytes += piece.len();
        begun.extend_from_slice(&piece);
        let mut start = 0;
        while let Some(length) = begun[start..].iter().position(|byte| *byte == b'\n') {
            if is_broken(&begun[start..start + length]) {
                return Some(number);
            }
            start += length + 1;
            number += 1;
        }
        begun.drain(..start);
        if bytes > MAX_BYTES || begun.len() > MAX_LINE_BYTES {
            return None;
        }
        filbert_pool::checkpoint().await;
    }
    is_broken(&begun).then_some(number)
}

fn is_broken(line: &[u8]) -> bool {
    !line.trim_ascii().is_empty() && serde_json::from_slice::<IgnoredAny>(line).is_err()
}
