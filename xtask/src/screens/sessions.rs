//! What is done in the terminals of which there are pictures: the shell, `filbert top`, a cube, the demo.
//!
//! Times, sizes and ports differ from run to run. So the pictures are not compared with those of another run: each has to
//! be made, to show what it is for, and to have the size of its terminal.

use super::terminal::{Size, Terminal};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The sizes that pictures are made in.
const SIZES: [Size; 2] = [Size::new(80, 24), Size::new(120, 40)];

/// Something that is done in a terminal.
struct Session {
    name: &'static str,
    /// Does it, and returns the screen.
    run: fn(&Place, Size) -> Result<vt100::Screen, String>,
    /// Texts that its picture shows.
    shows: &'static [&'static str],
    /// Lines that are typed, and messages, may be longer than a line of the terminal.
    may_wrap: bool,
}

const SESSIONS: [Session; 4] = [
    Session {
        name: "shell",
        run: shell,
        shows: &["filbert>", "is it \"price\"?", "^", "pnl", "more rows", "…", "of 1,000 rows"],
        may_wrap: true,
    },
    Session {
        name: "top",
        run: top,
        shows: &["Filbert ", "stage", "map", "memory", "door", "query", "orders", "q quits"],
        may_wrap: false,
    },
    Session { name: "cube", run: cube, shows: &["filbert cube", "desk", "EUR", "Credit"], may_wrap: true },
    Session {
        name: "demo",
        run: demo,
        shows: &["Cube: value at risk", "filbert cube --forest", "best of 5"],
        may_wrap: false,
    },
];

/// A picture of a terminal.
pub(super) struct Shot {
    /// With its size: `top-80x24`.
    pub(super) name: String,
    pub(super) screen: vt100::Screen,
    /// Texts that are on it.
    pub(super) shows: &'static [&'static str],
}

/// The folder in which commands are run, and the program.
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) binary: PathBuf,
}

/// The names of all pictures, and what each shows.
#[cfg(test)]
pub(super) fn pictures() -> impl Iterator<Item = (String, &'static [&'static str])> {
    let named = |session: Session| SIZES.map(|size| (name(session.name, size), session.shows));
    SESSIONS.into_iter().flat_map(named)
}

fn name(session: &str, size: Size) -> String {
    format!("{session}-{}x{}", size.columns, size.lines)
}

/// Makes all pictures.
pub(super) fn shots(place: &Place) -> Result<Vec<Shot>, String> {
    let mut shots = Vec::new();
    for Session { name, run, shows, may_wrap } in SESSIONS {
        for size in SIZES {
            let name = self::name(name, size);
            let screen = run(place, size).map_err(|error| format!("{name}: {error}"))?;
            let text = screen.contents();
            if let Some(missing) = shows.iter().find(|part| !text.contains(**part)) {
                return Err(format!("{name}: {missing:?} is not on the screen, which shows\n{text}"));
            }
            if screen.size() != (size.lines, size.columns) {
                return Err(format!("{name}: the screen has another size"));
            }
            if !may_wrap && let Some(line) = (0..size.lines.get()).find(|line| screen.row_wrapped(*line)) {
                return Err(format!(
                    "{name}: line {} is wider than the terminal, which shows\n{text}",
                    line + 1
                ));
            }
            shots.push(Shot { name, screen, shows });
        }
    }
    Ok(shots)
}

impl Place {
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.binary.parent().unwrap_or(Path::new("."));
        command
            .current_dir(&self.folder)
            .env("HOME", &self.folder)
            .env("PATH", format!("{}:{path}", bin.display()));
        for name in ["FILBERT_PASSWORD", "FILBERT_TOKEN", "FILBERT_PAGER", "PAGER"] {
            command.env_remove(name);
        }
        command
    }

    fn filbert(&self, words: &[&str]) -> Command {
        let mut command = self.command(&self.binary);
        command.args(words);
        command
    }

    /// Runs a command line in a terminal as a shell shows it, to its end.
    fn typed(&self, line: &str, size: Size) -> Result<Terminal, String> {
        let mut command = self.command("sh");
        command.args(["-c", r#"printf '$ %s\n' "$1"; eval "$1""#, "sh", line]);
        let mut terminal = Terminal::start(command, size)?;
        terminal.wait_for_end()?;
        Ok(terminal)
    }
}

/// The sequence that the editor of the shell writes when it begins to wait for a line.
const PROMPTS: &str = "\x1b[?2004h";

/// A mistake, the columns of a file, and more rows and columns than there is room for.
fn shell(place: &Place, size: Size) -> Result<vt100::Screen, String> {
    let scenarios = 1..=30_i64;
    let header: Vec<String> = scenarios.clone().map(|number| format!("scenario_{number}")).collect();
    let mut positions = format!("position,desk,ccy,{}\n", header.join(","));
    for position in 1..=1_000_usize {
        let values: Vec<String> = scenarios
            .clone()
            .map(|number| ((position as i64 * 7_919 + number * 104_729) % 2_003 - 900).to_string())
            .collect();
        let (desk, ccy) = (["FX", "Rates", "Credit"][position % 3], ["EUR", "USD"][position % 2]);
        positions += &format!("{position},{desk},{ccy},{}\n", values.join(","));
    }
    let path = place.folder.join("positions.csv");
    std::fs::write(&path, positions).map_err(|error| format!("{}: {error}", path.display()))?;
    let rows = if size.lines.get() < 40 { 2 } else { 16 };
    let mut terminal = Terminal::start(place.filbert(&["sql"]), size)?;
    terminal.wait_for("prompt", |terminal| terminal.count(PROMPTS) == 1)?;
    for (number, line) in [
        "SELECT city, sum(prize) FROM 'sales.csv' GROUP BY city;",
        "\\d 'trades.csv'",
        &format!("\\rows {rows}"),
        "SELECT * FROM 'positions.csv';",
    ]
    .into_iter()
    .enumerate()
    {
        terminal.type_text(&format!("{line}\r"))?;
        terminal.wait_for(&format!("prompt after {line}"), |terminal| {
            let is_empty = |line: &str| line.trim_end() == "filbert>";
            terminal.count(PROMPTS) == number + 2
                && terminal.text().trim_end().lines().last().is_some_and(is_empty)
        })?;
    }
    Ok(terminal.screen())
}

/// A pivot with totals.
fn cube(place: &Place, size: Size) -> Result<vt100::Screen, String> {
    let line = "filbert cube --forest risk.toml --table trades.csv \
                --measures var95,worst --by desk,ccy --totals desk,ccy";
    Ok(place.typed(line, size)?.screen())
}

/// The demo until its cube.
fn demo(place: &Place, size: Size) -> Result<vt100::Screen, String> {
    place.typed("filbert demo --quick", size)?.screen_before("Fork-join:")
}

/// A member with data, that ends with this.
struct Member {
    child: Child,
    /// The addresses for clients and for HTTP.
    clients: String,
    http: String,
}

impl Member {
    fn start(place: &Place) -> Result<Self, String> {
        let words = ["start", "--log", "off", "--port", "0", "--postgres-port", "0", "--http-port", "0"];
        let mut command = place.filbert(&words);
        let failed = |error: std::io::Error| format!("no member: {error}");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
        let mut lines = lines.map_while(Result::ok);
        let mut address = |of: &str| {
            let line = lines.by_ref().find(|line| line.contains(of));
            line.and_then(|line| Some(line.trim_end().rsplit(' ').next()?.to_owned()))
        };
        match (address("Hazelcast clients on"), address("HTTP on")) {
            (Some(clients), Some(http)) => Ok(Self { child, clients, http }),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                Err("the member does not say where it listens".to_owned())
            }
        }
    }

    /// Runs a statement to its end.
    fn run(&self, place: &Place, statement: &str) -> Result<(), String> {
        let done = place.filbert(&["sql", "--connect", &self.clients, statement]).output();
        let done = done.map_err(|error| format!("{statement}: {error}"))?;
        match done.status.success() {
            true => Ok(()),
            false => Err(format!("{statement}: {}", String::from_utf8_lossy(&done.stderr))),
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that runs until this is dropped.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A member with a few maps and a query that does not end soon.
fn top(place: &Place, size: Size) -> Result<vt100::Screen, String> {
    let member = Member::start(place)?;
    for (map, entries) in [("orders", 20_000), ("customers", 5_000), ("sessions", 800)] {
        member.run(
            place,
            &format!(
                "CREATE MAPPING {map} TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'varchar')"
            ),
        )?;
        let insert =
            format!("INSERT INTO {map} SELECT v, repeat('x', 100) FROM generate_series(1, {entries}) t(v)");
        member.run(place, &insert)?;
    }
    let slow = "SELECT count(*) AS pairs FROM generate_series(1, 1000000) a(x), generate_series(1, 1000000) b(y) WHERE x % 7 = y % 5";
    let mut command = place.filbert(&["sql", "--connect", &member.clients, slow]);
    let load = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _load = Load(load.map_err(|error| format!("no load: {error}"))?);
    let mut terminal = Terminal::start(place.filbert(&["top", "--address", &member.http]), size)?;
    // The second look has rates.
    terminal.wait_for("rates and the query", |terminal| {
        let text = terminal.text();
        text.contains("/s") && text.contains("SELECT count")
    })?;
    let screen = terminal.screen();
    terminal.type_text("q")?;
    terminal.wait_for_end()?;
    Ok(screen)
}
