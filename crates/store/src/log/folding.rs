//! Folds: what sealed segments say goes into the snapshot, and the segments go.
//!
//! Run on stage `maintenance`, one at a time for a map. What is folded twice does no harm, so a fold can be left at any moment.

use super::Log;
use crate::error::StoreError;
use crate::folder;
use crate::overlay::{LogFiles, LogState};
use crate::segment;
use crate::shelf::{Shelf, Stamp};
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Log {
    /// Folds sealed segments into the snapshot, unless that goes on already.
    pub(super) fn start_fold(self: &Arc<Self>) {
        if !self.may_fold.load(Ordering::Acquire) || self.folds.swap(true, Ordering::AcqRel) {
            return;
        }
        let log = Arc::clone(self);
        let fold = move || {
            let folded = log.fold();
            log.folds.store(false, Ordering::Release);
            if let Err(error) = folded {
                tracing::warn!(map = log.name, %error, "the log is not folded; it is tried again when it has grown");
            }
        };
        match self.stages.maintenance().submit("store.fold", fold) {
            Ok(folds) => folds.detach(),
            Err(_) => self.folds.store(false, Ordering::Release),
        }
    }

    /// Waits for a fold that changes the snapshot: it looks at each shelf whether the log is closed. One that waits for another process,
    /// a backup that may be stopped, is not waited for: it changes nothing after the close.
    pub(super) fn wait_for_fold(&self) {
        let waited = self.folded.wait_while(self.lock(), |state| state.folding);
        drop(waited);
    }

    fn fold(&self) -> Result<(), StoreError> {
        let _lock = fold_lock(&self.folder)?;
        let mut state = self.lock();
        if state.closed {
            return Ok(());
        }
        state.folding = true;
        drop(state);
        let _folding = Folding { log: self };
        // Listed while none can be sealed or begun: what is behind the open one would be folded before it.
        let (unsettled, all) = {
            let files = self.lock_files();
            (files.first_unsettled(), segment::numbers(&self.folder)?)
        };
        let left = segment::all_left(&self.folder, &all)?;
        let sealed = all.into_iter().take_while(|number| unsettled.is_none_or(|first| *number < first));
        for number in sealed {
            let (id, first) = self.with_manifest(|manifest| (manifest.id, manifest.first))?;
            let path = segment::path(&self.folder, number);
            let remove = || {
                std::fs::remove_file(&path).map_err(|error| StoreError::io("remove", &path, &error))?;
                folder::sync_parent(&path)
            };
            if number < first {
                // It is folded, and the process ended before it was removed.
                remove()?;
                continue;
            }
            let (folder, numbers) = (&*self.folder, &[number][..]);
            let files = LogFiles { folder, numbers, left: &left, manifest: None, flushed: None };
            let state = LogState::read(&files)?;
            if let Some(damage) = state.damage.first() {
                self.may_fold.store(false, Ordering::Release);
                return Err(StoreError::Damaged { map: self.name.clone(), damage: damage.clone() });
            }
            if state.open_end.is_some() {
                // Begun after we looked, or left and no other one says so yet.
                return Ok(());
            }
            let mut folded = Vec::new();
            for (shelf, overlay) in Shelf::all(&self.folder).zip(&state.shelves) {
                // What is folded already does no harm when it is folded again.
                if self.lock().closed {
                    return Ok(());
                }
                let stamp = Stamp { id, folded: number };
                shelf.fold(&self.name, overlay, stamp, &self.room).inspect_err(|error| {
                    if matches!(error, StoreError::Damaged { .. }) {
                        self.may_fold.store(false, Ordering::Release);
                    }
                })?;
                if !overlay.is_empty() {
                    folded.push(shelf.number());
                }
            }
            self.change_manifest(|manifest| manifest.folded(number, &folded))?;
            remove()?;
        }
        Ok(())
    }
}

/// A fold that changes the snapshot.
struct Folding<'a> {
    log: &'a Log,
}

impl Drop for Folding<'_> {
    fn drop(&mut self) {
        self.log.lock().folding = false;
        self.log.folded.notify_all();
    }
}

/// Holds off folds of a map, also those of another process, as long as it lives.
pub(crate) fn fold_lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join("fold.lock");
    // A command of another user, such as a backup by root, must not leave a file that the member cannot open.
    let opened = File::open(&path)
        .or_else(|_| OpenOptions::new().write(true).create(true).truncate(false).open(&path));
    let locked = opened.and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|error| StoreError::io("lock", &path, &error))
}
