//! The state between two lines: the cube, and the choices of earlier lines.

use super::super::super::interruption::Interruption;
use super::super::super::table::Table;
use super::super::super::text::{counted, grouped};
use super::super::destination::Destination;
use super::super::no_rows::{counting, rows_by, values_of};
use super::super::show::{Explain, Format};
use super::super::{Arguments, Source, Watch, built, path};
use super::completion::Names;
use super::line::{COMMANDS, Line, read};
use clap::Parser;
use filbert::Member;
use filbert::cube::cell::on_terminal;
use filbert::cube::{Cube, Forest, MemoryTable};
use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

/// A question as options of the command line.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Question {
    #[command(flatten)]
    arguments: Arguments,
}

/// The next step behind a line.
pub(super) enum Then {
    GoOn,
    Quit,
}

/// The time that Tab may look for values.
const PATIENCE: Duration = Duration::from_secs(3);

/// Values that are shown of a column.
const MOST_VALUES: usize = 1_000;

/// A table in memory, and what its user chose.
pub(super) struct Session<'a> {
    member: &'a Member,
    interruption: &'a Interruption,
    /// The command line that all of this began with.
    began: &'a Arguments,
    forest: &'a Forest,
    table: MemoryTable,
    cube: Cube,
    /// Counts the rows of each value.
    counts: Cube,
    explain: bool,
    digits: Option<u8>,
    last: Option<Arguments>,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        member: &'a Member,
        interruption: &'a Interruption,
        began: &'a Arguments,
        forest: &'a Forest,
        table: MemoryTable,
    ) -> Result<Self, Box<dyn Error>> {
        let cube = open((member, began), &table, forest.clone())?;
        let counts = open((member, began), &table, counting(forest.columns())?)?;
        let digits = began.digits;
        Ok(Self {
            member,
            interruption,
            began,
            forest,
            table,
            cube,
            counts,
            explain: false,
            digits,
            last: None,
        })
    }

    /// Says what there is to ask.
    pub(super) fn greeting(&self) -> String {
        let rows = counted(self.table.rows() as u64, "row", "rows");
        let measures = counted(self.forest.names().count() as u64, "measure", "measures");
        format!("{rows} in memory, {measures}, columns {}.", self.cube.columns().join(", "))
    }

    /// Finds the names that Tab offers.
    pub(super) fn names(&self) -> Names {
        let counts = self.counts.clone();
        let values = move |column: &str| {
            let found = counts.query(rows_by(&[column]).timeout(PATIENCE)).and_then(|asked| asked.wait());
            // This is a help only: where it fails, nothing is offered.
            found.ok().and_then(|found| values_of(found.batch().column(0).as_ref()).ok()).unwrap_or_default()
        };
        Names {
            measures: self.forest.names().map(str::to_owned).collect(),
            columns: self.cube.columns(),
            values: Box::new(values),
        }
    }

    /// Does what a line says.
    pub(super) fn take(&mut self, text: &str) -> Result<Then, Box<dyn Error>> {
        let mut out = io::stdout().lock();
        match read(text)? {
            Line::Nothing => {}
            Line::Quit => return Ok(Then::Quit),
            Line::Help => {
                let mut table = Table::new(&["type", "for"]);
                COMMANDS.into_iter().for_each(|(usage, what)| table.row([usage.to_owned(), what.to_owned()]));
                table.write(&mut out, "")?;
            }
            Line::Measures => {
                let mut table = Table::new(&["measure", "kind", "format"]);
                for name in self.forest.names() {
                    let kind = self.forest.measure(name).map_or("", |measure| measure.kind());
                    let format =
                        self.forest.format(name).map(|format| format.to_string()).unwrap_or_default();
                    table.row([on_terminal(name).into_owned(), kind.to_owned(), format]);
                }
                table.write(&mut out, "")?;
            }
            Line::Columns => {
                for column in self.cube.columns() {
                    writeln!(out, "{}", on_terminal(&column))?;
                }
            }
            Line::Values(column) => self.write_values(&column, &mut out)?,
            Line::Explain(is_on) => {
                self.explain = is_on;
                writeln!(out, "answers are {}", if is_on { "explained" } else { "shown" })?;
            }
            Line::Digits(digits) => {
                self.digits = digits;
                match digits {
                    Some(digits) => {
                        writeln!(out, "measures have {}", counted(digits.into(), "decimal", "decimals"))?
                    }
                    None => writeln!(out, "measures have the formats of the forest")?,
                }
            }
            Line::Export(path) => {
                let last = self.last.clone().ok_or("there is no answer yet; ask first, then export")?;
                self.ask(&Arguments {
                    output: Some(path),
                    across: None,
                    format: None,
                    explain: None,
                    ..last
                })?;
            }
            Line::Question(options) => {
                let arguments = self.arguments(options)?;
                drop(out);
                self.ask(&arguments)?;
                self.last = Some(arguments);
            }
        }
        Ok(Then::GoOn)
    }

    /// Reads the options of a question, and adds what holds for all of them.
    fn arguments(&self, options: Vec<String>) -> Result<Arguments, Box<dyn Error>> {
        let began = self.began;
        let place = [
            "--forest".into(),
            began.forest().as_os_str().to_owned(),
            "--table".into(),
            began.table().into(),
        ];
        let words = place.into_iter().chain(options.into_iter().map(Into::into));
        let mut asked = Question::try_parse_from(words).map_err(|error| plainly(&error))?.arguments;
        if asked.interactive || asked.config.is_some() || asked.spill_directory.is_some() {
            return Err(
                "--interactive, --config and --spill-directory belong behind `filbert cube`, not into a line"
                    .into(),
            );
        }
        if self.explain && !asked.drill_through && asked.format.is_none() && asked.output.is_none() {
            asked.explain = asked.explain.or(Some(Explain::Text));
        }
        asked.digits = asked.digits.or(self.digits);
        asked.marker = asked.marker.or_else(|| began.marker.clone());
        asked.timeout_ms = asked.timeout_ms.or(began.timeout_ms);
        asked.parallelism = asked.parallelism.or(began.parallelism);
        asked.partitions = asked.partitions.or(began.partitions);
        asked.memory_mb = asked.memory_mb.or(began.memory_mb);
        asked.errors_as_values |= began.errors_as_values;
        asked.unknown_measures_as_empty |= began.unknown_measures_as_empty;
        if asked.shard_by.is_empty() {
            asked.shard_by.clone_from(&began.shard_by);
        }
        Ok(asked)
    }

    fn ask(&self, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
        let format = Format::of(arguments)?;
        path::check_output(arguments)?;
        let query = arguments.query(self.forest)?;
        let watch = Watch::begin(self.member, self.interruption);
        let out = Destination::open(arguments.output.as_deref(), self.interruption)?;
        let open = |forest: Forest| open((self.member, self.began), &self.table, forest);
        let source = Source { cube: &self.cube, forest: self.forest, open: &open };
        watch.ask((arguments, format), &source, query, out).map_err(|error| watch.cause(error))
    }

    fn write_values(&self, column: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
        let watch = Watch::begin(self.member, self.interruption);
        let found = watch.answer(&self.counts, rows_by(&[column])).map_err(|error| watch.cause(error))?;
        let values = values_of(found.batch().column(0).as_ref())?;
        for value in values.iter().take(MOST_VALUES) {
            writeln!(out, "{}", on_terminal(value))?;
        }
        if values.len() > MOST_VALUES {
            writeln!(out, "({} of {} values)", grouped(MOST_VALUES as u64), grouped(values.len() as u64))?;
        }
        Ok(())
    }
}

/// Makes a cube over the table in memory.
fn open(
    (member, began): (&Member, &Arguments),
    table: &MemoryTable,
    forest: Forest,
) -> Result<Cube, Box<dyn Error>> {
    built(member.cube(forest, table.clone()), member, began)
}

/// Takes the usage, which only a command line needs, from a message of the reader of options.
fn plainly(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.split("\n\nUsage").next().unwrap_or(text).trim_end().to_owned()
}
