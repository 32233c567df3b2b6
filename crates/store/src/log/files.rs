//! The files of a log while it is written: the segment that is open, and what is not in it yet.
//!
//! Whatever fails, no half of a group stands between what came before it and what comes after: it is cut off again, or the segment is *left*.
//! That is also done when a flush fails: the system may count what it could not write as written, so another flush of the same file would say
//! nothing. What was not flushed of a segment that is left goes to the begin of the next one, which says what counts of the old one.

use super::{Log, MOST_PENDING, TRY_AGAIN};
use crate::error::StoreError;
use crate::folder;
use crate::frame::{self, Frames, Kind, NO_PARTITION};
use crate::manifest::{FlushedEnd, FlushedFile, Found, Manifest};
use crate::marker;
use crate::segment::{self, Name};
use crate::settings::Fsync;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) current: Option<Current>,
    /// Taken for a commit, and not written yet.
    pub(super) unwritten: Vec<u8>,
    /// A flush will come.
    flush_set: bool,
    /// Segments that were left, and how many bytes count of each; to be said by the next one.
    left: Vec<(u64, u64)>,
    /// What is to be written was written once and not flushed: this time it is, whatever is set.
    repeats: bool,
    /// Says how far the segment that is open was flushed.
    flushed: FlushedFile,
}

#[derive(Debug)]
pub(super) struct Current {
    file: File,
    number: u64,
    /// The identity of the folder.
    id: u64,
    pub(super) path: PathBuf,
    length: u64,
    /// So many bytes of it were flushed.
    flushed: u64,
    /// The manifest names it: nothing is written to it before.
    is_listed: bool,
    /// Why nothing more is to be written to it.
    problem: Option<StoreError>,
}

impl Current {
    fn is_flushed(&self) -> bool {
        self.flushed == self.length
    }
}

impl Files {
    /// True when something has to be written that is written already: the segment is left, and not all of it was flushed.
    pub(super) fn must_repeat(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.problem.is_some() && !current.is_flushed())
    }

    /// A segment is left, and so many bytes of it count.
    pub(super) fn leave_behind(&mut self, number: u64, end: u64) {
        self.left.push((number, end));
    }

    /// The first segment that no fold may touch: the one that is open, or was left and no other one says so yet.
    pub(super) fn first_unsettled(&self) -> Option<u64> {
        let open = self.current.iter().map(|current| current.number);
        open.chain(self.left.iter().map(|(number, _)| *number)).min()
    }
}

impl Log {
    pub(super) fn lock_files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Writes what was taken, all or nothing, and flushes it where that is asked for.
    pub(super) fn write(self: &Arc<Self>, files: &mut Files) -> Result<(), StoreError> {
        self.leave(files)?;
        let Files { current, unwritten, flush_set, left, repeats, flushed } = files;
        if unwritten.is_empty() {
            return Ok(());
        }
        let current = match current {
            Some(current) => current,
            None => current.insert(self.begin_segment(left)?),
        };
        if !current.is_listed {
            self.change_manifest(|manifest| manifest.begun(current.number, self.salt))?;
            current.is_listed = true;
        }
        let before = current.length;
        let flushes = *repeats || self.settings.fsync == Fsync::Always;
        if let Err(error) = self.append(current, unwritten, flushes) {
            let error = StoreError::io("write", &current.path, &error);
            current.length = before;
            // What was written of it must not stand between what came before and what comes after.
            if self.room.cut(&mut current.file, before).is_err() {
                current.problem = Some(error.clone());
            }
            return Err(error);
        }
        *repeats = false;
        self.note_flushed(flushed, current, false);
        // A buffer that was large once is given back.
        if unwritten.capacity() > MOST_PENDING {
            *unwritten = Vec::new();
        } else {
            unwritten.clear();
        }
        if self.settings.fsync == Fsync::Interval && !std::mem::replace(flush_set, true) {
            let log = Arc::downgrade(self);
            let flush = move || {
                let Some(log) = log.upgrade() else { return };
                let pool = log.pool.clone();
                if let Ok(flushes) = pool.submit("store.flush", move || log.flush()) {
                    flushes.detach();
                }
            };
            self.stages.clock().after(Duration::from_millis(self.settings.interval_ms), flush);
        }
        Ok(())
    }

    fn append(&self, current: &mut Current, bytes: &[u8], flushes: bool) -> std::io::Result<()> {
        let mut written = 0;
        if current.is_flushed() {
            let mut safe = Vec::new();
            frame::write(&mut safe, self.salt, Kind::Safe, NO_PARTITION, &[]);
            self.room.write(&mut current.file, &safe)?;
            written += safe.len();
        }
        self.room.write(&mut current.file, bytes)?;
        written += bytes.len();
        if flushes {
            self.room.flush(&current.file)?;
            current.flushed = current.length + written as u64;
        }
        current.length += written as u64;
        Ok(())
    }

    /// Flushes what an interval gathered. When that fails, changes are refused until it is written once more.
    fn flush(self: &Arc<Self>) {
        let mut files = self.lock_files();
        files.flush_set = false;
        let Files { current, flushed, .. } = &mut *files;
        let current = current.as_mut();
        let Some(current) = current.filter(|current| !current.is_flushed() && current.problem.is_none())
        else {
            return;
        };
        match self.room.flush(&current.file) {
            Ok(()) => {
                current.flushed = current.length;
                self.note_flushed(flushed, current, false);
            }
            Err(error) => {
                let error = StoreError::io("flush", &current.path, &error);
                current.problem = Some(error.clone());
                // With the files in hand: a commit that mends it comes after this.
                self.fails_with(Some(error));
                drop(files);
                if !std::mem::replace(&mut self.lock().commits, true) {
                    self.commit_after(TRY_AGAIN);
                }
            }
        }
    }

    /// Begins a segment: under another name until its begin is on the disk, since one that is cut in the middle of that says nothing of
    /// those that were left.
    fn begin_segment(&self, left: &mut Vec<(u64, u64)>) -> Result<Current, StoreError> {
        folder::make(&self.folder)?;
        let on_disk = segment::numbers(&self.folder)?.last().copied();
        let (id, first, before) = self.with_manifest(|manifest| {
            (manifest.id, manifest.first, manifest.segments.last().map(|listed| listed.number))
        })?;
        // A number is used once: that of one that was left is spoken of, and those below `first` are folded.
        let used = left.iter().map(|(number, _)| *number).chain(on_disk).chain(before);
        let number = used.max().map_or(1, |last| last + 1).max(first);
        let name = Name { id, number, before: before.unwrap_or_default() };
        let path = segment::path(&self.folder, number);
        let begun = path.with_extension("seg-new");
        let mut begin = segment::begin(self.salt, name);
        left.iter().for_each(|(number, end)| segment::left(&mut begin, self.salt, *number, *end));
        let failed = |error: std::io::Error| StoreError::io("begin", &path, &error);
        let made = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&begun);
        let mut file = made.map_err(failed)?;
        self.room.write(&mut file, &begin).and_then(|()| file.sync_all()).map_err(failed)?;
        std::fs::rename(&begun, &path).map_err(failed)?;
        if let Err(error) = folder::sync_parent(&path) {
            // One that may or may not be there after a crash is none; one that cannot be removed does not count.
            if std::fs::remove_file(&path).is_err() {
                left.push((number, 0));
            }
            return Err(error);
        }
        left.clear();
        let length = begin.len() as u64;
        Ok(Current { file, number, id, path, length, flushed: length, is_listed: false, problem: None })
    }

    /// Looks at the manifest.
    pub(super) fn with_manifest<T>(&self, look: impl FnOnce(&Manifest) -> T) -> Result<T, StoreError> {
        let mut known = self.manifest.lock().unwrap_or_else(|broken| broken.into_inner());
        Ok(look(self.known_manifest(&mut known)?))
    }

    /// Changes the manifest, and flushes it and that the folder is listed. When that fails it is as before, and the same may be tried again.
    pub(super) fn change_manifest(&self, change: impl FnOnce(&mut Manifest)) -> Result<(), StoreError> {
        let mut known = self.manifest.lock().unwrap_or_else(|broken| broken.into_inner());
        let mut changed = self.known_manifest(&mut known)?.clone();
        change(&mut changed);
        changed.write(&self.folder, &self.room)?;
        self.folders.note(&self.folder, known.insert(changed));
        drop(known);
        self.folders.write()
    }

    /// The manifest; one that is not there is made, and is on the disk before anything that it has to list. A start on a full disk leaves the
    /// files of an earlier version without one: they are listed now, since those that are not listed are not served.
    fn known_manifest<'a>(&self, known: &'a mut Option<Manifest>) -> Result<&'a Manifest, StoreError> {
        if known.is_none() {
            let mut found = match Manifest::find(&self.folder)? {
                Found::Manifest(manifest) => {
                    self.folders.marker().renew(marker::HAS_MANIFESTS, &self.room)?;
                    return Ok(known.insert(*manifest));
                }
                Found::Nothing if !segment::any_named(&self.folder, &segment::numbers(&self.folder)?)? => {
                    Manifest::adopted(&self.folder, self.salt)?
                }
                Found::Nothing | Found::Lost => Manifest::in_place_of_a_lost_one(&self.folder, self.salt)?,
            };
            self.folders.marker().renew(marker::HAS_MANIFESTS, &self.room)?;
            found.write(&self.folder, &self.room)?;
            self.folders.note(&self.folder, &found);
            *known = Some(found);
        }
        Ok(known.get_or_insert_with(|| Manifest::new(self.salt)))
    }

    /// Notes how far the segment that is open was flushed.
    fn note_flushed(&self, file: &mut FlushedFile, current: &Current, is_last: bool) {
        let end = FlushedEnd { id: current.id, number: current.number, end: current.flushed };
        if is_last { file.note_for_good(&self.folder, end) } else { file.note(&self.folder, end) }
    }

    /// Seals a segment that is large enough; true when it did.
    pub(super) fn rotate(&self, files: &mut Files) -> bool {
        let Some(current) = &files.current else { return false };
        if current.length < self.settings.fold_bytes {
            return false;
        }
        let sealed = self.seal(files);
        if let Err(error) = &sealed {
            tracing::warn!(map = self.name, %error, "a part of the log is left without its seal");
        }
        sealed.is_ok()
    }

    /// Seals what is open. When that fails nothing more is written to it: it may have its seal, or half of it.
    pub(super) fn seal(&self, files: &mut Files) -> Result<(), StoreError> {
        let Files { current: open, flushed, .. } = files;
        let Some(current) = open else { return Ok(()) };
        let not_sealed = |current: &Current, problem: &StoreError| StoreError::NotSealed {
            map: self.name.clone(),
            problem: problem.to_string(),
            is_flushed: current.is_flushed(),
        };
        if let Some(problem) = &current.problem {
            return Err(not_sealed(current, problem));
        }
        let sealed = self.room.write(&mut current.file, &segment::seal(self.salt));
        if let Err(error) = sealed.and_then(|()| self.room.flush(&current.file)) {
            let problem = StoreError::io("seal", &current.path, &error);
            let error = not_sealed(current, &problem);
            current.problem = Some(problem);
            return Err(error);
        }
        // Without the seal: one that is damaged takes nothing away.
        current.flushed = current.length;
        self.note_flushed(flushed, current, true);
        *open = None;
        Ok(())
    }

    /// Leaves a segment that nothing more is to be written to. What was not flushed of it is to be written once more, if it still reads as
    /// it was written: of a flush that failed the system may keep nothing.
    fn leave(&self, files: &mut Files) -> Result<(), StoreError> {
        let Some(current) = files.current.as_mut().filter(|current| current.problem.is_some()) else {
            return Ok(());
        };
        let failed = |error: std::io::Error| StoreError::io("read back", &current.path, &error);
        let mut again = vec![0; (current.length - current.flushed) as usize];
        current.file.seek(SeekFrom::Start(current.flushed)).map_err(failed)?;
        current.file.read_exact(&mut again).map_err(failed)?;
        let mut frames = Frames::new(&again, self.salt, 0);
        if !frames.all(|(_, found)| matches!(found, frame::Found::Whole(_))) {
            return Err(failed(std::io::Error::other("what was not flushed is lost")));
        }
        files.left.push((current.number, current.flushed));
        files.repeats |= !again.is_empty();
        again.append(&mut files.unwritten);
        files.unwritten = again;
        files.current = None;
        Ok(())
    }
}
