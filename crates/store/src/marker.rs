//! The marker of a data directory: the file that says what the folder is, and in which version.
//!
//! Version 2 has manifests, segments with a name, and definitions. A program that knows only version 1 would overlook them and serve what
//! is damaged or another's. So the marker says 2 before the first of them is written, and such a program refuses the folder. Version 3 has a
//! list of the folders, which counts from the moment that the marker says so: an earlier program would remove folders and leave them listed.

use crate::error::StoreError;
use crate::folder;
use crate::room::Room;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// The file's name.
pub(crate) const NAME: &str = "filbert-data";

/// What it says, by version, from the first one on.
const TEXTS: [&str; 3] = ["filbert data 1\n", "filbert data 2\n", "filbert data 3\n"];

/// What it says now.
pub(crate) const CURRENT: &str = TEXTS[2];

/// What it said before there were manifests.
#[cfg(test)]
pub(crate) const EARLIER: &str = TEXTS[0];

/// What it said before there was a list of the folders.
#[cfg(test)]
pub(crate) const WITHOUT_LIST: &str = TEXTS[1];

/// The version with manifests.
pub(crate) const HAS_MANIFESTS: usize = 2;

/// The version with a list of the folders.
pub(crate) const LISTS_FOLDERS: usize = 3;

/// The marker of a data directory that is open.
#[derive(Debug)]
pub(crate) struct Marker {
    path: PathBuf,
    /// What it says on the disk.
    version: Mutex<usize>,
}

impl Marker {
    /// Reads the marker of a folder; `None` when that is no data directory.
    pub(crate) fn find(directory: &Path) -> Option<Self> {
        let path = directory.join(NAME);
        let text = std::fs::read_to_string(&path).ok()?;
        let version = TEXTS.iter().position(|known| *known == text)? + 1;
        Some(Self { path, version: Mutex::new(version) })
    }

    /// Writes the marker of a folder that has none, and no list either.
    pub(crate) fn create(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(NAME);
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(TEXTS[HAS_MANIFESTS - 1].as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| StoreError::io("write", &path, &error))?;
        folder::sync_parent(&path)?;
        Ok(Self { path, version: Mutex::new(HAS_MANIFESTS) })
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.version.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// The version that it says.
    pub(crate) fn version(&self) -> usize {
        *self.lock()
    }

    /// Makes it say this version or a later one, on the disk: called before anything counts that an earlier version does not know.
    pub(crate) fn renew(&self, version: usize, room: &Room) -> Result<(), StoreError> {
        let mut says = self.lock();
        if *says < version {
            folder::replace(&self.path, TEXTS[version - 1].as_bytes(), room)?;
            folder::sync_parent(&self.path)?;
            *says = version;
        }
        Ok(())
    }
}
