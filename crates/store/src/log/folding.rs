//! Folds: what sealed segments say goes into the snapshot, and the segments go.
//!
//! Run on stage `maintenance`, one at a time for a map. What is folded twice does no harm, so a fold can be left at any moment.

use super::Log;
use crate::error::StoreError;
use crate::folder;
use crate::overlay::LogState;
use crate::segment;
use crate::shelf::Shelf;
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

    fn fold(&self) -> Result<(), StoreError> {
        let _lock = fold_lock(&self.folder)?;
        // Listed while none can be sealed or begun: what is behind the open one would be folded before it.
        let (open, all) = {
            let files = self.lock_files();
            let open = files.current.as_ref().map(|current| current.path.clone());
            (open, segment::numbers(&self.folder)?)
        };
        let sealed = all.into_iter().take_while(|number| Some(segment::path(&self.folder, *number)) != open);
        for number in sealed {
            let state = LogState::read(&self.folder, &[number])?;
            if let Some(damage) = state.damage.first() {
                self.may_fold.store(false, Ordering::Release);
                return Err(StoreError::Damaged { map: self.name.clone(), damage: damage.clone() });
            }
            if state.open_end.is_some() {
                // Begun after we looked, or left by a seal that failed.
                return Ok(());
            }
            for (shelf, overlay) in Shelf::all(&self.folder).zip(&state.shelves) {
                // What is folded already does no harm when it is folded again.
                if self.lock().closed {
                    return Ok(());
                }
                shelf.fold(&self.name, overlay).inspect_err(|error| {
                    if matches!(error, StoreError::Damaged { .. }) {
                        self.may_fold.store(false, Ordering::Release);
                    }
                })?;
            }
            let path = segment::path(&self.folder, number);
            std::fs::remove_file(&path).map_err(|error| StoreError::io("remove", &path, &error))?;
            folder::sync_parent(&path)?;
        }
        Ok(())
    }
}

/// Holds off folds of a map, also those of another process, as long as it lives.
pub(crate) fn fold_lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join("fold.lock");
    let locked = OpenOptions::new().write(true).create(true).truncate(false).open(&path).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|error| StoreError::io("lock", &path, &error))
}
