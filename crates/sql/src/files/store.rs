//! The files of this machine as DataFusion's object store: reads only, only what is allowed, and never on the caller's thread.
//!
//! DataFusion's own local store hands out open files, which operators then read on whatever thread they run on: here a worker of stage
//! `fragment`, which must not block. This one gives streams of pieces that the reactor's threads read, the next while one is decoded.
//! What is no regular file is not read: a pipe would keep a thread until somebody writes to it, a device might give bytes without end.

use super::access::{FileAccess, problem, says};
use crate::error::SqlError;
use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use filbert_pool::Reactor;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Bytes that are read at a time.
const PIECE_BYTES: u64 = 512 << 10;

/// Pieces of a file that are read ahead.
const PIECES: usize = 2;

/// Reads files.
#[derive(Debug, Clone)]
pub(super) struct FileStore {
    access: Arc<FileAccess>,
    reactor: Reactor,
}

impl FileStore {
    pub(super) fn new(access: Arc<FileAccess>, reactor: Reactor) -> Self {
        Self { access, reactor }
    }

    /// Calls that block, on a thread for that.
    async fn submit<R: Send + 'static>(
        &self,
        task: &'static str,
        body: impl FnOnce(&FileAccess) -> std::result::Result<R, SqlError> + Send + 'static,
    ) -> Result<R> {
        let access = Arc::clone(&self.access);
        let done = self.reactor.submit(task, move || body(&access)).await;
        done.map_err(SqlError::from).and_then(|done| done).map_err(packed)
    }
}

/// Carries an error through the store's type; [`SqlError::from`] finds it again.
fn packed(error: SqlError) -> Error {
    Error::Generic { store: "files", source: Box::new(error) }
}

/// The path of the file system.
fn place(location: &Path) -> PathBuf {
    PathBuf::from(format!("/{location}"))
}

fn opened(access: &FileAccess, location: &Path) -> std::result::Result<(File, PathBuf, Metadata), SqlError> {
    let path = access.readable(&place(location))?;
    let failed = |error: io::Error| problem(&path, &says(&error));
    let regular = |metadata: Metadata| match metadata.is_file() {
        true => Ok(metadata),
        false => Err(problem(&path, "this is no regular file, and nothing else is read")),
    };
    // Looked at before, because to open a device may do something, and again, because it may be another one now.
    std::fs::metadata(&path).map_err(failed).and_then(regular)?;
    let file = open_at_once(&path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed).and_then(regular)?;
    Ok((file, path, metadata))
}

/// Opens a file to read, and does not wait for the other end of a pipe.
fn open_at_once(path: &std::path::Path) -> io::Result<File> {
    let mut how = OpenOptions::new();
    how.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut how, libc::O_NONBLOCK | libc::O_NOCTTY);
    how.open(path)
}

/// So many bytes from there; a file that is shorter was cut since it was looked at.
fn read_at(
    mut file: &File,
    path: &std::path::Path,
    range: &Range<u64>,
) -> std::result::Result<Bytes, SqlError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            problem(path, &format!("it ends before byte {}; was it cut short?", range.end))
        }
        _ => problem(path, &says(&error)),
    };
    let mut piece = vec![0; range.end.saturating_sub(range.start) as usize];
    file.seek(SeekFrom::Start(range.start)).map_err(failed)?;
    file.read_exact(&mut piece).map_err(failed)?;
    Ok(piece.into())
}

impl fmt::Display for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("files")
    }
}

#[async_trait]
impl ObjectStore for FileStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let asked = location.clone();
        let (file, path, metadata) = self.submit("open a file", move |access| opened(access, &asked)).await?;
        let modified = metadata.modified().map_err(|error| packed(problem(&path, &says(&error))))?;
        let meta = ObjectMeta {
            location: location.clone(),
            last_modified: modified.into(),
            size: metadata.len(),
            e_tag: None,
            version: None,
        };
        options.check_preconditions(&meta)?;
        let range = match &options.range {
            None => 0..meta.size,
            Some(range) => range.as_range(meta.size).map_err(|_| {
                packed(problem(&path, &format!("it has {} bytes only; was it cut short?", meta.size)))
            })?,
        };
        let payload = if options.head {
            GetResultPayload::Stream(stream::empty().boxed())
        } else {
            GetResultPayload::Stream(pieces(file, path, range.clone(), self.reactor.clone()))
        };
        Ok(GetResult { payload, meta, range, attributes: Attributes::default() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (location, ranges) = (location.clone(), ranges.to_vec());
        self.submit("read a file", move |access| {
            let (file, path, metadata) = opened(access, &location)?;
            // What a broken file says of itself is not believed: nothing larger than the file is made room for.
            if let Some(beyond) = ranges.iter().find(|range| range.end > metadata.len()) {
                let text = format!(
                    "it has {} bytes, and speaks of byte {}; was it cut short?",
                    metadata.len(),
                    beyond.end
                );
                return Err(problem(&path, &text));
            }
            ranges.iter().map(|range| read_at(&file, &path, range)).collect()
        })
        .await
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::once(async { Err(no("list folders")) }).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(no("list folders"))
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(no("write"))
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(no("write"))
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        stream::once(async { Err(no("delete")) }).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(no("copy"))
    }
}

fn no(what: &str) -> Error {
    packed(SqlError::Refused(format!("files do not {what} this way; COPY ... TO writes a file")))
}

/// The bytes of a range, piece by piece.
fn pieces(
    file: File,
    path: PathBuf,
    range: Range<u64>,
    reactor: Reactor,
) -> BoxStream<'static, Result<Bytes>> {
    // One position per open file: reads take turns.
    let file = Arc::new((Mutex::new(file), path));
    let starts = range.clone().step_by(PIECE_BYTES as usize);
    let read = move |start: u64| {
        let (file, end) = (Arc::clone(&file), range.end.min(start + PIECE_BYTES));
        let read = reactor.submit("read a file", move || {
            let (file, path) = &*file;
            let file = file.lock().unwrap_or_else(|broken| broken.into_inner());
            read_at(&file, path, &(start..end))
        });
        async move { read.await.map_err(SqlError::from).and_then(|read| read).map_err(packed) }
    };
    stream::iter(starts).map(read).buffered(PIECES).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::object_store::ObjectStoreExt;
    use filbert_pool::Stages;

    /// An open file would be read by whoever decodes it, and that blocks.
    #[test]
    fn no_format_gets_an_open_file() {
        let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
        let reactor = stages.dedicated().reactor("test-io", 1, || {}).unwrap();
        let store = FileStore::new(Arc::new(FileAccess::new(&[folder.path().into()], &[])), reactor);
        for (name, bytes) in [("a.arrow", &b"ARROW1\0\0and more"[..]), ("a.csv", b"n\n1\n")] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let location = Path::from(path.to_str().unwrap());
            let got = futures::executor::block_on(store.get(&location)).unwrap();
            assert!(matches!(got.payload, GetResultPayload::Stream(_)), "{name}");
            assert_eq!(futures::executor::block_on(got.bytes()).unwrap(), bytes);
        }
    }
}
