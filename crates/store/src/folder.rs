//! Folders: made, listed, flushed; and how the name of a map becomes the name of one.

use crate::error::StoreError;
use crate::room::Room;
use std::fs::{DirBuilder, File};
use std::path::{Path, PathBuf};

/// Makes a folder that only its owner may look into, and those above it; flushes that they are there.
pub(crate) fn make(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.is_dir()).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| StoreError::io("make the folder", folder, &error))?;
    // Each is an entry of the one above it.
    missing.into_iter().try_for_each(sync_parent)
}

/// Removes the folder of a map: under another name first, which is none of a map, so that a crash leaves all of it or nothing.
pub(crate) fn remove(folder: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::io("remove", folder, &error);
    let mut gone = folder.as_os_str().to_owned();
    // No name of a map is written so.
    gone.push(".%gone");
    let gone = Path::new(&gone);
    if gone.exists() {
        std::fs::remove_dir_all(gone).map_err(failed)?;
    }
    rename(folder, gone)?;
    std::fs::remove_dir_all(gone).map_err(failed)
}

/// What the name of a folder ends with that stands aside while another one takes its place. No name of a map has a dot.
pub(crate) const ASIDE: &str = ".old";

fn aside(home: &Path) -> PathBuf {
    let mut old = home.as_os_str().to_owned();
    old.push(ASIDE);
    old.into()
}

/// Puts the folder `new` in the place of `home`. The one that is there stands aside until that is done; after a crash [`settle`] goes on.
pub(crate) fn put_in_place(new: &Path, home: &Path) -> Result<(), StoreError> {
    if home.exists() {
        rename(home, &aside(home))?;
    }
    rename(new, home)?;
    settle(home)
}

/// Finishes what a crash left of [`put_in_place`], or undoes it when nothing took the place of the one that stands aside.
pub(crate) fn settle(home: &Path) -> Result<(), StoreError> {
    let old = aside(home);
    match (old.is_dir(), home.exists()) {
        (false, _) => Ok(()),
        (true, true) => remove(&old),
        (true, false) => rename(&old, home),
    }
}

/// Where a folder is for those who only look: it may stand aside after a crash.
pub(crate) fn or_aside(home: PathBuf) -> PathBuf {
    let old = aside(&home);
    if !home.exists() && old.is_dir() { old } else { home }
}

/// Renames a folder, and flushes that.
fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    #[cfg(test)]
    crash::step(from)?;
    std::fs::rename(from, to).map_err(|error| StoreError::io("rename", from, &error))?;
    sync_parent(to)
}

/// Ends what a thread does before one of its renames, as a kill would.
#[cfg(test)]
pub(crate) mod crash {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static RENAMES_LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// So many renames of folders are done by this thread, and those after them fail; all are done with `None`.
    pub(crate) fn after(renames: Option<usize>) {
        RENAMES_LEFT.set(renames);
    }

    pub(super) fn step(from: &Path) -> Result<(), StoreError> {
        match RENAMES_LEFT.get() {
            None => Ok(()),
            Some(0) => Err(StoreError::io("rename", from, &std::io::Error::other("killed by the test"))),
            Some(left) => {
                RENAMES_LEFT.set(Some(left - 1));
                Ok(())
            }
        }
    }
}

/// Flushes the folder that a file is in: that it is there, or is not any more.
pub(crate) fn sync_parent(file: &Path) -> Result<(), StoreError> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let synced = File::open(parent).and_then(|folder| folder.sync_all());
    synced.map_err(|error| StoreError::io("flush the folder", parent, &error))
}

/// Replaces a file by one with these bytes: under another name first, so that there is always one of the two as a whole. The folder is not
/// flushed.
pub(crate) fn replace(file: &Path, bytes: &[u8], room: &Room) -> Result<(), StoreError> {
    let mut new = file.as_os_str().to_owned();
    new.push("-new");
    let new = Path::new(&new);
    let written = File::create(new).and_then(|mut file| {
        room.write(&mut file, bytes)?;
        file.sync_all()
    });
    written.map_err(|error| StoreError::io("write", new, &error))?;
    std::fs::rename(new, file).map_err(|error| StoreError::io("rename", new, &error))
}

/// The names of what is in a folder; none when it is not there.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let failed = |error: std::io::Error| StoreError::io("list the folder", folder, &error);
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(failed)?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

/// The name of a map as that of a folder: letters, digits, `-` and `_` as they are, every other byte as `%` and two digits.
pub(crate) fn of_map(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02x}");
        }
    }
    // A map without a name has a folder all the same.
    if out.is_empty() { "%".to_owned() } else { out }
}

/// The longest name of a map's folder: one of a file has 255 bytes, and a folder that is removed or restored has an ending for a while.
const LONGEST: usize = 240;

/// Refuses a map whose name is too long for a folder, unless it has one.
pub(crate) fn check_name(map: &str, folder: &Path) -> Result<(), StoreError> {
    let bytes = of_map(map).len();
    if bytes <= LONGEST || folder.is_dir() {
        return Ok(());
    }
    Err(StoreError::NameTooLong { map: map.to_owned(), bytes, most: LONGEST })
}

/// The map whose folder has that name; `None` when it is no such name.
pub(crate) fn map_of(folder: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(folder.len());
    let mut rest = folder.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        match first {
            b'%' if bytes.is_empty() && rest.is_empty() => {}
            b'%' => {
                let (digits, more) = rest.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = more;
            }
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok().filter(|name| of_map(name) == folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_folder_of_its_own() {
        for name in ["", "orders", "a/b", "..", "ä b", "%", "%2e", "A", "x.y"] {
            let folder = of_map(name);
            assert!(!folder.contains(['/', '.']), "{folder}");
            assert_eq!(map_of(&folder).as_deref(), Some(name));
        }
        for other in ["a.b", "%zz", "%2", "%41", "%2E"] {
            assert_eq!(map_of(other), None, "{other}");
        }
    }
}
