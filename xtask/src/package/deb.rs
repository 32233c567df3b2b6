//! The Debian package: an `ar` archive of a version, of what dpkg has to know, and of the files.

use super::archive::{completion_name, pack, time};
use super::binary::Binary;
use super::folder::Folder;
use super::licences::Documents;
use super::output;
use super::pages::Pages;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// The settings, which stay as the administrator left them.
pub(super) const SETTINGS: &str = "/etc/filbert/filbert.toml";

/// The scripts that dpkg runs before and after it unpacks and removes.
pub(super) const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

const MAGIC: &[u8] = b"!<arch>\n";

/// Makes the package; gives its path.
pub(super) fn make(
    workspace: &Workspace,
    binary: &Binary,
    pages: &Pages,
    documents: &Documents,
    out: &Path,
    effort: u8,
) -> Result<PathBuf, String> {
    let data = Folder::fresh(&out.join("scratch/data"))?;
    fill(&data, workspace, binary, pages, documents)?;
    let control = Folder::fresh(&out.join("scratch/control"))?;
    let files = data.files()?;
    let installed: u64 =
        files.iter().map(|file| std::fs::metadata(data.path().join(file)).map_or(0, |file| file.len())).sum();
    control
        .write("control", control_text(binary, machine(std::env::consts::ARCH)?, installed.div_ceil(1024)))?;
    control.write("conffiles", format!("{SETTINGS}\n"))?;
    let sums: Vec<&str> = files.iter().map(String::as_str).filter(|file| !file.starts_with("etc/")).collect();
    control.write("md5sums", output(workspace, Path::new("md5sum"), &sums, data.path())?)?;
    for script in SCRIPTS {
        control.write_program(script, workspace.read(&format!("packaging/deb/{script}"))?)?;
    }
    let mut members = vec![("debian-binary", b"2.0\n".to_vec())];
    for (name, folder) in [("control.tar.gz", &control), ("data.tar.gz", &data)] {
        let packed = out.join(super::SCRATCH).join(name);
        pack(workspace, folder.path(), &["."], &packed, effort)?;
        members
            .push((name, std::fs::read(&packed).map_err(|error| format!("{name} cannot be read: {error}"))?));
    }
    let path = out.join(format!("filbert_{}_{}.deb", binary.version, machine(std::env::consts::ARCH)?));
    std::fs::write(&path, ar(&members, time(workspace)))
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    Ok(path)
}

/// Puts the files where Debian wants them.
fn fill(
    data: &Folder,
    workspace: &Workspace,
    binary: &Binary,
    pages: &Pages,
    documents: &Documents,
) -> Result<(), String> {
    data.copy_program("usr/bin/filbert", &binary.path)?;
    data.write(SETTINGS.trim_start_matches('/'), workspace.read("packaging/filbert.toml")?)?;
    data.write("usr/lib/systemd/system/filbert.service", workspace.read("packaging/filbert.service")?)?;
    for (shell, script) in &pages.completions {
        let folder = match *shell {
            "zsh" => "zsh/vendor-completions",
            "fish" => "fish/vendor_completions.d",
            _ => "bash-completion/completions",
        };
        data.write(&format!("usr/share/{folder}/{}", completion_name(shell)), script)?;
    }
    let docs = "usr/share/doc/filbert";
    data.write(&format!("{docs}/copyright"), copyright(&workspace.read("LICENSE")?))?;
    data.write(&format!("{docs}/changelog"), workspace.read("CHANGELOG.md")?)?;
    data.write(&format!("{docs}/filbert.example.toml"), &pages.settings)?;
    data.write(&format!("{docs}/filbert.spdx.json"), &documents.spdx)?;
    data.write(&format!("{docs}/THIRD-PARTY.txt"), &documents.third_parties)?;
    let mut large = vec![format!("{docs}/changelog"), format!("{docs}/THIRD-PARTY.txt")];
    for (page, text) in &pages.manual {
        let page = format!("usr/share/man/man1/{page}");
        data.write(&page, text)?;
        large.push(page);
    }
    let words: Vec<&str> = ["-n", "-9"].into_iter().chain(large.iter().map(String::as_str)).collect();
    output(workspace, Path::new("gzip"), &words, data.path()).map(drop)
}

/// Gives Debian's name for a machine.
fn machine(arch: &str) -> Result<&'static str, String> {
    match arch {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        "riscv64" => Ok("riscv64"),
        _ => Err(format!(
            "package: Debian's name for {arch} is not known here; add it to xtask/src/package/deb.rs"
        )),
    }
}

fn control_text(binary: &Binary, machine: &str, kilobytes: u64) -> String {
    let libgcc = if binary.needs_libgcc { ", libgcc-s1" } else { "" };
    format!(
        "\
Package: filbert
Version: {}
Architecture: {machine}
Maintainer: The Filbert project <maintainers@filbert.invalid>
Installed-Size: {kilobytes}
Depends: libc6 (>= {}){libgcc}, passwd
Section: database
Priority: optional
Description: in-memory data platform
 A data grid for the official Hazelcast clients, SQL over maps and files for
 psql and the drivers of PostgreSQL, streaming dataflow, and OLAP cubes, in
 one binary. This package has the command line and a service of systemd.
",
        binary.version, binary.c_library
    )
}

fn copyright(licence: &str) -> String {
    format!(
        "Filbert is under the Apache License 2.0, which stands below. The licences of what it is built from stand in\n\
         THIRD-PARTY.txt, a list for programs in filbert.spdx.json.\n\n{licence}"
    )
}

/// Writes an archive of the format of `ar`, as dpkg wants it: short names, plain files, owned by
/// root.
fn ar(members: &[(&str, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    for (name, content) in members {
        let head = format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", content.len());
        debug_assert_eq!(head.len(), 60, "{name} is too long");
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(content);
        if content.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

/// Reads such an archive: the names of its members and what is in them.
pub(super) fn members(archive: &[u8]) -> Result<Vec<(String, &[u8])>, String> {
    let mut rest = archive.strip_prefix(MAGIC).ok_or("it does not begin as an archive of ar")?;
    let mut members = Vec::new();
    while !rest.is_empty() {
        let (head, body) = rest.split_at_checked(60).ok_or("it ends within the head of a member")?;
        let field = |from: usize, to: usize| String::from_utf8_lossy(&head[from..to]).trim().to_owned();
        let length: usize = field(48, 58).parse().map_err(|_| "a member has no length")?;
        let (content, behind) = body.split_at_checked(length).ok_or("it ends within a member")?;
        members.push((field(0, 16), content));
        rest = behind.get(length % 2..).unwrap_or_default();
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_odd_lengths_are_found_again() {
        let written = [("debian-binary", b"2.0\n".to_vec()), ("a", b"odd".to_vec()), ("b", Vec::new())];
        let archive = ar(&written, 1_700_000_000);
        let read = members(&archive).unwrap();
        let read: Vec<(&str, Vec<u8>)> =
            read.iter().map(|(name, content)| (name.as_str(), content.to_vec())).collect();
        assert_eq!(read, written);
        assert!(members(b"PK").is_err() && members(&archive[..archive.len() - 1]).is_err());
        assert!(members(&archive[..70]).is_err());
    }

    #[test]
    fn dpkg_is_told_what_the_binary_needs() {
        let binary = Binary {
            path: "filbert".into(),
            version: "0.1.0".to_owned(),
            c_library: "2.34".to_owned(),
            needs_libgcc: true,
        };
        let text = control_text(&binary, machine("x86_64").unwrap(), 100);
        for line in
            ["Version: 0.1.0\n", "Architecture: amd64\n", "Depends: libc6 (>= 2.34), libgcc-s1, passwd\n"]
        {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with(".\n") && !text.contains("\n\n"), "a blank line would end the paragraph");
        assert!(machine("z80").unwrap_err().contains("z80"));
    }
}
