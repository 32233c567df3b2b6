//! The files of this machine as DataFusion's object store: reads only, only what is allowed, and never on the caller's thread.
//!
//! DataFusion's own local store hands out open files, which operators then read on whatever thread they run on: here a worker of stage
//! `fragment`, which must not block. This one gives streams of pieces that the reactor's threads read, the next while one is decoded.
//! What is no regular file is not read: a pipe would keep a thread until somebody writes to it, a device might give bytes without end.

use super::access::{FileAccess, problem, says};
use super::compression::Compression;
use super::json_array::{ArrayLines, is_array};
use super::kind::FileKind;
use super::progress::{CountedFile, FilePart, FileParts, count};
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
use std::sync::{Arc, Mutex, Weak};

/// Bytes that are read at a time.
const PIECE_BYTES: u64 = 512 << 10;

/// Bytes in which an array begins.
const BEGIN_BYTES: u64 = 4 << 10;

/// Pieces of a file that are read ahead.
const PIECES: usize = 2;

/// Reads files.
#[derive(Debug, Clone)]
pub(super) struct FileStore {
    access: Arc<FileAccess>,
    reactor: Reactor,
    /// The counters of what is read.
    parts: Option<Arc<FileParts>>,
}

impl FileStore {
    pub(super) fn new(access: Arc<FileAccess>, reactor: Reactor) -> Self {
        Self { access, reactor, parts: None }
    }

    /// Returns the files with what is read of them counted.
    pub(super) fn counting(&self, parts: Arc<FileParts>) -> Self {
        Self { parts: Some(parts), ..self.clone() }
    }

    fn part(&self, location: &Path) -> Option<Weak<FilePart>> {
        self.parts.as_ref()?.of(location)
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
    opened_at(access, &place(location))
}

fn opened_at(
    access: &FileAccess,
    path: &std::path::Path,
) -> std::result::Result<(File, PathBuf, Metadata), SqlError> {
    let path = access.readable(path)?;
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

/// True when one of these files has to be read from its begin to its end: it is compressed, or one array of JSON.
pub(super) fn has_whole(
    paths: &[PathBuf],
    kind: FileKind,
    access: &FileAccess,
) -> std::result::Result<bool, SqlError> {
    if paths.iter().any(|path| Compression::of_path(path).is_some()) {
        return Ok(true);
    }
    if kind != FileKind::Json {
        return Ok(false);
    }
    for path in paths {
        let (file, path, _) = opened_at(access, path)?;
        let mut begin = Vec::new();
        let read = file.take(BEGIN_BYTES).read_to_end(&mut begin);
        read.map_err(|error| problem(&path, &says(&error)))?;
        if is_array(&begin) {
            return Ok(true);
        }
    }
    Ok(false)
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
            let part = self.part(location);
            GetResultPayload::Stream(match (&options.range, Compression::of_path(&path)) {
                (None, Some(compression)) => {
                    let reader = compression
                        .reader(CountedFile { file, part })
                        .map_err(|error| packed(problem(&path, &says(&error))))?;
                    as_lines(unpacked(reader, path, self.reactor.clone()), location)
                }
                (None, None) => {
                    as_lines(pieces((file, path), part, range.clone(), self.reactor.clone()), location)
                }
                (Some(_), _) => pieces((file, path), part, range.clone(), self.reactor.clone()),
            })
        };
        Ok(GetResult { payload, meta, range, attributes: Attributes::default() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (part, location, ranges) = (self.part(location), location.clone(), ranges.to_vec());
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
            let counted = |piece: &Bytes| count(part.as_ref(), piece.len() as u64);
            ranges.iter().map(|range| read_at(&file, &path, range).inspect(counted)).collect()
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
    (file, path): (File, PathBuf),
    part: Option<Weak<FilePart>>,
    range: Range<u64>,
    reactor: Reactor,
) -> BoxStream<'static, Result<Bytes>> {
    // One position per open file: reads take turns.
    let file = Arc::new((Mutex::new(file), path));
    let starts = range.clone().step_by(PIECE_BYTES as usize);
    let read = move |start: u64| {
        let (file, part, end) = (Arc::clone(&file), part.clone(), range.end.min(start + PIECE_BYTES));
        let read = reactor.submit("read a file", move || {
            let (file, path) = &*file;
            let file = file.lock().unwrap_or_else(|broken| broken.into_inner());
            let piece = read_at(&file, path, &(start..end));
            piece.inspect(|piece| count(part.as_ref(), piece.len() as u64))
        });
        async move { read.await.map_err(SqlError::from).and_then(|read| read).map_err(packed) }
    };
    stream::iter(starts).map(read).buffered(PIECES).boxed()
}

/// The bytes of a file that is compressed, piece by piece: each is made when it is asked for.
fn unpacked(
    reader: Box<dyn Read + Send>,
    path: PathBuf,
    reactor: Reactor,
) -> BoxStream<'static, Result<Bytes>> {
    let read = move |mut reader: Box<dyn Read + Send>| {
        let path = path.clone();
        let read = reactor.submit("unpack a file", move || {
            let mut piece = Vec::new();
            let read = reader.by_ref().take(PIECE_BYTES).read_to_end(&mut piece);
            let failed = |error: io::Error| {
                problem(
                    &path,
                    &format!(
                        "it cannot be unpacked: {}; is it whole, and what its ending says?",
                        says(&error)
                    ),
                )
            };
            read.map(|_| (piece, reader)).map_err(failed)
        });
        async move {
            let (piece, reader) = read.await.map_err(SqlError::from).and_then(|read| read).map_err(packed)?;
            Ok((!piece.is_empty()).then(|| (Bytes::from(piece), reader)))
        }
    };
    stream::try_unfold(reader, read).boxed()
}

/// The bytes of a file, with an array of JSON as lines.
fn as_lines(pieces: BoxStream<'static, Result<Bytes>>, location: &Path) -> BoxStream<'static, Result<Bytes>> {
    if FileKind::of_path(&place(location)) != Some(FileKind::Json) {
        return pieces;
    }
    let mut lines = ArrayLines::default();
    let changed = move |piece: Result<Bytes>| {
        let mut piece = Vec::from(piece?);
        lines.pass(&mut piece);
        Ok(Bytes::from(piece))
    };
    pieces.map(changed).boxed()
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
