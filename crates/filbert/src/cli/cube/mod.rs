//! `filbert cube`: measures of a forest over files, as a pivot on the terminal, or for programs and files as CSV, JSON, Arrow and Parquet.
//!
//! The query runs in a member of the command's own. The program's own thread waits for it, looks at the signals meanwhile, and writes.

mod arguments;
mod destination;
mod duckdb;
mod example;
mod filter;
mod interactive;
#[path = "../../../examples/market_risk.rs"]
#[expect(dead_code, reason = "an example is a program of its own as well")]
pub(super) mod market_risk;
mod no_rows;
mod path;
mod postgres;
mod rows;
mod show;

use super::Outcome;
use super::interruption::Interruption;
use super::progress::{self, Progress};
use super::settings_file;
use super::text::grouped;
pub(super) use arguments::Arguments;
use destination::Destination;
use filbert::cube::{
    Cube, CubeBuilder, CubeResult, Forest, ForestText, PostgresTable, Query, QueryProgress, SqlTable,
};
use filbert::{Member, Shutdown};
use show::Format;
use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;

pub(super) fn run(arguments: &Arguments) -> Outcome {
    if let Some(folder) = &arguments.example {
        return example::write(folder, &mut std::io::stdout().lock());
    }
    let mut config = settings_file::read(arguments.config.as_deref())?;
    // Whoever names the files may read them anyway; a settings file may say less.
    if arguments.config.is_none() {
        config.sql.files = vec!["/".into()];
    }
    let format = Format::of(arguments)?;
    path::check_output(arguments)?;
    let forest = forest(arguments.forest())?;
    let builder = Member::builder().stage_settings(config.stages).grid(config.grid).sql(config.sql);
    let builder = builder.memory(arguments.memory(config.memory));
    if arguments.is_interactive() {
        let member = builder.start()?;
        let ended = interactive::run(&member, arguments, &forest);
        member.shutdown(Shutdown::Cancel)?;
        return ended;
    }
    let query = arguments.query(&forest)?;
    let member = builder.start()?;
    let interruption = Interruption::heeded_by(&member)?;
    let watch = Watch::begin(&member, &interruption);
    // Before anything is computed: a query is not run for nothing.
    let out = Destination::open(arguments.output.as_deref(), &interruption)?;
    // The answer is written while the member is there: it is what hears the signals.
    let open = |forest: Forest| watch.open(arguments, forest);
    let ended = open(forest.clone()).and_then(|cube| {
        let source = Source { cube: &cube, forest: &forest, open: &open };
        watch.ask((arguments, format), &source, query, out)
    });
    let ended = ended.map_err(|error| watch.cause(error));
    member.shutdown(Shutdown::Cancel)?;
    ended
}

/// The program's own thread while others work: says on a terminal how far they are, and looks at the signals.
struct Watch<'a> {
    member: &'a Member,
    interruption: &'a Interruption,
    progress: Progress,
}

/// The measures of a file.
fn forest(path: &Path) -> Result<Forest, String> {
    let told = |problem: &dyn std::fmt::Display| format!("{}: {problem}", path.display());
    let forest = ForestText::from_file(path).and_then(|read| read.into_builder().build());
    let forest = forest.map_err(|error| told(&error))?;
    let is_empty = forest.names().next().is_none();
    match is_empty {
        false => Ok(forest),
        true => Err(told(&"there is no measure in it; each begins with [[measure]]")),
    }
}

/// A cube to be asked, and a way to others over the same table.
struct Source<'a> {
    cube: &'a Cube,
    forest: &'a Forest,
    open: &'a dyn Fn(Forest) -> Result<Cube, Box<dyn Error>>,
}

impl<'a> Watch<'a> {
    fn begin(member: &'a Member, interruption: &'a Interruption) -> Self {
        let progress = Progress::begin(&member.stages().clock(), std::io::stderr().is_terminal());
        Self { member, interruption, progress }
    }

    /// The signal behind an error, if one came; else the error.
    fn cause(&self, error: Box<dyn Error>) -> Box<dyn Error> {
        match self.interruption.interrupted() {
            Some(interrupted) => interrupted.into(),
            None => error,
        }
    }

    /// Asks, and writes the answer or the rows behind it.
    fn ask(
        &self,
        (arguments, format): (&Arguments, Format),
        source: &Source<'_>,
        query: Query,
        mut out: Destination,
    ) -> Outcome {
        if arguments.drill_through {
            rows::write((arguments, format), self, source.cube, query, &mut out)?;
            return out.keep();
        }
        let answer = self.answer(source.cube, query)?;
        show::tell_failures(&answer);
        // The answer of yesterday is worth more than none.
        if !(answer.all_failed() && out.is_file()) {
            show::write((arguments, format), self, &answer, &mut out)?;
            out.keep()?;
        }
        if answer.all_failed() {
            return Err("every measure failed".into());
        }
        if answer.rows() == 0 && format == Format::Table {
            no_rows::tell_why(self, arguments, source)?;
        }
        Ok(())
    }

    /// An error when a signal came.
    fn heed(&self) -> Outcome {
        self.interruption.interrupted().map_or(Ok(()), |interrupted| Err(interrupted.into()))
    }

    /// Waits for something that `mixed` does.
    fn wait<T: Send + 'static>(
        &self,
        task: &'static str,
        future: impl Future<Output = T> + Send + 'static,
        how_far: impl Fn() -> String,
    ) -> Result<T, Box<dyn Error>> {
        let coming = self.member.stages().mixed().spawn(task, future)?;
        let done = progress::wait(coming, &mut || {
            self.progress.show(&how_far);
            self.heed()
        });
        self.progress.hide();
        done
    }

    /// Opens the table.
    fn open(&self, arguments: &Arguments, forest: Forest) -> Result<Cube, Box<dyn Error>> {
        let (member, table) = (self.member, arguments.table());
        let of_server = postgres::place(table, std::env::var("PGPASSWORD").ok().as_deref()).transpose()?;
        let builder = match (of_server, duckdb::place(table).transpose()?) {
            (Some(place), _) => {
                let opening = PostgresTable::open(member.stages(), &place.url, &place.table);
                member.cube(forest, self.wait("open table", opening, looks)??)
            }
            (None, Some(place)) => duckdb::open(self, &place, forest)?,
            (None, None) => {
                if let Some(refusal) = path::refusal(table) {
                    return Err(refusal.into());
                }
                let (session, place) = (member.sql().session(), path::place(table));
                let opening = async move {
                    match query_of(&place) {
                        Some(query) => SqlTable::of_query(session, "table", query).await,
                        None => SqlTable::open(session, &place).await,
                    }
                };
                let opened = self.wait("open table", opening, looks)?;
                member.cube(forest, opened.map_err(|error| path::missing(table, &error))?)
            }
        };
        built(builder, member, arguments)
    }

    /// Asks.
    fn answer(&self, cube: &Cube, query: Query) -> Result<CubeResult, Box<dyn Error>> {
        let asked = cube.query(query)?;
        let seen = asked.progress();
        Ok(self.wait("read answer", asked, || rows_read(&seen))??)
    }
}

/// Builds a cube that may hold what the command line says.
fn built(builder: CubeBuilder, member: &Member, arguments: &Arguments) -> Result<Cube, Box<dyn Error>> {
    let builder = builder.memory_limit(member.cube_memory().limit());
    let builder = match &arguments.spill_directory {
        Some(folder) => builder.spill(folder, arguments.spill_mb.saturating_mul(1 << 20)),
        None => builder,
    };
    Ok(builder.build()?)
}

/// The query that a table is, in parentheses or not; none of a file.
fn query_of(table: &str) -> Option<&str> {
    if Path::new(table).exists() {
        return None;
    }
    let table = table.trim();
    let first = table.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_query = ["select", "with", "values"].iter().any(|word| first.eq_ignore_ascii_case(word));
    if is_query && table[first.len()..].starts_with(char::is_whitespace) {
        return Some(table);
    }
    table.strip_prefix('(').and_then(|query| query.strip_suffix(')'))
}

fn looks() -> String {
    "looks at the table".to_owned()
}

fn rows_read(seen: &QueryProgress) -> String {
    format!("{} rows read", grouped(seen.rows_read()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert::SqlSettings;
    use filbert::arrow::array::{AsArray, RecordBatch};
    use filbert::arrow::datatypes::{Float64Type, Int64Type};
    use std::collections::BTreeMap;

    /// The 5th of 100 scenarios from below, as a loss.
    fn var95(rows: &RecordBatch, desk: &str) -> f64 {
        let desks = rows.column_by_name("desk").unwrap().as_string::<i32>();
        let scenarios = rows.column_by_name("scenario").unwrap().as_primitive::<Int64Type>();
        let pnl = rows.column_by_name("pnl").unwrap().as_primitive::<Float64Type>();
        let mut sums: BTreeMap<i64, f64> = BTreeMap::new();
        for row in (0..rows.num_rows()).filter(|row| desk == "*" || desks.value(*row) == desk) {
            *sums.entry(scenarios.value(row)).or_default() += pnl.value(row);
        }
        sums.remove(&0);
        let mut sums: Vec<f64> = sums.into_values().collect();
        sums.sort_by(f64::total_cmp);
        -sums[4]
    }

    #[test]
    fn the_example_finds_the_value_at_risk() {
        let folder = tempfile::tempdir().unwrap();
        let path = market_risk::write(folder.path(), 48).unwrap();
        let sql = SqlSettings { files: vec![folder.path().to_owned()], ..Default::default() };
        let member = Member::builder().sql(sql).start().unwrap();
        let query = Query::new(["var95", "diversification", "trades"]).by(["desk"]).totals(["desk"]);
        let answer = market_risk::ask(&member, &path, query).unwrap();
        let rows = market_risk::scenarios(48).unwrap();
        let batch = answer.batch();
        let (desks, found) =
            (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<Float64Type>());
        assert_eq!(desks.iter().flatten().collect::<Vec<_>>(), ["Credit", "Equity", "FX", "Rates", "*"]);
        for (desk, found) in desks.iter().flatten().zip(found.values()) {
            assert_eq!(*found, var95(&rows, desk), "{desk}");
        }
        let apart: f64 = found.values()[..4].iter().sum();
        let saved = batch.column(2).as_primitive::<Float64Type>();
        assert_eq!(saved.values()[4], apart - found.values()[4]);
        assert_eq!(batch.column(3).as_primitive::<Int64Type>().values(), &[12, 12, 12, 12, 48]);
    }
}
