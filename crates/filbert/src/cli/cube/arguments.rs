//! The options of `filbert cube`, and the question that they are.

use super::super::text;
use super::filter;
use super::show::{Explain, Format};
use filbert::cube::{Forest, NumberFormat, Query, TableGroups};
use filbert::{MachineMemory, MemorySettings};
use std::error::Error;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options of `filbert cube`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in super::super) struct Arguments {
    /// Measures and calculated columns: a TOML or JSON file.
    #[arg(long, value_name = "FILE", required = true)]
    pub(super) forest: Option<PathBuf>,
    /// Where the rows are: a file, folder or pattern of Parquet, CSV, JSON or Arrow files, an SQL query, a table of a
    /// PostgreSQL server: postgres://user@host/database?sslmode=require#schema.table, with the password in PGPASSWORD, or one of DuckDB:
    /// duckdb:file#schema.table, with the path of libduckdb in FILBERT_DUCKDB_LIBRARY (only if built with the feature duckdb).
    #[arg(long, value_name = "PATH", required = true)]
    pub(super) table: Option<String>,
    /// Writes sample data and a forest into a new folder, and prints commands to try with them.
    #[arg(long, value_name = "FOLDER", exclusive = true)]
    pub(super) example: Option<PathBuf>,
    /// Reads the table once, then takes questions line by line, such as `pnl by desk`; so it is also where a terminal is there and nothing
    /// is asked for. `help` is the first word to try.
    #[arg(long, conflicts_with_all = ["measures", "by", "filter", "totals", "across", "flat", "format", "output", "explain", "drill_through"])]
    pub(super) interactive: bool,
    /// Measures, separated by commas; all of the forest, in its order, when there are none.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = text::name)]
    pub(super) measures: Vec<String>,
    /// Columns to group by, separated by commas.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = text::name)]
    pub(super) by: Vec<String>,
    /// Which rows count, such as "ccy = 'EUR' and desk in ('FX', 'Rates')".
    #[arg(long = "where", value_name = "FILTER")]
    pub(super) filter: Option<String>,
    /// Adds rows of totals over these columns, in which the column is *; over all columns of --by when none are named.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', num_args = 0..=1, value_parser = text::name, requires = "by")]
    pub(super) totals: Option<Vec<String>>,
    /// The values of this column stand side by side; without it, those of the last of several columns, if they are few.
    #[arg(long, value_name = "COLUMN", conflicts_with = "flat")]
    pub(super) across: Option<String>,
    /// A line for each combination of values, and no values side by side.
    #[arg(long)]
    pub(super) flat: bool,
    /// Writes measures with so many decimals. Without, tables have the formats of the forest, or round floats, and programs get all digits.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=i64::from(NumberFormat::MOST_DECIMALS)), conflicts_with_all = ["explain", "drill_through"])]
    pub(super) digits: Option<u8>,
    /// How the answer is written; without it as the ending of --output says, or as a table.
    #[arg(long, value_enum)]
    pub(super) format: Option<Format>,
    /// Writes to a file instead of the standard output, which is there when it is whole; .csv, .json, .ndjson, .jsonl, .arrow, .ipc, .feather
    /// and .parquet say how.
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Writes how the answer was computed, instead of the answer.
    #[arg(long, value_enum, value_name = "AS", num_args = 0..=1, default_missing_value = "text", conflicts_with_all = ["format", "output"])]
    pub(super) explain: Option<Explain>,
    /// Writes the rows behind the cells, instead of the cells. Where measures use different rows, columns say which use a row.
    #[arg(long, conflicts_with_all = ["explain", "totals", "across", "flat"])]
    pub(super) drill_through: bool,
    /// Of the cells with these coordinates only: column=value, separated by commas; nothing after the = is the missing value, and one with a
    /// comma in it stands in single quotes.
    #[arg(long, value_name = "COORDINATES", requires = "drill_through")]
    pub(super) cell: Vec<String>,
    /// The columns of the rows, separated by commas; all when there are none.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = text::name, requires = "drill_through")]
    pub(super) columns: Vec<String>,
    /// At most so many rows; 0 is all.
    #[arg(long, value_name = "ROWS", default_value_t = 1_000, requires = "drill_through")]
    pub(super) limit: usize,
    /// What routings may choose by and custom measures are told: a scenario, say.
    #[arg(long, value_name = "TEXT")]
    pub(super) marker: Option<String>,
    /// A measure that fails is told in its column and on the standard error, and the others are there. If all fail, the status is 1.
    #[arg(long)]
    pub(super) errors_as_values: bool,
    /// A measure that the forest does not have is a column without values, instead of an error.
    #[arg(long)]
    pub(super) unknown_measures_as_empty: bool,
    /// Gives up after so many milliseconds.
    #[arg(long, value_name = "MS")]
    pub(super) timeout_ms: Option<u64>,
    /// At most so many threads compute at a time, at least 1; the answer is the same for any number.
    #[arg(long, value_name = "THREADS")]
    pub(super) parallelism: Option<usize>,
    /// Into how many partitions slices are spread; the answer is the same for any number.
    #[arg(long, value_name = "PARTITIONS")]
    pub(super) partitions: Option<usize>,
    /// By which columns slices are spread, separated by commas; without, the forest, the table or the planner chooses.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = text::name)]
    pub(super) shard_by: Vec<String>,
    /// The query may hold so many megabytes; half of the memory of the machine, or of its control group, unless this says otherwise.
    #[arg(long, value_name = "MB")]
    pub(super) memory_mb: Option<usize>,
    /// Groups that have no room in memory go to files in this folder, which are gone when the query is; without, that is an error.
    #[arg(long, value_name = "FOLDER")]
    pub(super) spill_directory: Option<PathBuf>,
    /// At most so many megabytes go there.
    #[arg(long, value_name = "MB", default_value_t = 10_240, requires = "spill_directory")]
    pub(super) spill_mb: u64,
    /// Whether the table makes groups itself, if it can.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub(super) table_groups: Groups,
    /// A TOML file with settings; no door is opened.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

impl Arguments {
    /// The file of the measures; only `--example` does without.
    pub(super) fn forest(&self) -> &Path {
        self.forest.as_deref().unwrap_or(Path::new(""))
    }

    /// The table, as it is named.
    pub(super) fn table(&self) -> &str {
        self.table.as_deref().unwrap_or_default()
    }

    /// Tells whether questions are taken line by line: on a terminal they are when nothing is asked for.
    pub(super) fn is_interactive(&self) -> bool {
        let names = [&self.measures, &self.by, &self.cell, &self.columns];
        let asks =
            names.iter().any(|names| !names.is_empty()) || self.filter.is_some() || self.across.is_some();
        let writes = self.format.is_some() || self.output.is_some() || self.explain.is_some();
        let is_terminal = || std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        self.interactive || (!asks && !writes && !self.flat && !self.drill_through && is_terminal())
    }

    /// The columns with totals.
    fn totals(&self) -> Vec<String> {
        match &self.totals {
            None => Vec::new(),
            Some(all) if all.is_empty() => self.by.clone(),
            Some(columns) => columns.clone(),
        }
    }

    /// The memory of this process, which does nothing else: half of what there is goes to the one query.
    pub(super) fn memory(&self, of_file: MemorySettings) -> MemorySettings {
        let asked = self.memory_mb.map(|megabytes| (megabytes as u64).saturating_mul(1 << 20));
        let most = of_file.limit_bytes.unwrap_or(u64::MAX);
        let bytes = asked.unwrap_or_else(|| (MachineMemory::measure().bytes / 2).min(most));
        MemorySettings { cube_bytes: Some(bytes), ..of_file }
    }

    /// The question.
    pub(super) fn query(&self, forest: &Forest) -> Result<Query, Box<dyn Error>> {
        let measures = match self.measures.is_empty() {
            true => forest.names().map(str::to_owned).collect(),
            false => self.measures.clone(),
        };
        let mut query = Query::new(measures).by(self.by.clone()).totals(self.totals());
        query = query.table_groups(self.table_groups.into()).shard_by(self.shard_by.clone());
        if let Some(partitions) = self.partitions {
            query = query.partitions(partitions);
        }
        if self.unknown_measures_as_empty {
            query = query.unknown_measures_are_empty();
        }
        if let Some(filter) = &self.filter {
            query = query.filter(filter::read(filter)?);
        }
        if let Some(timeout) = self.timeout_ms {
            query = query.timeout(Duration::from_millis(timeout));
        }
        if let Some(threads) = self.parallelism {
            query = query.parallelism(threads);
        }
        if let Some(megabytes) = self.memory_mb {
            query = query.memory_limit(megabytes.saturating_mul(1 << 20));
        }
        if let Some(marker) = &self.marker {
            query = query.marker(marker);
        }
        if self.errors_as_values {
            query = query.errors_are_values();
        }
        Ok(match self.explain {
            Some(Explain::Debug) => query.debug(),
            Some(Explain::Text | Explain::Mermaid) => query.explain(),
            None => query,
        })
    }
}

/// When groups are made by the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Groups {
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
  filbert cube --example risk                                        sample data, a forest, and commands to try
  filbert cube --forest risk.toml --table trades.parquet             questions line by line, on a terminal
  filbert cube --forest risk.toml --table trades.parquet --measures pnl,var95 --by desk,ccy
  filbert cube --forest risk.toml --table 'trades/*.parquet' --measures pnl --by desk --where \"ccy <> 'EUR'\" --totals
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
