//! The archive: a folder that runs where it is unpacked, and has what an administrator puts
//! elsewhere.

use super::binary::Binary;
use super::folder::Folder;
use super::licences::Documents;
use super::output;
use super::pages::Pages;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// Files of the workspace that go into the archive under these names.
const COPIED: [(&str, &str); 6] = [
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE", "LICENSE"),
    ("packaging/filbert.toml", "filbert.toml"),
    ("packaging/filbert.service", "filbert.service"),
    ("packaging/Dockerfile", "Dockerfile"),
];

/// Makes the archive; gives its path and the name of the folder in it.
pub(super) fn make(
    workspace: &Workspace,
    binary: &Binary,
    pages: &Pages,
    documents: &Documents,
    out: &Path,
    effort: u8,
) -> Result<(PathBuf, String), String> {
    let name = format!("filbert-{}-{}-linux", binary.version, std::env::consts::ARCH);
    let folder = Folder::fresh(&out.join(super::SCRATCH).join(&name))?;
    folder.copy_program("filbert", &binary.path)?;
    for (from, to) in COPIED {
        folder.write(to, workspace.read(from)?)?;
    }
    for page in workspace.files()?.iter().filter(|file| file.starts_with("docs/")) {
        let content = std::fs::read(workspace.root().join(page));
        folder.write(page, content.map_err(|error| format!("{page} cannot be read: {error}"))?)?;
    }
    folder.write("filbert.example.toml", &pages.settings)?;
    folder.write("filbert.spdx.json", &documents.spdx)?;
    folder.write("THIRD-PARTY.txt", &documents.third_parties)?;
    for (shell, script) in &pages.completions {
        folder.write(&format!("completions/{}", completion_name(shell)), script)?;
    }
    for (page, text) in &pages.manual {
        folder.write(&format!("man/{page}"), text)?;
    }
    let path = out.join(format!("{name}.tar.gz"));
    pack(workspace, &out.join(super::SCRATCH), &[&name], &path, effort)?;
    Ok((path, name))
}

/// Names the file with completions as its shell wants it.
pub(super) fn completion_name(shell: &str) -> String {
    match shell {
        "zsh" => "_filbert".to_owned(),
        "fish" => "filbert.fish".to_owned(),
        _ => "filbert".to_owned(),
    }
}

/// The time of the commit, in seconds since 1970, or what `SOURCE_DATE_EPOCH` says: a package does
/// not depend on when it was made.
pub(super) fn time(workspace: &Workspace) -> u64 {
    let said = std::env::var("SOURCE_DATE_EPOCH").ok().or_else(|| {
        let log = workspace.command("git").args(["log", "-1", "--format=%ct"]).output().ok()?;
        Some(String::from_utf8_lossy(&log.stdout).into_owned())
    });
    said.and_then(|said| said.trim().parse().ok()).unwrap_or(0)
}

/// Packs parts of a folder into a compressed archive in which nothing depends on who made it.
pub(super) fn pack(
    workspace: &Workspace,
    folder: &Path,
    parts: &[&str],
    to: &Path,
    effort: u8,
) -> Result<(), String> {
    let tar = to.with_extension("");
    let (time, name) = (format!("--mtime=@{}", time(workspace)), tar.to_string_lossy().into_owned());
    let fixed =
        ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu", &time, "-cf", &name];
    output(workspace, Path::new("tar"), &[&fixed[..], parts].concat(), folder)?;
    output(workspace, Path::new("gzip"), &["-n", "-f", &format!("-{effort}"), &name], folder)?;
    let packed = tar.with_extension("tar.gz");
    std::fs::rename(&packed, to)
        .map_err(|error| format!("{} cannot be named {}: {error}", packed.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_does_not_depend_on_when_its_files_were_written() {
        let workspace = Workspace::find().unwrap();
        let root = std::env::temp_dir().join(format!("filbert-archive-{}", std::process::id()));
        let pack_anew = |seconds: u64| {
            let folder = Folder::fresh(&root.join("files")).unwrap();
            folder.write("b/text", "content").unwrap();
            folder.write_program("a", "content").unwrap();
            let written = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            std::fs::File::open(root.join("files/a")).unwrap().set_modified(written).unwrap();
            let to = root.join("files.tar.gz");
            pack(&workspace, &root, &["files"], &to, 1).unwrap();
            std::fs::read(to).unwrap()
        };
        let (first, second) = (pack_anew(1_000_000), pack_anew(2_000_000));
        std::fs::remove_dir_all(&root).unwrap();
        assert!(first == second && !first.is_empty());
    }
}
