//! The marker of a data directory: the file that says what the folder is, and in which version.
//!
//! Version 2 has manifests, segments with a name, and definitions. A program that knows only version 1 would overlook them and serve what
//! is damaged or another's. So the marker says 2 before the first of them is written, and such a program refuses the folder.

use crate::error::StoreError;
use crate::folder;
use crate::room::Room;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The file's name.
pub(crate) const NAME: &str = "filbert-data";

/// What it says.
pub(crate) const CURRENT: &str = "filbert data 2\n";

/// What it said before there were manifests.
pub(crate) const EARLIER: &str = "filbert data 1\n";

/// The marker of a data directory that is open.
#[derive(Debug)]
pub(crate) struct Marker {
    path: PathBuf,
    /// It says the current version, on the disk.
    is_current: Mutex<bool>,
}

impl Marker {
    /// Reads the marker of a folder; `None` when that is no data directory.
    pub(crate) fn find(directory: &Path) -> Option<Self> {
        let path = directory.join(NAME);
        let text = std::fs::read_to_string(&path).ok()?;
        let is_current = text == CURRENT;
        (is_current || text == EARLIER).then(|| Self { path, is_current: Mutex::new(is_current) })
    }

    /// Writes the marker of a folder that has none.
    pub(crate) fn create(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(NAME);
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(CURRENT.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| StoreError::io("write", &path, &error))?;
        folder::sync_parent(&path)?;
        Ok(Self { path, is_current: Mutex::new(true) })
    }

    /// Makes it say the current version, on the disk: called before anything is written that an earlier version does not know.
    pub(crate) fn renew(&self, room: &Room) -> Result<(), StoreError> {
        let mut is_current = self.is_current.lock().unwrap_or_else(|broken| broken.into_inner());
        if !*is_current {
            folder::replace(&self.path, CURRENT.as_bytes(), room)?;
            folder::sync_parent(&self.path)?;
            *is_current = true;
        }
        Ok(())
    }
}
