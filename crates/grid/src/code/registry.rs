//! What code a member knows. Filled before the member serves, or while it runs; read by operations.

use super::store::Stores;
use super::{Code, EntryProcessor, ExecutorTask, Function, Interceptor};
use crate::error::{GridError, GridResult};
use filbert_pool::caught;
use filbert_wire::Data;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

type Make<C, A> = Arc<dyn Fn(&A) -> Result<Box<C>, String> + Send + Sync>;

/// Makers of one kind of code, by name and by ids.
pub(super) struct Shelf<C: ?Sized> {
    pub(super) named: HashMap<String, Make<C, Data>>,
    pub(super) classes: HashMap<(i32, i32), Make<C, [u8]>>,
}

impl<C: ?Sized> Default for Shelf<C> {
    fn default() -> Self {
        Self { named: HashMap::new(), classes: HashMap::new() }
    }
}

/// Makes the code that `code` says; `what` names the kind in errors.
pub(super) fn make<C: ?Sized>(
    shelf: &RwLock<Shelf<C>>,
    what: &'static str,
    code: &Code,
) -> GridResult<Box<C>> {
    let known = shelf.read().unwrap_or_else(|broken| broken.into_inner());
    // The maker runs outside the lock: it is user code, and may register more.
    let name = code.to_string();
    let made = match code {
        Code::Named { name: known_as, argument } => {
            let make = known.named.get(known_as).cloned();
            drop(known);
            make.map(|make| guarded(what, &name, || make(argument)))
        }
        Code::Class { factory, class, fields } => {
            let make = known.classes.get(&(*factory, *class)).cloned();
            drop(known);
            make.map(|make| guarded(what, &name, || make(fields)))
        }
        Code::Runnable(inside) => {
            drop(known);
            return make(shelf, what, inside);
        }
    };
    made.unwrap_or(Err(GridError::NotRegistered { what, name }))
}

/// Runs user code of that kind and name. A panic is a failure like another one, and says so.
pub(super) fn guarded<T>(
    what: &'static str,
    name: &str,
    code: impl FnOnce() -> Result<T, String>,
) -> GridResult<T> {
    let result = caught(code).unwrap_or_else(|message| Err(format!("it panicked: {message}")));
    result.map_err(|message| GridError::UserCode { what, name: name.to_owned(), message })
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
    pub(super) processors: Arc<RwLock<Shelf<dyn EntryProcessor>>>,
    pub(super) functions: Arc<RwLock<Shelf<dyn Function>>>,
    pub(super) interceptors: Arc<RwLock<Shelf<dyn Interceptor>>>,
    pub(super) tasks: Arc<RwLock<Shelf<dyn ExecutorTask>>>,
    pub(super) stores: Stores,
}

impl Registry {
    /// One that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Registry {
    /// The names of the stores that maps can have behind them, in order.
    pub fn store_names(&self) -> Vec<String> {
        self.stores.names()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Registry");
        let processors = self.processors.read().unwrap_or_else(|broken| broken.into_inner());
        let interceptors = self.interceptors.read().unwrap_or_else(|broken| broken.into_inner());
        let tasks = self.tasks.read().unwrap_or_else(|broken| broken.into_inner());
        debug
            .field("processors", &sorted(&processors.named))
            .field("processor_classes", &processors.classes.len());
        let functions = self.functions.read().unwrap_or_else(|broken| broken.into_inner());
        debug
            .field("functions", &sorted(&functions.named))
            .field("function_classes", &functions.classes.len());
        debug
            .field("interceptors", &sorted(&interceptors.named))
            .field("interceptor_classes", &interceptors.classes.len());
        debug.field("tasks", &sorted(&tasks.named)).field("task_classes", &tasks.classes.len());
        debug.field("map_stores", &self.stores.names()).finish()
    }
}

fn sorted<T>(named: &HashMap<String, T>) -> Vec<&String> {
    let mut names: Vec<_> = named.keys().collect();
    names.sort();
    names
}
