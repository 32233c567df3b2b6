//! `cargo xtask package`: what a stranger installs, made from one binary: an archive, a Debian
//! package and the files of a container image.
//!
//! The programs `tar`, `gzip`, `strip` and `md5sum` do what they are for; the two formats that need
//! none of them (`ar`, SPDX) are written here. The same commit and binary give the same bytes:
//! names are sorted, times are those of the commit.
//!
//! Rejected: tools such as cargo-deb. They would be one more thing to install before a release, and
//! hide what is in the package.

mod archive;
mod binary;
mod check;
mod deb;
mod dependencies;
mod folder;
mod licences;
mod pages;
mod spdx;

use crate::invocation::Invocation;
use crate::workspace::Workspace;
use binary::Binary;
use folder::Folder;
use std::path::{Path, PathBuf};

pub(crate) use check::check;

/// The folder, beside what is made, in which it is put together. It is made anew, so its name is one that nobody has for something else.
pub(crate) const SCRATCH: &str = ".filbert-package-scratch";

/// The effort of gzip for a release.
const BEST: u8 = 9;

/// The options of the chore.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    binary: Option<PathBuf>,
    out: Option<PathBuf>,
    help: bool,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut path =
                || words.next().map(PathBuf::from).ok_or_else(|| format!("package: {word} needs a path"));
            match word.as_str() {
                "--binary" => options.binary = Some(path()?),
                "--out" => options.out = Some(path()?),
                "--help" | "-h" => options.help = true,
                _ => {
                    return Err(format!(
                        "package: unknown option {word:?}; see `cargo xtask package --help`"
                    ));
                }
            }
        }
        Ok(options)
    }
}

const HELP: &str = "\
Makes what a stranger installs, in target/package: an archive, a Debian package, and a Dockerfile beside them.

Usage: cargo xtask package [--binary <path>] [--out <folder>]

  --binary <path>   packs this binary; without it `cargo build --release -p filbert` makes one
  --out <folder>    writes there instead of into target/package

  filbert-<version>-<machine>-linux.tar.gz   binary, settings, unit of systemd, completions, manual pages, docs, licences
  filbert_<version>_<machine>.deb            the same for Debian and what descends from it, with a user and a service
  Dockerfile                                 an image from the archive: docker build -t filbert target/package

Needs tar, gzip, md5sum and strip, which every machine that builds Rust on Linux has.
";

/// Runs the chore.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let options = Options::parse(words)?;
    if options.help {
        print!("{HELP}");
        return Ok(());
    }
    let workspace = Workspace::find()?;
    let here =
        std::env::current_dir().map_err(|error| format!("the current directory cannot be read: {error}"))?;
    let binary = match options.binary {
        Some(path) => here.join(path),
        None => {
            let build = Invocation::cargo("build --release -p filbert");
            println!("   {build}");
            build.run(&workspace)?;
            workspace.target().join("release/filbert")
        }
    };
    let out = options.out.map_or_else(|| workspace.target().join("package"), |out| here.join(out));
    let made = make(&workspace, &binary, &out, BEST)?;
    check::examine(&workspace, &made, &out)?;
    for path in made.files() {
        let size = std::fs::metadata(path).map_or(0, |file| file.len());
        println!("   {} ({:.1} MB)", path.display(), size as f64 / 1e6);
    }
    Ok(())
}

/// The files that were made.
#[derive(Debug)]
struct Made {
    archive: PathBuf,
    deb: PathBuf,
    dockerfile: PathBuf,
    /// The folder that the archive unpacks to.
    name: String,
}

impl Made {
    fn files(&self) -> [&Path; 3] {
        [&self.archive, &self.deb, &self.dockerfile]
    }
}

/// Makes everything from one binary.
fn make(workspace: &Workspace, binary: &Path, out: &Path, effort: u8) -> Result<Made, String> {
    let scratch = Folder::fresh(&out.join(SCRATCH))?;
    let binary = Binary::stripped(workspace, binary, &scratch.path().join("filbert"))?;
    let pages = pages::Pages::made_by(&binary, workspace, &scratch.path().join("pages"))?;
    let packages = dependencies::of_the_binary(workspace)?;
    let documents = licences::Documents {
        spdx: spdx::document(&packages, &binary.version, archive::time(workspace)),
        third_parties: licences::third_parties(&packages),
    };
    let (archive, name) = archive::make(workspace, &binary, &pages, &documents, out, effort)?;
    let deb = deb::make(workspace, &binary, &pages, &documents, out, effort)?;
    let dockerfile = out.join("Dockerfile");
    std::fs::write(&dockerfile, workspace.read("packaging/Dockerfile")?)
        .map_err(|error| format!("{} cannot be written: {error}", dockerfile.display()))?;
    scratch.remove()?;
    Ok(Made { archive, deb, dockerfile, name })
}

/// Runs a program that is part of every machine that builds, at a folder; its output.
fn output(workspace: &Workspace, program: &Path, words: &[&str], at: &Path) -> Result<Vec<u8>, String> {
    let mut command = workspace.command(program);
    command.args(words).current_dir(at).env("LC_ALL", "C");
    let shown = || format!("{} {}", program.display(), words.join(" "));
    let done = command.output().map_err(|error| format!("{} cannot be started: {error}", shown()))?;
    if done.status.success() {
        Ok(done.stdout)
    } else {
        Err(format!(
            "{} ended with {}: {}",
            shown(),
            done.status,
            String::from_utf8_lossy(&done.stderr).trim()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_paths() {
        let parse =
            |words: &str| Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let options = parse("--binary a/filbert --out b").unwrap();
        assert_eq!((options.binary, options.out), (Some("a/filbert".into()), Some("b".into())));
        assert!(parse("--out").unwrap_err().contains("needs a path"));
        assert!(parse("--deb").unwrap_err().contains("--help"));
        assert!(parse("-h").unwrap().help);
    }
}
