//! The folder of a database: who has it, and how its files are read and written. All of it blocks.
//!
//! A file with rows is written once, flushed, and only then named by the list of everything (`tables.json`), which is written beside the
//! old one, flushed, and renamed over it. So a process that is killed leaves the old list or the new one, and files that none names.

use super::error::DatabaseError;
use super::manifest::{Manifest, Segment, checksum};
use arrow::array::{ArrayData, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use flate2::CrcWriter;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{BufWriter, Cursor, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "tables.json";
const NEW_MANIFEST: &str = "tables.json.new";
const LOCK: &str = "lock";

/// The folder of a database that this process has for itself.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Locked for as long as it is open.
    _lock: File,
}

impl Folder {
    /// Opens the folder, or makes it; nobody else can open it until this is dropped.
    pub(super) fn open(path: &Path) -> Result<(Self, Manifest), DatabaseError> {
        let is_new = !check(path)?;
        let lock = lock(path)?;
        let folder = Self { path: path.to_owned(), _lock: lock };
        // Looked at again: who had it before may have made it meanwhile.
        if is_new && !path.join(MANIFEST).exists() {
            folder.prepare(&Manifest::default())?;
            folder.commit()?;
        }
        let file = path.join(MANIFEST);
        let bytes = std::fs::read(&file).map_err(|error| DatabaseError::io("read", &file, &error))?;
        let manifest = Manifest::decode(&bytes, &file)?;
        Ok((folder, manifest))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The list of everything contradicts itself.
    pub(super) fn damaged(&self, problem: &str) -> DatabaseError {
        DatabaseError::damaged(&self.path.join(MANIFEST), problem)
    }

    fn segment(&self, number: u64) -> PathBuf {
        self.path.join(format!("rows-{number}.arrow"))
    }

    /// Writes batches as a file of their own, which is on disk when this returns.
    pub(super) fn write_segment(
        &self,
        number: u64,
        schema: &SchemaRef,
        batches: &[RecordBatch],
    ) -> Result<Segment, DatabaseError> {
        let path = self.segment(number);
        let failed = |error: &std::io::Error| DatabaseError::io("write", &path, error);
        let encoding = |error: ArrowError| match error {
            ArrowError::IoError(_, error) => DatabaseError::io("write", &path, &error),
            other => DatabaseError::io("write", &path, &std::io::Error::other(other)),
        };
        let file = create(&path).map_err(|error| failed(&error))?;
        let to = CrcWriter::new(BufWriter::new(file));
        let mut writer = StreamWriter::try_new(to, schema).map_err(encoding)?;
        for batch in batches {
            writer.write(batch).map_err(encoding)?;
        }
        let to = writer.into_inner().map_err(encoding)?;
        let (checksum, bytes) = (to.crc().sum(), to.crc().amount());
        let file = to.into_inner().into_inner().map_err(|error| failed(error.error()))?;
        file.sync_all().map_err(|error| failed(&error))?;
        // The number of bytes is counted in 32 bits, and only compared in these.
        let length = file.metadata().map_err(|error| failed(&error))?.len();
        if length as u32 != bytes {
            return Err(failed(&std::io::Error::other("it has not the length that was written")));
        }
        Ok(Segment { number, bytes: length, checksum, batches: batches.len() })
    }

    /// Reads a file with batches, each column with buffers of its own; damage names it.
    pub(super) fn read_segment(&self, segment: &Segment) -> Result<Vec<RecordBatch>, DatabaseError> {
        let path = self.segment(segment.number);
        let damaged = |problem: String| DatabaseError::damaged(&path, problem);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => damaged("it is missing".to_owned()),
            _ => DatabaseError::io("read", &path, &error),
        })?;
        if bytes.len() as u64 != segment.bytes {
            return Err(damaged(format!("it has {} bytes, not {}", bytes.len(), segment.bytes)));
        }
        if checksum(&bytes) != segment.checksum {
            return Err(damaged("its checksum is another one".to_owned()));
        }
        let unreadable = |error: ArrowError| damaged(format!("it cannot be read: {error}"));
        let reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(unreadable)?;
        let batches = reader.map(|batch| unshared(&batch?));
        let batches = batches.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        if batches.len() != segment.batches {
            return Err(damaged(format!("it has {} batches, not {}", batches.len(), segment.batches)));
        }
        Ok(batches)
    }

    /// Writes `manifest` beside the one that holds; both it and the files that it names are on disk when this returns.
    pub(super) fn prepare(&self, manifest: &Manifest) -> Result<(), DatabaseError> {
        let new = self.path.join(NEW_MANIFEST);
        let written = || -> std::io::Result<()> {
            let mut out = create(&new)?;
            out.write_all(&manifest.encode()?)?;
            out.sync_all()?;
            File::open(&self.path)?.sync_all()
        };
        written().map_err(|error| DatabaseError::io("write", &new, &error))
    }

    /// Makes the list that was prepared what the database is; that is on disk when this returns.
    pub(super) fn commit(&self) -> Result<(), DatabaseError> {
        let (new, file) = (self.path.join(NEW_MANIFEST), self.path.join(MANIFEST));
        let renamed = std::fs::rename(&new, &file)
            .and_then(|()| File::open(&self.path))
            .and_then(|folder| folder.sync_all());
        renamed.map_err(|error| DatabaseError::io("write", &file, &error))
    }

    /// Removes what a change has written that does not come to an end: its files with rows, and the list that was to name them.
    pub(super) fn take_back(&self, segments: impl Iterator<Item = u64>) {
        // One that stays takes room until the next change or start.
        for path in segments.map(|number| self.segment(number)).chain([self.path.join(NEW_MANIFEST)]) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Removes files with rows that `manifest` does not name, left by a change that was not finished.
    pub(super) fn remove_unnamed(&self, manifest: &Manifest) {
        let Ok(entries) = std::fs::read_dir(&self.path) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(segment_number);
            let is_unnamed = |number: u64| manifest.segments.iter().all(|segment| segment.number != number);
            if number.is_some_and(is_unnamed) {
                // One that stays takes room, and is looked for again at the next start.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// Makes a file that only its owner reads, in place of one that a killed process left.
fn create(path: &Path) -> std::io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Flushes the folder that a path is in.
fn sync_parent(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

/// Copies the columns of a batch that was read: all of them are parts of one buffer, which each would count as its own and keep alone.
fn unshared(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(|column| Ok(make_array(unshared_data(&column.to_data())?)));
    let columns = columns.collect::<Result<Vec<_>, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

fn unshared_data(data: &ArrayData) -> Result<ArrayData, ArrowError> {
    let copy = |buffer: &Buffer| Buffer::from_slice_ref(buffer.as_slice());
    let nulls = data
        .nulls()
        .map(|nulls| NullBuffer::new(BooleanBuffer::new(copy(nulls.buffer()), nulls.offset(), nulls.len())));
    let children = match data.data_type() {
        // The values of a dictionary belong to many batches.
        DataType::Dictionary(..) => data.child_data().to_vec(),
        _ => data.child_data().iter().map(unshared_data).collect::<Result<_, _>>()?,
    };
    let buffers = data.buffers().iter().map(copy).collect();
    data.clone().into_builder().buffers(buffers).child_data(children).nulls(nulls).build()
}

fn segment_number(name: &str) -> Option<u64> {
    name.strip_prefix("rows-")?.strip_suffix(".arrow")?.parse().ok()
}

/// Makes the folder where there is none; tells whether it is a database already.
fn check(path: &Path) -> Result<bool, DatabaseError> {
    let no =
        |problem: &str| DatabaseError::NotADatabase { path: path.to_owned(), problem: problem.to_owned() };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let made = DirBuilder::new().mode(0o700).create(path).and_then(|()| sync_parent(path));
            made.map_err(|error| DatabaseError::io("make the folder", path, &error))?;
            return Ok(false);
        }
        Err(error) => return Err(DatabaseError::io("read", path, &error)),
        Ok(there) if !there.is_dir() => {
            return Err(no("it is a file, and a database is a folder; name a folder that is not there yet"));
        }
        Ok(_) => {}
    }
    let entries = std::fs::read_dir(path).map_err(|error| DatabaseError::io("read", path, &error))?;
    let (mut has_rows, mut has_others) = (false, false);
    for entry in entries {
        let entry = entry.map_err(|error| DatabaseError::io("read", path, &error))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        match &*name {
            MANIFEST => return Ok(true),
            LOCK | NEW_MANIFEST => {}
            name if segment_number(name).is_some() => has_rows = true,
            _ => has_others = true,
        }
    }
    match (has_rows, has_others) {
        (true, _) => Err(DatabaseError::damaged(&path.join(MANIFEST), "it is missing")),
        (false, true) => Err(no("it is a folder with other files, and without tables.json")),
        (false, false) => Ok(false),
    }
}

/// Takes the lock of the folder, which ends with the process.
fn lock(folder: &Path) -> Result<File, DatabaseError> {
    let path = folder.join(LOCK);
    let failed = |error: &std::io::Error| DatabaseError::io("lock", &path, error);
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).truncate(false).mode(0o600);
    // Its bytes are replaced: a link would have those of another file replaced.
    let file = how.custom_flags(libc::O_NOFOLLOW).open(&path);
    let mut file = file.map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(DatabaseError::InUse { folder: folder.to_owned(), pid });
        }
        Err(TryLockError::Error(error)) => return Err(failed(&error)),
    }
    // For the error of the next one.
    let written = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    written.map_err(|error| failed(&error))?;
    Ok(file)
}
