//! Runs one statement and writes its rows: looks at the signals while it waits, and says how far it is.

use super::super::Outcome;
use super::super::interruption::Interruption;
use super::super::progress;
use super::super::text::grouped;
use super::place::StatementError;
use super::print::{Format, PrintError, Summary};
use super::splitter::Statement;
use filbert::{Member, Session, SqlError, TaskError, TaskFuture};
use futures::StreamExt;
use std::error::Error;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// How often a running statement is looked at.
const EVERY: Duration = Duration::from_millis(50);

/// Statements that take less are not worth a line of progress.
const SOON: Duration = Duration::from_millis(500);

/// Where rows go.
pub(super) struct Output {
    pub(super) to: Box<dyn Write>,
    pub(super) is_terminal: bool,
}

/// Statements of one session, with how they are shown.
pub(super) struct Runner<'m> {
    member: &'m Member,
    session: Session,
    interruption: Interruption,
    /// How rows are written.
    pub(super) format: Format,
    /// Whether the time is told.
    pub(super) timing: bool,
    /// Somebody looks at the progress.
    is_watched: bool,
}

/// How far a statement is.
struct Progress {
    began: Duration,
    rows: u64,
    /// A line of progress would stand among rows.
    is_hidden: bool,
}

impl<'m> Runner<'m> {
    pub(super) fn new(member: &'m Member, interruption: Interruption, format: Format) -> Self {
        let (session, is_watched) = (member.sql().session(), std::io::stderr().is_terminal());
        Self { member, session, interruption, format, timing: true, is_watched }
    }

    /// The session whose statements these are.
    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// A signal that came before the next statement is not meant for it.
    pub(super) fn begin(&self) {
        self.interruption.forget();
    }

    /// Runs a statement to its end, or until it is interrupted.
    pub(super) fn run(&self, statement: &Statement, out: &mut Output) -> Outcome {
        let clock = self.member.stages().clock();
        let mut progress = Progress { began: clock.now(), rows: 0, is_hidden: !self.is_watched };
        let wrong = |error: SqlError| self.wrong(statement, &error);
        let mut query = self.session.query(&statement.text).map_err(wrong)?;
        let canceller = query.canceller();
        // Refused only when the stages shut down, which ends queries as well.
        self.interruption.cover(move || {
            let _ = canceller.cancel().map(TaskFuture::detach);
        });
        let read = async move { (query.description().await, query) };
        let (description, mut query) = self.wait(read, &progress)?;
        let mut printer = self.format.printer(&description.map_err(wrong)?);
        loop {
            let read = async move { (query.next().await, query) };
            let (next, again) = self.wait(read, &progress)?;
            let Some(batch) = next else { break };
            let batch = batch.map_err(wrong)?;
            printer.batch(&batch, &mut out.to).map_err(broken)?;
            progress.rows += batch.num_rows() as u64;
            progress.is_hidden |= out.is_terminal && printer.has_written();
            query = again;
        }
        let elapsed = self.timing.then(|| clock.now().saturating_sub(progress.began));
        printer.end(&Summary { rows: progress.rows, elapsed }, &mut out.to).map_err(broken)?;
        Ok(())
    }

    /// Waits for what is read on another thread, unless a signal comes first.
    fn wait<T: Send + 'static>(
        &self,
        read: impl Future<Output = T> + Send + 'static,
        progress: &Progress,
    ) -> Result<T, Box<dyn Error>> {
        let mut coming = self.member.stages().mixed().spawn("read rows", read)?;
        let mut is_shown = false;
        let read = loop {
            if let Some(interrupted) = self.interruption.interrupted() {
                coming.cancel();
                break Err(interrupted.into());
            }
            match coming.wait_timeout(EVERY) {
                Err(TaskError::TimedOut { .. }) => is_shown |= self.show(progress),
                read => break read.map_err(Into::into),
            }
        };
        if is_shown {
            progress::show("");
        }
        read
    }

    /// True when there was something to show.
    fn show(&self, Progress { began, rows, is_hidden }: &Progress) -> bool {
        let elapsed = self.member.stages().clock().now().saturating_sub(*began);
        let is_worth_it = !is_hidden && elapsed >= SOON;
        if is_worth_it {
            let (rows, seconds) = (grouped(*rows), elapsed.as_secs_f64());
            progress::show(&format!("running: {seconds:.1} s, {rows} rows so far; Ctrl-C cancels"));
        }
        is_worth_it
    }

    fn wrong(&self, statement: &Statement, error: &SqlError) -> Box<dyn Error> {
        match (error, self.interruption.interrupted()) {
            (SqlError::Cancelled, Some(interrupted)) => interrupted.into(),
            _ => StatementError::new(statement, error).into(),
        }
    }
}

/// What is wrong with the output stays what it is: a reader that went away is no failure.
fn broken(error: PrintError) -> Box<dyn Error> {
    match error {
        PrintError::Io(error) => error.into(),
        other => other.into(),
    }
}
