//! Runs one statement and writes its rows: looks at the signals meanwhile, and says how far it is.

use super::super::Outcome;
use super::super::interruption::Interruption;
use super::super::progress::Progress;
use super::super::text::grouped;
use super::engine::{Came, Engine};
use super::place::StatementError;
use super::print::{Format, PrintError, Printer, Summary};
use super::splitter::Statement;
use filbert::pool::Clock;
use filbert::{Member, SqlError};
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::io::{IsTerminal, Write};
use std::rc::Rc;

/// Where rows go.
pub(super) struct Output {
    pub(super) to: Box<dyn Write>,
    pub(super) is_terminal: bool,
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
        Self { engine, clock, interruption, format, timing: true, is_watched }
    }

    /// A signal that came before the next statement is not meant for it.
    pub(super) fn begin(&self) {
        self.interruption.forget();
    }

    /// Runs a statement to its end, or until it is interrupted.
    pub(super) fn run(&self, statement: &Statement, out: &mut Output) -> Outcome {
        let progress = Progress::begin(&self.clock, self.is_watched);
        let rows = Cell::new(0);
        let mut watch = || -> Outcome {
            progress.show(|| format!("{} rows so far", grouped(rows.get())));
            self.interruption.interrupted().map_or(Ok(()), |interrupted| Err(interrupted.into()))
        };
        let mut printer: Option<Box<dyn Printer>> = None;
        let mut take = |came: Came<'_>| {
            match (came, &mut printer) {
                (Came::Planned(description), printer) => *printer = Some(self.format.printer(description)),
                (Came::Rows(batch), Some(printer)) => {
                    progress.hide();
                    printer.batch(batch, &mut out.to).map_err(PrintError::plainly)?;
                    rows.set(rows.get() + batch.num_rows() as u64);
                    if out.is_terminal && printer.has_written() {
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
        if let Some(printer) = &mut printer {
            printer.end(&Summary { rows: rows.get(), elapsed }, &mut out.to).map_err(PrintError::plainly)?;
        }
        Ok(())
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
