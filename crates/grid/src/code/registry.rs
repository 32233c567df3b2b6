//! What code a member knows. Filled before the member serves, or while it runs; read by operations.

use super::{Code, Entry, EntryChange, EntryProcessor};
use crate::error::{GridError, GridResult};
use filbert_pool::caught;
use filbert_wire::Data;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

type Make<C, A> = Arc<dyn Fn(&A) -> Result<Box<C>, String> + Send + Sync>;

/// Makers of one kind of code, by name and by ids.
struct Shelf<C: ?Sized> {
    named: HashMap<String, Make<C, Data>>,
    classes: HashMap<(i32, i32), Make<C, [u8]>>,
}

impl<C: ?Sized> Default for Shelf<C> {
    fn default() -> Self {
        Self { named: HashMap::new(), classes: HashMap::new() }
    }
}

/// The code that a member knows; a handle that is cheap to clone.
///
/// ```
/// use filbert_grid::{Entry, EntryProcessor, Registry};
/// use filbert_wire::Data;
///
/// struct Overwrite(Data);
///
/// impl EntryProcessor for Overwrite {
///     fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
///         entry.set_value(self.0.clone());
///         Ok(None)
///     }
/// }
///
/// let registry = Registry::new().with_processor("overwrite", |argument| Ok(Overwrite(argument.clone())));
/// # drop(registry);
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    processors: Arc<RwLock<Shelf<dyn EntryProcessor>>>,
}

impl Registry {
    /// One that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

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
        let shelf = self.processors.read().unwrap_or_else(|broken| broken.into_inner());
        let made = match code {
            Code::Named { name, argument } => {
                let make = shelf.named.get(name).cloned();
                drop(shelf);
                make.map(|make| caught(|| make(argument)))
            }
            Code::Class { factory, class, fields } => {
                let make = shelf.classes.get(&(*factory, *class)).cloned();
                drop(shelf);
                make.map(|make| caught(|| make(fields)))
            }
        };
        let Some(made) = made else {
            return Err(GridError::NotRegistered { what: PROCESSOR, name: code.to_string() });
        };
        match flat(made) {
            Ok(made) => Ok(Processor { made: made.into(), name: code.to_string().into() }),
            Err(message) => Err(GridError::UserCode { what: PROCESSOR, name: code.to_string(), message }),
        }
    }
}

const PROCESSOR: &str = "entry processor";

/// A panic is a failure like another one, and says so.
fn flat<T>(result: Result<Result<T, String>, String>) -> Result<T, String> {
    result.unwrap_or_else(|message| Err(format!("it panicked: {message}")))
}

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
        match flat(caught(|| self.made.process(&mut entry))) {
            Ok(given) => Ok((given, entry.into_change())),
            Err(message) => {
                Err(GridError::UserCode { what: PROCESSOR, name: self.name.to_string(), message })
            }
        }
    }
}

impl std::fmt::Debug for Processor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Processor").field(&self.name).finish()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shelf = self.processors.read().unwrap_or_else(|broken| broken.into_inner());
        let mut names: Vec<_> = shelf.named.keys().collect();
        names.sort();
        f.debug_struct("Registry").field("processors", &names).field("classes", &shelf.classes.len()).finish()
    }
}
