//! Functions of one value: what an atomic number or reference is changed by, and what a ringbuffer's items are chosen by.

use super::registry::{guarded, make};
use super::{Code, Registry};
use crate::error::{GridError, GridResult};
use filbert_wire::{Data, FromData};
use std::sync::Arc;

/// A function of one value that clients call by name. It runs where the value is, alone with its structure: what it does should be short.
///
/// An [atomic number](crate::AtomicLong) gives it a `long` and wants one back; an [atomic reference](crate::AtomicReference) may give it
/// none, and takes none; a [ringbuffer](crate::Ringbuffer) gives it an item and wants a `boolean`. The reader of a map's journal may give it
/// a change, and want a `boolean` or anything else.
///
/// ```
/// use filbert_grid::{Code, Function, FunctionError, Grid};
/// use filbert_wire::{Data, FromData, ToData};
///
/// struct Double;
///
/// impl Function for Double {
///     fn apply(&self, value: Option<&Data>) -> Result<Option<Data>, FunctionError> {
///         let value = value.ok_or("there is no value")?;
///         let number = i64::from_data(value).map_err(|other| FunctionError::OtherType(other.to_string()))?;
///         Ok(Some((2 * number).to_data().map_err(|error| error.to_string())?))
///     }
/// }
///
/// let stages = filbert_pool::Stages::start()?;
/// let grid = Grid::new(&stages);
/// grid.registry().add_function("double", |_| Ok(Double));
/// let number = grid.atomic_long("n");
/// number.set(21).wait()?;
/// assert_eq!(number.alter_and_get(&Code::named("double", 0_i64.to_data()?)).wait()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Function: Send + Sync {
    /// What it makes of a value.
    fn apply(&self, value: Option<&Data>) -> Result<Option<Data>, FunctionError>;
}

/// Why a function made nothing of a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// The value is of a type that it does not take.
    #[error("the value is of another type: {0}")]
    OtherType(String),
    /// Whatever else.
    #[error("{0}")]
    Failed(String),
}

impl From<String> for FunctionError {
    fn from(message: String) -> Self {
        FunctionError::Failed(message)
    }
}

impl From<&str> for FunctionError {
    fn from(message: &str) -> Self {
        FunctionError::Failed(message.to_owned())
    }
}

/// What errors call a function.
const FUNCTION: &str = "function";

impl Registry {
    /// The same, with a function that `make` makes from the caller's argument.
    #[must_use]
    pub fn with_function<F: Function + 'static>(
        self,
        name: &str,
        make: impl Fn(&Data) -> Result<F, String> + Send + Sync + 'static,
    ) -> Self {
        self.add_function(name, make);
        self
    }

    /// The same, with a function that clients send as an `IdentifiedDataSerializable` of that factory and class; `make` reads its fields.
    #[must_use]
    pub fn with_function_class<F: Function + 'static>(
        self,
        factory: i32,
        class: i32,
        make: impl Fn(&[u8]) -> Result<F, String> + Send + Sync + 'static,
    ) -> Self {
        self.add_function_class(factory, class, make);
        self
    }

    /// Adds a function, in place of one of the same name.
    pub fn add_function<F: Function + 'static>(
        &self,
        name: &str,
        make: impl Fn(&Data) -> Result<F, String> + Send + Sync + 'static,
    ) {
        let make = move |argument: &Data| Ok(Box::new(make(argument)?) as Box<dyn Function>);
        let mut shelf = self.functions.write().unwrap_or_else(|broken| broken.into_inner());
        shelf.named.insert(name.to_owned(), Arc::new(make));
    }

    /// Adds a function by the ids of its class, in place of one with the same ids.
    pub fn add_function_class<F: Function + 'static>(
        &self,
        factory: i32,
        class: i32,
        make: impl Fn(&[u8]) -> Result<F, String> + Send + Sync + 'static,
    ) {
        let make = move |fields: &[u8]| Ok(Box::new(make(fields)?) as Box<dyn Function>);
        let mut shelf = self.functions.write().unwrap_or_else(|broken| broken.into_inner());
        shelf.classes.insert((factory, class), Arc::new(make));
    }

    /// The function that `code` says.
    pub(crate) fn function(&self, code: &Code) -> GridResult<Called> {
        Ok(Called { made: make(&self.functions, FUNCTION, code)?, name: code.to_string() })
    }
}

/// A function with its name; its panics are its own.
pub(crate) struct Called {
    made: Box<dyn Function>,
    name: String,
}

impl Called {
    pub(crate) fn apply(&self, value: Option<&Data>) -> GridResult<Option<Data>> {
        let mut other_type = false;
        let applied = guarded(FUNCTION, &self.name, || {
            self.made.apply(value).map_err(|error| {
                other_type = matches!(error, FunctionError::OtherType(_));
                error.to_string()
            })
        });
        match applied {
            Err(GridError::UserCode { what, name, message }) if other_type => {
                Err(GridError::OtherType { what, name, message })
            }
            applied => applied,
        }
    }

    /// Whether it gives true for a value: as a filter.
    pub(crate) fn takes(&self, value: &Data) -> GridResult<bool> {
        let given =
            self.apply(Some(value))?.ok_or_else(|| self.gave("it gave nothing, not true or false"))?;
        bool::from_data(&given).map_err(|other| self.gave(other.to_string()))
    }

    /// A result that is of a type which cannot be used.
    pub(crate) fn gave(&self, problem: impl Into<String>) -> GridError {
        GridError::OtherType { what: FUNCTION, name: self.name.clone(), message: problem.into() }
    }
}

impl std::fmt::Debug for Called {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Function").field(&self.name).finish()
    }
}
