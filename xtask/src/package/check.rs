//! The step `package` of `verify`: a package from the build of the tests, unpacked, and compared
//! with what its parts say of each other.

use super::deb::{SCRIPTS, SETTINGS, members};
use super::{Made, folder::Folder, make, output};
use crate::demo;
use crate::workspace::Workspace;
use std::collections::BTreeSet;
use std::path::Path;

/// The effort of gzip: little, since the binary of the tests is large.
const QUICK: u8 = 1;

/// The path of the unit of systemd in the package.
const UNIT: &str = "/usr/lib/systemd/system/filbert.service";

/// Makes the packages of the build of the tests, and looks at them.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    demo::build().run(workspace)?;
    let out = Folder::fresh(&workspace.target().join("package-check"))?;
    let made = make(workspace, &workspace.target().join("debug/filbert"), out.path(), QUICK)?;
    examine(workspace, &made, out.path())?;
    out.remove()
}

/// Unpacks what was made, below a folder, and compares what its parts say of each other.
pub(super) fn examine(workspace: &Workspace, made: &Made, below: &Path) -> Result<(), String> {
    let scratch = Folder::fresh(&below.join(".filbert-package-examined"))?;
    let unpacked = Folder::fresh(&scratch.path().join("archive"))?;
    output(workspace, Path::new("tar"), &["-xzf", &made.archive.to_string_lossy()], unpacked.path())?;
    archive(workspace, &unpacked.path().join(&made.name))?;
    let deb = std::fs::read(&made.deb)
        .map_err(|error| format!("{} cannot be read: {error}", made.deb.display()))?;
    let files = debian(workspace, &deb, &scratch)?;
    if let Some(listed) = listed_by_dpkg(workspace, &made.deb)? {
        let missing: Vec<&String> = files.iter().filter(|file| !listed.contains(*file)).collect();
        if !missing.is_empty() {
            return Err(format!("package: dpkg-deb does not see {missing:?}"));
        }
    }
    println!("   an archive that runs, and {} files in a Debian package whose unit finds them", files.len());
    scratch.remove()
}

/// Looks that the archive is complete, and that its binary takes its settings.
fn archive(workspace: &Workspace, folder: &Path) -> Result<(), String> {
    let files = Folder::at(folder).files()?;
    let expected =
        ["README.md", "LICENSE", "THIRD-PARTY.txt", "filbert.spdx.json", "filbert.service", "Dockerfile"];
    let generated =
        ["completions/filbert", "completions/_filbert", "completions/filbert.fish", "man/filbert.1"];
    for file in expected.into_iter().chain(generated) {
        let size = std::fs::metadata(folder.join(file)).map_or(0, |file| file.len());
        if size == 0 {
            return Err(format!("package: the archive lacks {file}; it has {}", files.join(", ")));
        }
    }
    let image = std::fs::read_to_string(folder.join("Dockerfile")).unwrap_or_default();
    if let Some(lacking) = lacking_for_the_image(&image, &files) {
        return Err(format!("package: the Dockerfile copies {lacking}, which is not in the archive"));
    }
    for settings in ["filbert.toml", "filbert.example.toml"] {
        output(workspace, &folder.join("filbert"), &["config", "check", settings], folder)?;
    }
    Ok(())
}

/// Finds a file that the image takes from the unpacked archive, which it calls `/filbert`, and that
/// is not there.
fn lacking_for_the_image<'a>(dockerfile: &'a str, files: &[String]) -> Option<&'a str> {
    let copies = dockerfile.lines().filter(|line| line.starts_with("COPY "));
    let copied = copies.flat_map(|line| line.split(' ')).filter_map(|word| word.strip_prefix("/filbert/"));
    copied.into_iter().find(|copied| !files.iter().any(|file| file == copied))
}

/// Looks that the Debian package is complete and that its unit, scripts and settings agree; lists
/// its files.
fn debian(workspace: &Workspace, deb: &[u8], out: &Folder) -> Result<BTreeSet<String>, String> {
    let members = members(deb)?;
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    if names != ["debian-binary", "control.tar.gz", "data.tar.gz"] {
        return Err(format!("package: dpkg wants other members than {names:?}"));
    }
    let mut files = BTreeSet::new();
    for (name, content) in &members[1..] {
        let folder = Folder::fresh(&out.path().join(name.trim_end_matches(".tar.gz")))?;
        out.write(name, content)?;
        output(
            workspace,
            Path::new("tar"),
            &["-xzf", &out.path().join(name).to_string_lossy()],
            folder.path(),
        )?;
        if *name == "data.tar.gz" {
            files = folder.files()?.into_iter().map(|file| format!("/{file}")).collect();
        }
    }
    let read = |path: &str| {
        std::fs::read_to_string(out.path().join(path))
            .map_err(|error| format!("{path} cannot be read: {error}"))
    };
    let control = out.path().join("control");
    for script in SCRIPTS {
        output(workspace, Path::new("sh"), &["-n", script], &control)?;
    }
    if read("control/conffiles")?.trim() != SETTINGS || !files.contains(SETTINGS) {
        return Err(format!("package: {SETTINGS} is not what an upgrade leaves alone"));
    }
    let sums = control.join("md5sums");
    output(
        workspace,
        Path::new("md5sum"),
        &["--quiet", "-c", &sums.to_string_lossy()],
        &out.path().join("data"),
    )?;
    let (unit, settings) = (read(&format!("data{UNIT}"))?, read(&format!("data{SETTINGS}"))?);
    disagreements(&unit, &files, &read("control/postinst")?, &settings)
        .map_or(Ok(files), |problem| Err(format!("package: {problem}")))
}

/// Lists the files as dpkg sees them; `None` without dpkg.
fn listed_by_dpkg(workspace: &Workspace, deb: &Path) -> Result<Option<BTreeSet<String>>, String> {
    let deb = deb.to_string_lossy();
    if workspace.command("dpkg-deb").arg("--version").output().is_err() {
        return Ok(None);
    }
    let listed = output(workspace, Path::new("dpkg-deb"), &["-c", &deb], workspace.root())?;
    let path =
        |line: &str| line.split_whitespace().last().map(|path| path.trim_start_matches('.').to_owned());
    Ok(Some(String::from_utf8_lossy(&listed).lines().filter_map(path).collect()))
}

/// Compares the unit with the files, the script that makes its user, and the settings; the first
/// thing that does not fit.
fn disagreements(unit: &str, files: &BTreeSet<String>, postinst: &str, settings: &str) -> Option<String> {
    let directive = |name: &str| unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    for name in ["ExecStartPre", "ExecStart"] {
        let Some(line) = directive(name) else { return Some(format!("the unit has no {name}")) };
        for path in line.split(' ').filter(|word| word.starts_with('/')) {
            if !files.contains(path) {
                return Some(format!("{name} of the unit names {path}, which is not in the package"));
            }
        }
    }
    let user = directive("User").unwrap_or_default();
    if user.is_empty()
        || !postinst
            .lines()
            .any(|line| line.trim().starts_with("useradd") && line.ends_with(&format!(" {user}")))
    {
        return Some(format!("postinst does not make the user {user:?} of the unit"));
    }
    let data = format!("/var/lib/{}", directive("StateDirectory").unwrap_or_default());
    let is_kept = settings.lines().any(|line| line == format!("data_directory = \"{data}\""));
    if !is_kept || directive("WorkingDirectory") != Some(&data) || !postinst.contains(&data) {
        return Some(format!(
            "the unit may write to {data}, and the settings or postinst name another folder"
        ));
    }
    (directive("Type") != Some("notify")).then(|| "the unit does not wait until the member serves".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_takes_only_what_the_archive_has() {
        let dockerfile = Workspace::find().unwrap().read("packaging/Dockerfile").unwrap();
        let mut files = ["filbert", "filbert.toml", "LICENSE", "THIRD-PARTY.txt", "filbert.spdx.json"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(lacking_for_the_image(&dockerfile, &files), None);
        files.remove(3);
        assert_eq!(lacking_for_the_image(&dockerfile, &files), Some("THIRD-PARTY.txt"));
    }

    #[test]
    fn a_unit_that_does_not_fit_its_package_is_found() {
        let workspace = Workspace::find().unwrap();
        let read = |path: &str| workspace.read(path).unwrap();
        let (unit, settings) = (read("packaging/filbert.service"), read("packaging/filbert.toml"));
        let postinst = read("packaging/deb/postinst");
        let files: BTreeSet<String> = ["/usr/bin/filbert", SETTINGS].map(str::to_owned).into();
        assert_eq!(disagreements(&unit, &files, &postinst, &settings), None);
        for (was, is, word) in [
            ("=/usr/bin/filbert start", "=/usr/local/bin/filbert start", "/usr/local/bin/filbert"),
            ("ExecStart=", "ExecStop=", "no ExecStart"),
            ("--config /etc/filbert/", "--config /etc/", "/etc/filbert.toml"),
            ("User=filbert", "User=nobody", "nobody"),
            ("StateDirectory=filbert", "StateDirectory=other", "/var/lib/other"),
            ("Type=notify", "Type=simple", "serves"),
        ] {
            let changed = unit.replace(was, is);
            assert_ne!(changed, unit, "{was}");
            let found = disagreements(&changed, &files, &postinst, &settings).unwrap_or_default();
            assert!(found.contains(word), "{was}: {found}");
        }
        let moved = settings.replace("/var/lib/filbert", "filbert-data");
        assert!(disagreements(&unit, &files, &postinst, &moved).is_some());
    }
}
