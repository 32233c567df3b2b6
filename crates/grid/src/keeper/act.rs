//! Acts: operations on a structure's state, without what all structures share.

use super::{Kept, KeptTurn, State};
use crate::error::{GridError, GridResult};
use crate::operation::{Action, Operation, Step};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Something to do with a structure's state; see [`Operation`], which [`Do`] makes of it.
pub(crate) trait Act: Serialize + DeserializeOwned + Send + Sized + 'static {
    /// What it works on.
    type State: State;
    /// What it gives.
    type Output: Send + 'static;
    /// Its name in metrics, slow-operation reports and errors.
    const NAME: &'static str;
    /// What its caller must be allowed to do.
    const ACTION: Action;
    /// True when an io loop may run it at once.
    const SHORT: bool = true;
    /// True when it may give back what others wait for; see [`Operation::RELIEVES`].
    const RELIEVES: bool = matches!(Self::ACTION, Action::Lock | Action::Remove);

    /// Does it, or a part of it.
    fn run(&mut self, state: &mut Self::State, turn: &mut KeptTurn<'_, Self::State>) -> Step<Do<Self>>;

    /// Its result when it waited until its deadline.
    fn expired(self, _state: &mut Self::State) -> GridResult<Self::Output> {
        Err(GridError::TimedOut { operation: Self::NAME })
    }
}

/// An act as an operation: refused when the structure is destroyed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Do<A>(pub(super) A);

impl<A: Act> Operation for Do<A> {
    type Target = Kept<A::State>;
    type Output = A::Output;
    const NAME: &'static str = A::NAME;
    const ACTION: Action = A::ACTION;
    const SHORT: bool = A::SHORT;
    const RELIEVES: bool = A::RELIEVES;

    fn run(&mut self, kept: &mut Kept<A::State>, turn: &mut KeptTurn<'_, A::State>) -> Step<Self> {
        match kept.gone() {
            Some(gone) => Step::failed(gone),
            None => self.0.run(&mut kept.state, turn),
        }
    }

    fn expired(self, kept: &mut Kept<A::State>) -> GridResult<A::Output> {
        match kept.gone() {
            Some(gone) => Err(gone),
            None => self.0.expired(&mut kept.state),
        }
    }
}

/// Declares acts of a state: what a caller must be allowed to do, the name, the fields, what it gives (`long` when no io loop may run it,
/// `relieves` when it is taken also where others wait too long), what it does; and `or`, what it gives when it waited until its deadline.
macro_rules! acts {
    ($state:ty; $(
        $(#[$doc:meta])*
        $action:ident $name:literal $act:ident { $($(#[$about:meta])* $field:ident: $kind:ty),* $(,)? } -> $output:ty $(, $long:ident)?
        = |$this:ident, $target:ident, $turn:ident| $run:expr
        $(, or |$late:ident, $left:ident| $expired:expr)?;
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, serde::Serialize, serde::Deserialize)]
        pub(crate) struct $act {
            $($(#[$about])* pub(crate) $field: $kind,)*
        }

        impl $crate::keeper::Act for $act {
            type State = $state;
            type Output = $output;
            const NAME: &'static str = $name;
            const ACTION: $crate::operation::Action = $crate::operation::Action::$action;
            $($crate::keeper::acts!(@$long);)?

            fn run(
                &mut $this,
                $target: &mut $state,
                $turn: &mut $crate::keeper::KeptTurn<'_, $state>,
            ) -> $crate::operation::Step<$crate::keeper::Do<Self>> {
                $run
            }

            $(fn expired($late, $left: &mut $state) -> $crate::error::GridResult<$output> {
                $expired
            })?
        }
    )*};
    (@long) => { const SHORT: bool = false; };
    (@relieves) => { const RELIEVES: bool = true; };
}

pub(crate) use acts;

/// Declares methods of a handle whose acts may wait, each in two ways: with the result as an [`Invocation`](crate::Invocation), and for an
/// [`Answer`](crate::Answer).
macro_rules! waiting {
    ($(
        $(#[$doc:meta])*
        $name:ident, $name_to:ident(&$this:ident $(, $argument:ident: $kind:ty)*) -> $output:ty = $partition:expr, $act:expr;
    )*) => {$(
        $(#[$doc])*
        pub fn $name(&$this $(, $argument: $kind)*) -> $crate::invocation::Invocation<$output> {
            $this.keeper.call_on($partition, $act)
        }

        #[doc = concat!(
            "As [`Self::", stringify!($name), "`], for an answer: for whoever may be gone before it comes. Then nothing is done."
        )]
        pub fn $name_to<A: $crate::strands::Answer<$output>>(
            &$this $(, $argument: $kind)*,
            answer: impl FnOnce() -> A,
        ) -> $crate::strands::Invoked<$output> {
            $this.keeper.invoke_on($partition, $act, answer)
        }
    )*};
}

pub(crate) use waiting;
