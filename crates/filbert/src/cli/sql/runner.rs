//! Runs one statement and writes its rows: looks at the signals meanwhile, and says how far it is.

use super::super::interruption::Interruption;
use super::super::progress::Progress;
use super::super::text::grouped;
use super::super::{Outcome, is_broken_pipe};
use super::engine::{Came, Engine};
use super::place::StatementError;
use super::print::{Format, PrintError, Printer, Summary};
use super::splitter::Statement;
use super::terminal::{Pager, Terminal};
use filbert::pool::Clock;
use filbert::sql::{ColumnNaming, FileProgress, shown_columns};
use filbert::{Description, Member, SqlError, StatementKind};
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::io::{BufWriter, IsTerminal, Write};
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

/// Where rows go.
pub(super) struct Output {
    pub(super) to: Box<dyn Write>,
    pub(super) is_terminal: bool,
    /// The form of the file that it is, where its name says one.
    pub(super) format: Option<Format>,
}

/// Statements, with how they are shown.
pub(super) struct Runner {
    /// Shared with who completes what is typed.
    engine: Rc<RefCell<dyn Engine>>,
    clock: Clock,
    interruption: Interruption,
    /// How rows are written.
    pub(super) format: Format,
    /// Whether the time is told.
    pub(super) timing: bool,
    /// How a terminal shows rows.
    pub(super) terminal: Terminal,
    /// Somebody looks at the progress.
    is_watched: bool,
}

impl Runner {
    pub(super) fn new(
        member: &Member,
        engine: Rc<RefCell<dyn Engine>>,
        interruption: Interruption,
        format: Format,
    ) -> Self {
        let (clock, is_watched) = (member.stages().clock(), std::io::stderr().is_terminal());
        let terminal = Terminal::new();
        Self { engine, clock, interruption, format, timing: true, terminal, is_watched }
    }

    /// A signal that came before the next statement is not meant for it.
    pub(super) fn begin(&self) {
        self.interruption.forget();
    }

    /// Waits for so long, or until it is interrupted.
    pub(super) fn rest(&self, time: Duration) -> Outcome {
        let (tell, told) = mpsc::channel();
        self.interruption.cover(move || {
            // Nobody waits any longer when that fails.
            let _ = tell.send(());
        });
        // Nobody tells anything unless it is a signal.
        let _ = told.recv_timeout(time);
        self.interruption.interrupted().map_or(Ok(()), |interrupted| Err(interrupted.into()))
    }

    /// Runs a statement to its end, or until it is interrupted; returns how many rows it gave.
    pub(super) fn run(&self, statement: &Statement, out: &mut Output) -> Result<u64, Box<dyn Error>> {
        self.run_or(statement, out, None)
    }

    /// Runs a statement as [`Self::run`]; where it gives no rows, `empty` is said instead.
    pub(super) fn run_or(
        &self,
        statement: &Statement,
        out: &mut Output,
        empty: Option<&str>,
    ) -> Result<u64, Box<dyn Error>> {
        let format = out.format.unwrap_or(self.format);
        if !(self.terminal.is_paged && out.is_terminal && format == Format::Table) {
            return self.show(statement, (format, &mut *out.to, out.is_terminal), empty);
        }
        let mut pager = Pager::start(|name| std::env::var(name).ok())?;
        let mut to = BufWriter::new(&mut pager);
        let ran = self.show(statement, (format, &mut to, true), empty);
        let ran = ran.and_then(|rows| Ok(to.flush().map(|()| rows)?));
        drop(to);
        pager.end()?;
        // Its user may have seen enough.
        ran.or_else(|error| if is_broken_pipe(&*error) { Ok(0) } else { Err(error) })
    }

    fn show(
        &self,
        statement: &Statement,
        (format, out, is_terminal): (Format, &mut dyn Write, bool),
        empty: Option<&str>,
    ) -> Result<u64, Box<dyn Error>> {
        let progress = Progress::begin(&self.clock, self.is_watched);
        let rows = Cell::new(0);
        let files = RefCell::new(FileProgress::default());
        let mut watch = || -> Outcome {
            let (read, total) = (files.borrow().read_bytes(), files.borrow().total_bytes());
            match total {
                0 => progress.show(|| format!("{} rows so far", grouped(rows.get()))),
                total => progress.show_bytes(read, total),
            }
            self.interruption.interrupted().map_or(Ok(()), |interrupted| Err(interrupted.into()))
        };
        let mut printer: Option<Box<dyn Printer>> = None;
        let mut take = |came: Came<'_>| {
            match (came, &mut printer) {
                (Came::Begun(begun), _) => *files.borrow_mut() = begun.clone(),
                // Rows of a program are those that were asked for.
                (Came::Planned(description), _)
                    if description.kind == StatementKind::CreateTableAs && format != Format::Table => {}
                (Came::Planned(description), printer) => {
                    let named = named(&statement.text, description);
                    *printer = Some(match is_terminal {
                        true => format.fitted(&named, self.terminal.view()),
                        false => format.printer(&named),
                    });
                }
                (Came::Rows(batch), Some(printer)) => {
                    progress.hide();
                    printer.batch(batch, out).map_err(PrintError::plainly)?;
                    rows.set(rows.get() + batch.num_rows() as u64);
                    if is_terminal && printer.has_written() {
                        progress.end();
                    }
                }
                (Came::Rows(_), None) => {}
            }
            Ok(())
        };
        let ran = self.engine.borrow_mut().run(&statement.text, &mut watch, &mut take);
        progress.hide();
        ran.map_err(|error| self.told(statement, error))?;
        let elapsed = self.timing.then(|| progress.elapsed());
        match (&mut printer, empty) {
            (Some(_), Some(empty)) if rows.get() == 0 => writeln!(out, "{empty}")?,
            (Some(printer), _) => {
                printer.end(&Summary { rows: rows.get(), elapsed }, out).map_err(PrintError::plainly)?;
            }
            (None, _) => {}
        }
        Ok(rows.get())
    }

    /// The error of a statement as people are told: with its place, and as an interruption if that is what it is.
    fn told(&self, statement: &Statement, error: Box<dyn Error>) -> Box<dyn Error> {
        match (error.downcast::<SqlError>(), self.interruption.interrupted()) {
            (Ok(error), Some(interrupted)) if matches!(*error, SqlError::Cancelled) => interrupted.into(),
            (Ok(error), _) => StatementError::new(statement, &error).into(),
            (Err(other), _) => other,
        }
    }
}

/// A description whose columns have the names that people know: `avg(price)`, `1`.
fn named(text: &str, description: &Description) -> Description {
    let mut named = description.clone();
    if named.kind == StatementKind::Rows {
        named.columns = shown_columns(text, &description.columns, ColumnNaming::Expression);
    }
    named
}
