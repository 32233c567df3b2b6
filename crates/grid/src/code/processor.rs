//! Entry processors in the registry, and how one is run.

use super::registry::{guarded, make};
use super::{Code, Entry, EntryChange, EntryProcessor, Registry};
use crate::error::GridResult;
use filbert_pool::caught;
use filbert_wire::Data;
use std::sync::Arc;

impl Registry {
    /// The same, with an entry processor that `make` makes from the caller's argument.
    #[must_use]
    pub fn with_processor<P: EntryProcessor + 'static>(
        self,
        name: &str,
        make: impl Fn(&Data) -> Result<P, String> + Send + Sync + 'static,
    ) -> Self {
        self.add_processor(name, make);
        self
    }

    /// The same, with an entry processor that clients send as an `IdentifiedDataSerializable` of that factory and class; `make`
    /// reads its fields.
    #[must_use]
    pub fn with_processor_class<P: EntryProcessor + 'static>(
        self,
        factory: i32,
        class: i32,
        make: impl Fn(&[u8]) -> Result<P, String> + Send + Sync + 'static,
    ) -> Self {
        self.add_processor_class(factory, class, make);
        self
    }

    /// Adds an entry processor, in place of one of the same name.
    pub fn add_processor<P: EntryProcessor + 'static>(
        &self,
        name: &str,
        make: impl Fn(&Data) -> Result<P, String> + Send + Sync + 'static,
    ) {
        let make = move |argument: &Data| Ok(Box::new(make(argument)?) as Box<dyn EntryProcessor>);
        let mut shelf = self.processors.write().unwrap_or_else(|broken| broken.into_inner());
        shelf.named.insert(name.to_owned(), Arc::new(make));
    }

    /// Adds an entry processor by the ids of its class, in place of one with the same ids.
    pub fn add_processor_class<P: EntryProcessor + 'static>(
        &self,
        factory: i32,
        class: i32,
        make: impl Fn(&[u8]) -> Result<P, String> + Send + Sync + 'static,
    ) {
        let make = move |fields: &[u8]| Ok(Box::new(make(fields)?) as Box<dyn EntryProcessor>);
        let mut shelf = self.processors.write().unwrap_or_else(|broken| broken.into_inner());
        shelf.classes.insert((factory, class), Arc::new(make));
    }

    /// The entry processor that `code` says.
    pub(crate) fn processor(&self, code: &Code) -> GridResult<Processor> {
        let made = make(&self.processors, PROCESSOR, code)?;
        Ok(Processor { made: made.into(), name: code.to_string().into() })
    }
}

const PROCESSOR: &str = "entry processor";

/// An entry processor with its name; its panics are its own.
#[derive(Clone)]
pub(crate) struct Processor {
    made: Arc<dyn EntryProcessor>,
    name: Arc<str>,
}

impl Processor {
    pub(crate) fn is_offloadable(&self) -> bool {
        caught(|| self.made.is_offloadable()).unwrap_or(false)
    }

    /// Runs it on one entry: what it gives, and what it decided.
    pub(crate) fn run(
        &self,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> GridResult<(Option<Data>, Option<EntryChange>)> {
        let mut entry = Entry::new(key, value);
        let given = guarded(PROCESSOR, &self.name, || self.made.process(&mut entry))?;
        Ok((given, entry.into_change()))
    }
}

impl std::fmt::Debug for Processor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Processor").field(&self.name).finish()
    }
}
