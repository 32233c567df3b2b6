//! Statements in a member of the command's own. Its rows are read on stage `mixed`, one batch at a time.
//!
//! With a database, whatever a statement changed is on disk before the statement is said to be done.

use super::super::super::tell::tell;
use super::super::super::{Outcome, progress};
use super::{Came, Engine, Watch};
use filbert::sql::Database;
use filbert::{Description, Member, Session, StatementKind};
use futures::StreamExt;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// A session of that member.
pub(in super::super) struct Local {
    member: Member,
    session: Session,
    /// The database that keeps what statements change.
    database: Option<Arc<Database>>,
}

impl Local {
    pub(in super::super) fn new(member: &Member) -> Self {
        Self { member: member.clone(), session: member.sql().session(), database: None }
    }

    /// A session over a database, which nobody else can have meanwhile.
    pub(in super::super) fn over(member: &Member, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut local = Self::new(member);
        let (sql, path) = (member.sql().clone(), folder.to_owned());
        let opening = async move { Database::open(&sql, &path).await };
        let database = local.wait(opening, &mut || Ok(()))??;
        for problem in database.problems() {
            tell(format_args!("{}: {problem}", folder.display()));
        }
        local.database = Some(Arc::new(database));
        Ok(local)
    }

    /// Waits for what is read on another thread. What is given up is dropped there, which cancels it.
    fn wait<T: Send + 'static>(
        &self,
        read: impl Future<Output = T> + Send + 'static,
        watch: Watch<'_>,
    ) -> Result<T, Box<dyn Error>> {
        let coming = self.member.stages().mixed().spawn("read rows", read)?;
        progress::wait(coming, watch)
    }

    fn read(&self, text: &str, watch: Watch<'_>, take: &mut dyn FnMut(Came<'_>) -> Outcome) -> Outcome {
        let mut query = self.session.query(text)?;
        take(Came::Begun(&query.file_progress()))?;
        let read = async move { (query.description().await, query) };
        let (description, mut query) = self.wait(read, watch)?;
        let description = description?;
        self.warn(&description);
        take(Came::Planned(&description))?;
        loop {
            let read = async move { (query.next().await, query) };
            let (next, again) = self.wait(read, watch)?;
            let Some(batch) = next else { return Ok(()) };
            take(Came::Rows(&batch?))?;
            query = again;
        }
    }

    /// Says what a database does not keep.
    fn warn(&self, description: &Description) {
        if let (Some(database), StatementKind::Other(name)) = (&self.database, &description.kind)
            && ["CREATE MAPPING", "CREATE JOB"].contains(&&**name)
        {
            let folder = database.folder().display();
            tell(format_args!(
                "{folder} keeps tables and views; maps, mappings and jobs end with this command"
            ));
        }
    }

    /// Keeps what statements changed. A signal does not end this: it takes moments, and a change is kept or not.
    fn keep(&self) -> Outcome {
        let Some(database) = self.database.clone() else { return Ok(()) };
        let folder = database.folder().to_owned();
        let kept = self.wait(async move { database.save().await }, &mut || Ok(()))?;
        kept.map_err(|error| {
            let folder = folder.display();
            format!(
                "{error}. Changes since the last statement are in memory, and not in {folder}; the next statement tries again"
            )
            .into()
        })
    }
}

impl Engine for Local {
    fn run(&mut self, text: &str, watch: Watch<'_>, take: &mut dyn FnMut(Came<'_>) -> Outcome) -> Outcome {
        let ran = self.read(text, watch, take);
        // One that failed may have changed something before.
        let kept = self.keep();
        match (ran, kept) {
            (Err(error), Err(also)) => {
                tell(format_args!("error: {also}"));
                Err(error)
            }
            (ran, kept) => ran.and(kept),
        }
    }
}
