//! Parquet and Arrow IPC files: items are [`RecordBatch`]es. Behind the cargo feature `columnar`.
//!
//! ```text
//! pattern -> files -> footers -> parts (row groups of Parquet, batches of Arrow), a run of them per processor   [`plan`]
//! parts -> batches, read and decoded one ahead on the stage `mixed`                                             [`read`]
//! batches -> a file that appears when the job has completed, encoded and written on `mixed`                     [`sink`]
//! ```
//!
//! Footers are read once per job. Decoding happens where the reading does: a batch is a few thousand rows, so the hop to another stage is
//! cheap, and a page that takes long holds up no other tasklet. Rejected: the async readers, which bring a second way of waiting and no
//! gain for local files; rows as items, which would box every value: [`rows`] makes them where they are wanted, by a closure that sees a
//! whole batch.
//!
//! Batches are large, and queues are bounded in items: those behind a source of batches hold 4, if the edge says nothing else. Behind
//! other vertices that emit batches, set the edge's `queue_size` and `high_water_mark`.
//!
//! | File | What |
//! |---|---|
//! | `source` | [`parquet`](parquet()), [`arrow`]: settings and processor |
//! | `plan` | which files, which columns, and who reads which part |
//! | `read` | one processor's parts, batch by batch |
//! | `sink` | [`write_parquet`], [`write_arrow`] |
//! | `rows` | [`rows`], [`column`](column()) |
//! | `error` | [`ColumnarError`] |

mod error;
mod plan;
mod read;
mod rows;
mod sink;
mod source;

pub use arrow_array::{self, RecordBatch};
pub use arrow_schema::{self, Schema, SchemaRef};
pub use error::ColumnarError;
pub use rows::{EachRow, column, rows};
pub use sink::{ColumnarSink, Compression, WriteColumns, write_arrow, write_parquet};
pub use source::{ColumnarSource, ReadColumns, arrow, parquet};
