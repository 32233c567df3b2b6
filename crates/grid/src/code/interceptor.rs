//! Code that stands between a map and those who use it.

use super::registry::{guarded, make};
use super::{Code, Registry};
use crate::error::GridResult;
use filbert_pool::caught;
use filbert_wire::Data;
use std::sync::Arc;

/// Sees what is read from a map, put into it and removed from it, and may give something else in its place. A map has any number of
/// them ([`Map::add_interceptor`](crate::Map::add_interceptor)): each is given what the one before it made.
///
/// It runs where the entry is, alone with the partition: what it does should be short. An error or a panic before a change fails the
/// operation, and nothing is changed. What each does by default is nothing.
///
/// | Intercepted as | Operations |
/// |---|---|
/// | read | get, get_all (of keys that are there, and nothing is called after it), what an entry processor sees |
/// | put | put, set, try_put, put_if_absent, replace, put_all, what an entry processor sets |
/// | removed | remove, delete, try_remove, remove by predicate, evict, what an entry processor removes |
///
/// Queries, key sets, values and listeners show what is stored. Entries that expire or make room go without a word, and so does all
/// when a map is cleared.
///
/// ```
/// use filbert_grid::{Code, Grid, Interceptor, Registry};
/// use filbert_wire::Data;
///
/// /// Keeps bytes in upper case.
/// struct Upper;
///
/// impl Interceptor for Upper {
///     fn intercept_put(&self, _old: Option<&Data>, new: &Data) -> Result<Option<Data>, String> {
///         Ok(Some(Data::new(new.type_id(), &new.payload().to_ascii_uppercase())))
///     }
/// }
///
/// let stages = filbert_pool::Stages::start()?;
/// let grid = Grid::new(&stages);
/// grid.registry().add_interceptor("upper", |_| Ok(Upper));
/// let (map, key, bytes) = (grid.map("words"), Data::new(-3, b"k"), |text: &[u8]| Data::new(-12, text));
/// let upper = map.add_interceptor(&Code::named("upper", bytes(b""))).wait()?;
/// map.put(key.clone(), bytes(b"nut")).wait()?;
/// assert_eq!(map.get(key).wait()?, Some(bytes(b"NUT")));
/// assert!(map.remove_interceptor(&upper));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Interceptor: Send + Sync {
    /// What a reader is given in place of `value`, which is `None` when the key is not there; `None` leaves it as it is.
    fn intercept_get(&self, _value: Option<&Data>) -> Result<Option<Data>, String> {
        Ok(None)
    }

    /// A reader is given `value`.
    fn after_get(&self, _value: Option<&Data>) {}

    /// What is stored in place of `new`; `None` leaves it as it is. `old` is what is stored now.
    fn intercept_put(&self, _old: Option<&Data>, _new: &Data) -> Result<Option<Data>, String> {
        Ok(None)
    }

    /// `value` is stored.
    fn after_put(&self, _value: &Data) {}

    /// What whoever removes is given in place of `removed`; `None` leaves it as it is. The entry goes either way.
    fn intercept_remove(&self, _removed: &Data) -> Result<Option<Data>, String> {
        Ok(None)
    }

    /// An entry is gone, and whoever removed it is given `value`.
    fn after_remove(&self, _value: &Data) {}
}

/// What errors call an interceptor.
const INTERCEPTOR: &str = "interceptor";

impl Registry {
    /// The same, with an interceptor that `make` makes from the caller's argument.
    #[must_use]
    pub fn with_interceptor<I: Interceptor + 'static>(
        self,
        name: &str,
        make: impl Fn(&Data) -> Result<I, String> + Send + Sync + 'static,
    ) -> Self {
        self.add_interceptor(name, make);
        self
    }

    /// The same, with an interceptor that clients send as an `IdentifiedDataSerializable` of that factory and class; `make` reads its
    /// fields.
    #[must_use]
    pub fn with_interceptor_class<I: Interceptor + 'static>(
        self,
        factory: i32,
        class: i32,
        make: impl Fn(&[u8]) -> Result<I, String> + Send + Sync + 'static,
    ) -> Self {
        self.add_interceptor_class(factory, class, make);
        self
    }

    /// Adds an interceptor, in place of one of the same name. Maps that have that one keep it.
    pub fn add_interceptor<I: Interceptor + 'static>(
        &self,
        name: &str,
        make: impl Fn(&Data) -> Result<I, String> + Send + Sync + 'static,
    ) {
        let make = move |argument: &Data| Ok(Box::new(make(argument)?) as Box<dyn Interceptor>);
        let mut shelf = self.interceptors.write().unwrap_or_else(|broken| broken.into_inner());
        shelf.named.insert(name.to_owned(), Arc::new(make));
    }

    /// Adds an interceptor by the ids of its class, in place of one with the same ids.
    pub fn add_interceptor_class<I: Interceptor + 'static>(
        &self,
        factory: i32,
        class: i32,
        make: impl Fn(&[u8]) -> Result<I, String> + Send + Sync + 'static,
    ) {
        let make = move |fields: &[u8]| Ok(Box::new(make(fields)?) as Box<dyn Interceptor>);
        let mut shelf = self.interceptors.write().unwrap_or_else(|broken| broken.into_inner());
        shelf.classes.insert((factory, class), Arc::new(make));
    }

    /// The interceptor that `code` says.
    pub(crate) fn interceptor(&self, code: &Code) -> GridResult<Guarded> {
        let made = make(&self.interceptors, INTERCEPTOR, code)?;
        Ok(Guarded { made: made.into(), name: code.to_string().into() })
    }
}

/// An interceptor with its name; its panics are its own.
#[derive(Clone)]
pub(crate) struct Guarded {
    made: Arc<dyn Interceptor>,
    name: Arc<str>,
}

impl Guarded {
    /// Asks it for something else than what there is.
    pub(crate) fn ask(
        &self,
        question: impl FnOnce(&dyn Interceptor) -> Result<Option<Data>, String>,
    ) -> GridResult<Option<Data>> {
        guarded(INTERCEPTOR, &self.name, || question(&*self.made))
    }

    /// Tells it of something that is done. A panic cannot undo it, and whoever did it is not told that it failed.
    pub(crate) fn tell(&self, news: impl FnOnce(&dyn Interceptor)) {
        if let Err(message) = caught(|| news(&*self.made)) {
            tracing::warn!(interceptor = &*self.name, message, "an interceptor panicked after an operation");
        }
    }
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Interceptor").field(&self.name).finish()
    }
}
