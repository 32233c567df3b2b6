//! Statements in a member of the command's own. Its rows are read on stage `mixed`, one batch at a time.

use super::super::super::{Outcome, progress};
use super::{Came, Engine, Watch};
use filbert::{Member, Session};
use futures::StreamExt;
use std::error::Error;

/// A session of that member.
pub(in super::super) struct Local {
    member: Member,
    session: Session,
}

impl Local {
    pub(in super::super) fn new(member: &Member) -> Self {
        Self { member: member.clone(), session: member.sql().session() }
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
}

impl Engine for Local {
    fn run(&mut self, text: &str, watch: Watch<'_>, take: &mut dyn FnMut(Came<'_>) -> Outcome) -> Outcome {
        let mut query = self.session.query(text)?;
        let read = async move { (query.description().await, query) };
        let (description, mut query) = self.wait(read, watch)?;
        take(Came::Planned(&description?))?;
        loop {
            let read = async move { (query.next().await, query) };
            let (next, again) = self.wait(read, watch)?;
            let Some(batch) = next else { return Ok(()) };
            take(Came::Rows(&batch?))?;
            query = again;
        }
    }
}
