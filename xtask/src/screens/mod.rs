//! `cargo xtask screens`: the commands in the pages for users, really run, with what they print
//! below them, and pictures of terminals.
//!
//! A block of code of the kind `console` has commands behind a `$` and their output. The chore runs
//! each block in a folder with the sample files and writes the output anew; `verify` fails where a
//! page shows something else. Times differ from run to run: they are left out.
//!
//! Pictures of whole terminals show what is not the same twice: `verify` makes them too, looks at what is on them, and
//! that the ones in docs/pictures are such pictures.

mod console;
mod picture;
mod sessions;
mod terminal;

use crate::demo;
use crate::workspace::Workspace;
use console::Block;
use sessions::{Place, Shot};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The pages that are looked at.
const PAGES: [&str; 3] = ["README.md", "docs/start-analyst.md", "docs/start-risk.md"];

/// The pictures: a name, and the commands that are shown.
const PICTURES: [(&str, &[&str]); 2] = [
    (
        "sql",
        &["filbert sql \"SELECT city, sum(pieces) AS pieces, round(sum(price * pieces), 2) AS revenue\n  \
             FROM 'sales.csv' GROUP BY city ORDER BY revenue DESC\""],
    ),
    (
        "cube",
        &[
            "filbert cube --forest risk.toml --table trades.csv --measures var95 --by desk,ccy --totals desk,ccy",
        ],
    ),
];

/// The folder with the files that the commands read.
const SAMPLES: &str = "docs/samples";

const HELP: &str = "\
Runs the commands that the pages for users show, and writes their output and the pictures in docs/pictures anew:
of commands, and of the SQL shell, `filbert top`, a cube and the demo in terminals of 80x24 and 120x40.

Usage: cargo xtask screens [--binary <path>]

  --binary <path>   runs this binary; without it `cargo build --release -p filbert` makes one
";

/// Runs the chore.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let workspace = Workspace::find()?;
    let binary = match words {
        [] => {
            let build = crate::invocation::Invocation::cargo("build --release -p filbert");
            println!("   {build}");
            build.run(&workspace)?;
            workspace.target().join("release/filbert")
        }
        [option, path] if option == "--binary" => {
            std::path::absolute(path).map_err(|error| format!("{path}: {error}"))?
        }
        [word] if ["--help", "-h"].contains(&word.as_str()) => {
            print!("{HELP}");
            return Ok(());
        }
        _ => return Err("screens: unknown options; see `cargo xtask screens --help`".to_owned()),
    };
    let screens = Screens::new(&workspace, &binary)?;
    for (path, before, after) in screens.all()? {
        if before.as_deref() != Some(after.as_str()) {
            write(&workspace, &path, &after)?;
        }
    }
    // After the pages: what stands on them is of use also when a terminal does not show what it should.
    for shot in screens.shots()? {
        write(&workspace, &shot_path(&shot), &picture::of_screen(&shot.screen))?;
    }
    screens.end()
}

fn write(workspace: &Workspace, path: &str, text: &str) -> Result<(), String> {
    std::fs::write(workspace.root().join(path), text)
        .map_err(|error| format!("{path} cannot be written: {error}"))?;
    println!("   {path} written");
    Ok(())
}

/// The step of `verify`: every page shows what its commands print, and every picture can be made
/// and is there.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    demo::build().run(workspace)?;
    let screens = Screens::new(workspace, &workspace.target().join("debug/filbert"))?;
    let all = screens.all()?;
    let shots = screens.shots()?;
    screens.end()?;
    for shot in &shots {
        let path = shot_path(shot);
        let there = workspace.read(&path);
        there
            .and_then(|there| is_such(shot, &there))
            .map_err(|why| format!("{path} is no such picture: {why}; run `cargo xtask screens`"))?;
    }
    println!("   {} pictures of terminals can be made and are there", shots.len());
    let stale: Vec<&str> = all
        .iter()
        .filter(|(_, before, after)| before.as_ref() != Some(after))
        .map(|(path, ..)| path.as_str())
        .collect();
    if stale.is_empty() {
        println!("   {} pages and pictures show what their commands print", all.len());
        Ok(())
    } else {
        Err(format!("{}: not what the commands print; run `cargo xtask screens`", stale.join(", ")))
    }
}

/// The file of a picture, from the top of the workspace.
fn shot_path(shot: &Shot) -> String {
    format!("docs/pictures/{}.svg", shot.name)
}

/// Looks that a picture has the size of a terminal and shows what it is for. Figures differ from run to run.
fn is_such(shot: &Shot, there: &str) -> Result<(), String> {
    let size = |text: &str| text.split_once("\n").map(|(head, _)| head.to_owned());
    if size(there) != size(&picture::of_screen(&shot.screen)) {
        return Err("it has another size".to_owned());
    }
    match missing(there, shot.shows) {
        Some(missing) => Err(format!("{missing:?} is not on it")),
        None => Ok(()),
    }
}

/// Finds a text that is not on a picture.
fn missing<'a>(picture: &str, shows: &[&'a str]) -> Option<&'a str> {
    let lines: Vec<&str> = picture.lines().filter_map(picture::shown).collect();
    let is_missing = |part: &&&str| {
        let part = picture::escaped(part.trim());
        !lines.iter().any(|line| line.contains(&part))
    };
    shows.iter().find(is_missing).copied()
}

/// A file, its text as it is, and as it should be.
type Screen = (String, Option<String>, String);

/// A folder in which commands are run.
struct Screens<'a> {
    workspace: &'a Workspace,
    folder: PathBuf,
}

impl<'a> Screens<'a> {
    fn new(workspace: &'a Workspace, binary: &Path) -> Result<Self, String> {
        let folder = workspace.target().join("screens");
        let failed = |error| format!("{} cannot be made: {error}", folder.display());
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(failed)?;
        }
        std::fs::create_dir_all(folder.join("bin")).map_err(failed)?;
        std::os::unix::fs::symlink(binary, folder.join("bin/filbert")).map_err(failed)?;
        Ok(Self { workspace, folder })
    }

    fn end(self) -> Result<(), String> {
        std::fs::remove_dir_all(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))
    }

    /// Makes the pictures of terminals.
    fn shots(&self) -> Result<Vec<Shot>, String> {
        sessions::shots(&Place { folder: self.work("terminals")?, binary: self.folder.join("bin/filbert") })
    }

    fn all(&self) -> Result<Vec<Screen>, String> {
        let pages = PAGES.iter().map(|page| {
            let before = self.workspace.read(page)?;
            let after = self.page(page, &before)?;
            Ok((page.to_string(), Some(before), after))
        });
        let pictures = PICTURES.iter().map(|(name, commands)| {
            let path = format!("docs/pictures/{name}.svg");
            let work = self.work(name)?;
            let shown =
                commands.iter().map(|command| Ok((command.to_string(), self.output(command, &work)?)));
            let shown = shown.collect::<Result<Vec<_>, String>>()?;
            Ok((path.clone(), self.workspace.read(&path).ok(), picture::svg(&shown)))
        });
        pages.chain(pictures).collect()
    }

    /// A page with the output of its commands.
    fn page(&self, name: &str, text: &str) -> Result<String, String> {
        let work = self.work(&name.replace('/', "-"))?;
        console::rewritten(text, |block: &Block| {
            let written = block.commands.iter().map(|(command, _)| self.output(command, &work));
            written.collect()
        })
    }

    /// Makes a folder with copies of the samples.
    fn work(&self, name: &str) -> Result<PathBuf, String> {
        let work = self.folder.join(name);
        let failed = |error| format!("{} cannot be made: {error}", work.display());
        std::fs::create_dir_all(&work).map_err(failed)?;
        for entry in std::fs::read_dir(self.workspace.root().join(SAMPLES)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            std::fs::copy(entry.path(), work.join(entry.file_name())).map_err(failed)?;
        }
        Ok(work)
    }

    /// Runs a command and gives what it prints, whether it succeeds or not: a page may show a
    /// mistake.
    fn output(&self, command: &str, work: &Path) -> Result<String, String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let done = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(work)
            .env("PATH", format!("{}:{path}", self.folder.join("bin").display()))
            .env("HOME", work)
            .env("COLUMNS", "100")
            .output();
        let done = done.map_err(|error| format!("`{command}` cannot be started: {error}"))?;
        let text = String::from_utf8_lossy(&done.stdout);
        let lines: Vec<String> = text.lines().map(|line| without_times(line.trim_end())).collect();
        Ok(lines.join("\n").trim_end().to_owned())
    }
}

/// Drops the times that commands tell at the end of a line: `(3 rows, 2.7 ms)` is `(3 rows)`, and
/// `4 written (1.8 s)` is `4 written`.
fn without_times(line: &str) -> String {
    let is_time = |text: &str| match text.split_once(' ') {
        Some((number, "us" | "ms" | "s")) => number.parse::<f64>().is_ok(),
        _ => false,
    };
    let Some(inside) = line.strip_suffix(')') else { return line.to_owned() };
    if let Some((before, _)) = inside.rsplit_once(", ").filter(|(_, time)| is_time(time)) {
        return format!("{before})");
    }
    match inside.rsplit_once(" (").filter(|(_, time)| is_time(time)) {
        Some((before, _)) => before.to_owned(),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dropped_and_nothing_else() {
        for (line, shown) in [
            ("(3 rows, 392.3 ms)", "(3 rows)"),
            ("8 written (1.8 s)", "8 written"),
            ("(3 rows)", "(3 rows)"),
            ("f(a, b s)", "f(a, b s)"),
            ("sum (1.5 EUR)", "sum (1.5 EUR)"),
            ("12 ms", "12 ms"),
        ] {
            assert_eq!(without_times(line), shown);
        }
    }

    #[test]
    fn every_page_is_there() {
        let workspace = Workspace::find().unwrap();
        for page in PAGES {
            assert!(workspace.read(page).is_ok(), "{page}");
        }
    }

    #[test]
    fn a_picture_of_something_else_is_told() {
        let drawn = |columns: u16, text: &str| {
            let mut parser = vt100::Parser::new(3.try_into().unwrap(), columns.try_into().unwrap(), 0);
            parser.process(text.as_bytes());
            parser.screen().clone()
        };
        let shot =
            Shot { name: "top".to_owned(), screen: drawn(30, "map     a < b"), shows: &["map ", "< b"] };
        let same = |screen| is_such(&shot, &picture::of_screen(&screen));
        assert_eq!(same(drawn(30, "\x1b[1mother map\x1b[0m\r\n    a < b")), Ok(()));
        assert!(same(drawn(30, "map")).unwrap_err().contains("< b"));
        assert!(same(drawn(31, "map     a < b")).unwrap_err().contains("size"));
    }

    /// The pages show them, and a page with a hole is noticed by readers only.
    #[test]
    fn every_picture_of_a_terminal_is_there_and_shows_what_it_is_for() {
        let workspace = Workspace::find().unwrap();
        let mut pictures = 0;
        for (name, shows) in sessions::pictures() {
            let picture = workspace.read(&format!("docs/pictures/{name}.svg")).unwrap();
            assert_eq!(missing(&picture, shows), None, "{name}");
            pictures += 1;
        }
        assert_eq!(pictures, 8);
    }
}
