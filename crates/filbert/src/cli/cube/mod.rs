//! `filbert cube`: measures of a forest over files, as a pivot on the terminal, or for programs and files as CSV, JSON, Arrow and Parquet.
//!
//! The query runs in a member of the command's own. The program's own thread waits for it, looks at the signals meanwhile, and writes.

mod destination;
mod duckdb;
#[path = "../../../examples/market_risk.rs"]
#[expect(dead_code, reason = "an example is a program of its own as well")]
pub(super) mod market_risk;
mod path;
mod postgres;
mod rows;
mod show;

use super::Outcome;
use super::interruption::Interruption;
use super::progress::{self, Progress};
use super::settings_file;
use super::text::{self, grouped};
use destination::Destination;
use filbert::cube::{
    Cube, CubeError, CubeResult, Forest, ForestText, PostgresTable, Query, QueryProgress, SqlTable,
    TableGroups,
};
use filbert::{MachineMemory, Member, MemorySettings, Shutdown};
use show::{Explain, Format};
use std::error::Error;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options of `filbert cube`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Measures and calculated columns: a TOML or JSON file.
    #[arg(long, value_name = "FILE")]
    forest: PathBuf,
    /// Where the rows are: a file, folder or pattern of Parquet, CSV, JSON or Arrow files, an SQL query, a table of a
    /// PostgreSQL server: postgres://user@host/database?sslmode=require#schema.table, with the password in PGPASSWORD, or one of DuckDB:
    /// duckdb:file#schema.table, with the path of libduckdb in FILBERT_DUCKDB_LIBRARY (only if built with the feature duckdb).
    #[arg(long, value_name = "PATH")]
    table: String,
    /// Measures, separated by commas; all of the forest when there are none.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = text::name)]
    measures: Vec<String>,
    /// Columns to group by, separated by commas.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = text::name)]
    by: Vec<String>,
    /// Which rows count, such as "ccy = 'EUR' and desk in ('FX', 'Rates')".
    #[arg(long = "where", value_name = "FILTER")]
    filter: Option<String>,
    /// Adds rows of totals over these columns, in which the column is *.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = text::name)]
    totals: Vec<String>,
    /// The values of this column stand side by side; without it, those of the last of several columns, if they are few.
    #[arg(long, value_name = "COLUMN", conflicts_with = "flat")]
    across: Option<String>,
    /// A line for each combination of values, and no values side by side.
    #[arg(long)]
    flat: bool,
    /// How the answer is written; without it as the ending of --output says, or as a table.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Writes to a file instead of the standard output, which is there when it is whole; .csv, .json, .ndjson, .jsonl, .arrow, .ipc, .feather
    /// and .parquet say how.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Writes how the answer was computed, instead of the answer.
    #[arg(long, value_enum, value_name = "AS", num_args = 0..=1, default_missing_value = "text", conflicts_with_all = ["format", "output"])]
    explain: Option<Explain>,
    /// Writes the rows behind the cells, instead of the cells. Where measures use different rows, columns say which use a row.
    #[arg(long, conflicts_with_all = ["explain", "totals", "across", "flat"])]
    drill_through: bool,
    /// Of the cells with these coordinates only: column=value, separated by commas; nothing after the = is the missing value, and one with a
    /// comma in it stands in single quotes.
    #[arg(long, value_name = "COORDINATES", requires = "drill_through")]
    cell: Vec<String>,
    /// The columns of the rows, separated by commas; all when there are none.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = text::name, requires = "drill_through")]
    columns: Vec<String>,
    /// At most so many rows; 0 is all.
    #[arg(long, value_name = "ROWS", default_value_t = 1_000, requires = "drill_through")]
    limit: usize,
    /// What routings may choose by and custom measures are told: a scenario, say.
    #[arg(long, value_name = "TEXT")]
    marker: Option<String>,
    /// A measure that fails is told in its column and on the standard error, and the others are there. If all fail, the status is 1.
    #[arg(long)]
    errors_as_values: bool,
    /// A measure that the forest does not have is a column without values, instead of an error.
    #[arg(long)]
    unknown_measures_as_empty: bool,
    /// Gives up after so many milliseconds.
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// At most so many threads compute at a time, at least 1; the answer is the same for any number.
    #[arg(long, value_name = "THREADS")]
    parallelism: Option<usize>,
    /// Into how many partitions slices are spread; the answer is the same for any number.
    #[arg(long, value_name = "PARTITIONS")]
    partitions: Option<usize>,
    /// By which columns slices are spread, separated by commas; without, the forest, the table or the planner chooses.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = text::name)]
    shard_by: Vec<String>,
    /// The query may hold so many megabytes; half of the memory of the machine, or of its control group, unless this says otherwise.
    #[arg(long, value_name = "MB")]
    memory_mb: Option<usize>,
    /// Groups that have no room in memory go to files in this folder, which are gone when the query is; without, that is an error.
    #[arg(long, value_name = "FOLDER")]
    spill_directory: Option<PathBuf>,
    /// At most so many megabytes go there.
    #[arg(long, value_name = "MB", default_value_t = 10_240, requires = "spill_directory")]
    spill_mb: u64,
    /// Whether the table makes groups itself, if it can.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    table_groups: Groups,
    /// A TOML file with settings; no door is opened.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// When groups are made by the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Groups {
    /// Where a table would rather, and the answer is the same to the last bit.
    #[default]
    WhereExact,
    /// Wherever it can, sums of floats included.
    Always,
    /// They are made by the cube.
    Never,
}

impl From<Groups> for TableGroups {
    fn from(groups: Groups) -> Self {
        match groups {
            Groups::WhereExact => Self::WhereExact,
            Groups::Always => Self::Always,
            Groups::Never => Self::Never,
        }
    }
}

const EXAMPLES: &str = "Examples:
  filbert cube --forest risk.toml --table trades.parquet --measures pnl,var95 --by desk,ccy
  filbert cube --forest risk.toml --table 'trades/*.parquet' --measures pnl --by desk --where \"ccy <> 'EUR'\" --totals desk
  filbert cube --forest risk.toml --table trades.csv --by desk,ccy --format csv
  filbert cube --forest risk.toml --table trades.csv --by desk,ccy -o report.parquet
  filbert cube --forest risk.toml --table trades.csv --measures var95 --by desk --explain mermaid
  filbert cube --forest risk.toml --table trades.csv --measures pnl --by desk --drill-through --cell desk=FX --limit 20
  filbert cube --forest risk.toml --measures pnl --by region \\
      --table \"SELECT * FROM 'trades.csv' JOIN 'books.csv' USING (book)\"
  filbert cube --forest risk.toml --measures pnl --by desk --table 'postgres://risk@localhost/markets#public.trades'
  filbert cube --forest risk.toml --measures pnl --by desk \\
      --table 'postgres://risk@db.example/markets?sslmode=require#SELECT * FROM trades JOIN books USING (book)'
  filbert cube --forest risk.toml --measures pnl --by desk --table 'duckdb:markets.duckdb#trades'

docs/cube.md explains forests and filters. Ctrl-C cancels the query, also while the answer is written; a second one ends it at once.";

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let mut config = settings_file::read(arguments.config.as_deref())?;
    // Whoever names the files may read them anyway; a settings file may say less.
    if arguments.config.is_none() {
        config.sql.files = vec!["/".into()];
    }
    let format = Format::of(arguments)?;
    let output = arguments.output.as_deref();
    if let Some(refusal) =
        output.and_then(|output| path::refused_output(output, &arguments.table, &arguments.forest))
    {
        return Err(refusal.into());
    }
    let forest = forest(&arguments.forest)?;
    let query = query(arguments, &forest)?;
    let builder = Member::builder().stage_settings(config.stages).grid(config.grid).sql(config.sql);
    let member = builder.memory(memory(arguments, config.memory)).start()?;
    let interruption = Interruption::heeded_by(&member)?;
    let progress = Progress::begin(&member.stages().clock(), std::io::stderr().is_terminal());
    let watch = Watch { member: &member, interruption: &interruption, progress };
    // Before anything is computed: a query is not run for nothing.
    let out = Destination::open(output, &interruption)?;
    // The answer is written while the member is there: it is what hears the signals.
    let ended = watch.run((arguments, format), forest, query, out);
    let ended = ended.map_err(|error| match interruption.interrupted() {
        Some(interrupted) => interrupted.into(),
        None => error,
    });
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

/// The memory of this process, which does nothing else: half of what there is goes to the one query.
fn memory(arguments: &Arguments, of_file: MemorySettings) -> MemorySettings {
    let asked = arguments.memory_mb.map(|megabytes| (megabytes as u64).saturating_mul(1 << 20));
    let most = of_file.limit_bytes.unwrap_or(u64::MAX);
    let bytes = asked.unwrap_or_else(|| (MachineMemory::measure().bytes / 2).min(most));
    MemorySettings { cube_bytes: Some(bytes), ..of_file }
}

fn query(arguments: &Arguments, forest: &Forest) -> Result<Query, CubeError> {
    let measures = match arguments.measures.is_empty() {
        true => forest.names().map(str::to_owned).collect(),
        false => arguments.measures.clone(),
    };
    let mut query = Query::new(measures).by(arguments.by.clone()).totals(arguments.totals.clone());
    query = query.table_groups(arguments.table_groups.into()).shard_by(arguments.shard_by.clone());
    if let Some(partitions) = arguments.partitions {
        query = query.partitions(partitions);
    }
    if arguments.unknown_measures_as_empty {
        query = query.unknown_measures_are_empty();
    }
    if let Some(filter) = &arguments.filter {
        query = query.filter(filter.parse()?);
    }
    if let Some(timeout) = arguments.timeout_ms {
        query = query.timeout(Duration::from_millis(timeout));
    }
    if let Some(threads) = arguments.parallelism {
        query = query.parallelism(threads);
    }
    if let Some(megabytes) = arguments.memory_mb {
        query = query.memory_limit(megabytes.saturating_mul(1 << 20));
    }
    if let Some(marker) = &arguments.marker {
        query = query.marker(marker);
    }
    if arguments.errors_as_values {
        query = query.errors_are_values();
    }
    Ok(match arguments.explain {
        Some(Explain::Debug) => query.debug(),
        Some(Explain::Text | Explain::Mermaid) => query.explain(),
        None => query,
    })
}

impl Watch<'_> {
    /// Asks, and writes the answer or the rows behind it.
    fn run(
        &self,
        (arguments, format): (&Arguments, Format),
        forest: Forest,
        query: Query,
        mut out: Destination,
    ) -> Outcome {
        let cube = self.open(arguments, forest)?;
        if arguments.drill_through {
            rows::write((arguments, format), self, &cube, query, &mut out)?;
            return out.keep();
        }
        let answer = self.answer(&cube, query)?;
        drop(cube);
        show::tell_failures(&answer);
        // The answer of yesterday is worth more than none.
        if !(answer.all_failed() && out.is_file()) {
            show::write((arguments, format), self, &answer, &mut out)?;
            out.keep()?;
        }
        match answer.all_failed() {
            true => Err("every measure failed".into()),
            false => Ok(()),
        }
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
        let (member, table) = (self.member, &arguments.table);
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
        let builder = builder.memory_limit(member.cube_memory().limit());
        let builder = match &arguments.spill_directory {
            Some(folder) => builder.spill(folder, arguments.spill_mb.saturating_mul(1 << 20)),
            None => builder,
        };
        Ok(builder.build()?)
    }

    /// Asks.
    fn answer(&self, cube: &Cube, query: Query) -> Result<CubeResult, Box<dyn Error>> {
        let asked = cube.query(query)?;
        let seen = asked.progress();
        Ok(self.wait("read answer", asked, || rows_read(&seen))??)
    }
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
