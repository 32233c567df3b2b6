//! Files: lines, CSV and NDJSON, read by all processors of the source at once, and written.
//!
//! ```text
//! pattern -> files -> one run of bytes -> a part per processor -> splits (file, from, to)        [`plan`]
//! split -> blocks that begin and end at line ends, read one ahead on the stage `mixed`           [`cut`, `read_ahead`]
//! block -> items, parsed by the processor on the stage `flow`                                    [`lines`, `csv`, `ndjson`]
//! ```
//!
//! A line belongs to the split in which its first byte lies, so each is read exactly once wherever files are cut.
//!
//! Reading is a blocking call, so it happens on `mixed`; the processor is woken when a block is there, and has the next one read while it
//! works on this one. Rejected: a thread of its own per processor, because it would also do the parsing and all steps that a
//! pipeline fuses with it, outside of the fairness between jobs; maps of memory, because a page that is not there blocks the worker.
//!
//! | File | What |
//! |---|---|
//! | `plan` | which files, and who reads which bytes |
//! | `cut` | blocks of whole lines |
//! | `read_ahead` | reading on the stage `mixed` |
//! | `block` | [`Block`] |
//! | `source` | [`FileSource`] and its processor |
//! | `lines`, `csv`, `ndjson` | the formats |
//! | `each_line` | lines of blocks, looked at in place by a pipeline |
//! | `bad_rows` | rows that cannot be read |
//! | `sink`, `write_behind` | [`FileSink`]: formats, writing on the stage `mixed` |
//! | `target`, `draft` | where a sink writes to; files that appear when the job has completed |
//! | `error` | [`FileError`] |

mod bad_rows;
mod block;
mod csv;
mod cut;
mod draft;
mod each_line;
mod error;
mod lines;
mod ndjson;
mod plan;
mod read_ahead;
mod sink;
mod source;
mod target;
mod write_behind;

pub use bad_rows::BadRows;
pub use block::{Block, BlockLines};
pub use csv::{CsvRows, ReadCsv, csv};
pub use draft::Draft;
pub use each_line::{EachLine, EachLineOfBlock, each_line};
pub use error::FileError;
pub use lines::{Blocks, Lines, ReadBlocks, ReadLines, blocks, lines};
pub use ndjson::{JsonRows, ReadJson, ndjson};
pub use sink::{
    CsvOut, Encode, FileSink, JsonOut, LinesOut, WriteFile, write_csv, write_lines, write_ndjson,
};
pub use source::{FileSource, Format, Parse, ReadFiles, Row};

pub(crate) use cut::LineCutter;
pub(crate) use plan::Origin;
#[cfg(feature = "columnar")]
pub(crate) use plan::files;
pub(crate) use read_ahead::{BlockSource, ReadAhead};
#[cfg(feature = "columnar")]
pub(crate) use target::{Drafts, Target};
pub(crate) use write_behind::{Drain, WriteBehind};
