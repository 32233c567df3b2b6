//! What goes into a processor and what comes out, as types: the signature of a vertex.
//!
//! | Signature | Inputs | Outputs |
//! |---|---|---|
//! | `()` | none: a source | none: a sink |
//! | `Many<T>` | one edge or more, all of `T` | one edge or more, all of `T` |
//! | `(A,)`, `(A, B)`, ... | exactly these, ordinal by ordinal | exactly these |
//!
//! The types decide which ports a vertex has ([`Port`]), so that an edge between mismatched ports does not compile, and they
//! decide how the ends of the edges are stored, so that a processor touches its items without a cast or a virtual call.
//!
//! Rejected: ports that are looked up by a token and cast for every call; a trait object per item.

use crate::inbox::{Input, Items};
use crate::outbox::{Bucket, Output};
use crate::test_support::{Results, outlet};
use std::any::{Any, TypeId};
use std::convert::Infallible;
use std::marker::PhantomData;

/// One edge or more at a vertex, all with items of type `T`.
pub struct Many<T>(PhantomData<fn() -> T>);

/// How many edges a vertex needs on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    /// As many as this, no more, no fewer.
    Exactly(usize),
    /// One or more.
    AtLeastOne,
}

impl Arity {
    /// True when so many edges will do.
    pub fn allows(self, count: usize) -> bool {
        match self {
            Arity::Exactly(wanted) => count == wanted,
            Arity::AtLeastOne => count > 0,
        }
    }
}

impl std::fmt::Display for Arity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Arity::Exactly(count) => write!(f, "exactly {count}"),
            Arity::AtLeastOne => f.write_str("at least 1"),
        }
    }
}

/// The end of an edge before its type is known again.
pub(crate) type AnyEnd = Box<dyn Any + Send>;

/// A type of items, for edges that are made without knowing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemType {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
}

impl ItemType {
    fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: std::any::type_name::<T>() }
    }
}

/// The two ends of an edge to nowhere.
pub(crate) type Outlet = (AnyEnd, Box<dyn Results>);

/// A signature's port at ordinal `N`, with the type of its items.
pub trait Port<const N: usize> {
    /// What travels there.
    type Item: Send + 'static;
}

/// What a processor takes: `()`, [`Many<T>`](Many), or a tuple of types.
pub trait Inputs: 'static {
    /// The ends of the edges, with their types.
    type Store: Send + 'static;

    /// How many edges it takes.
    const ARITY: Arity;

    /// The store of a processor, from the ends in the order of their ordinals.
    fn store(ends: Vec<AnyEnd>) -> Self::Store;

    /// How many edges there are.
    fn count(store: &Self::Store) -> usize;

    /// One edge as the engine sees it.
    fn input(store: &mut Self::Store, ordinal: usize) -> &mut dyn Input;

    /// What comes at an ordinal; nothing where there is no port.
    #[doc(hidden)]
    fn item(ordinal: usize) -> Option<ItemType>;
}

/// The items of one port of a tuple signature.
pub trait InputPort<const N: usize>: Inputs + Port<N> {
    /// What the edge brought.
    fn items(store: &mut Self::Store) -> &mut Items<<Self as Port<N>>::Item>;
}

/// What a processor emits: `()`, [`Many<T>`](Many), or a tuple of types.
pub trait Outputs: 'static {
    /// The items, where all are of one type; else a type that nothing has.
    #[doc(hidden)]
    type Emitted: Send + 'static;

    /// The buckets of the edges, with their types.
    type Store: Send + 'static;

    /// How many edges it feeds.
    const ARITY: Arity;

    /// The store of a processor, from the ends in the order of their ordinals.
    fn store(ends: Vec<AnyEnd>) -> Self::Store;

    /// How many edges there are.
    fn count(store: &Self::Store) -> usize;

    /// One edge as the engine sees it.
    fn output(store: &mut Self::Store, ordinal: usize) -> &mut dyn Output;

    /// Edges to nowhere with so much room, for tests of processors: the ends for the store, and what comes out.
    #[doc(hidden)]
    fn outlets(count: usize, room: usize) -> Vec<Outlet>;

    /// What goes at an ordinal; nothing where there is no port.
    #[doc(hidden)]
    fn item(ordinal: usize) -> Option<ItemType>;
}

/// The bucket of one port of a tuple signature.
pub trait OutputPort<const N: usize>: Outputs + Port<N> {
    /// Where items for that edge go.
    fn bucket(store: &mut Self::Store) -> &mut Bucket<<Self as Port<N>>::Item>;
}

/// The ports of an edge have the same type, which the compiler saw; so the end has it too.
fn typed<E: 'static>(end: AnyEnd) -> E {
    match end.downcast::<E>() {
        Ok(end) => *end,
        Err(_) => unreachable!("the end of an edge is not a {}", std::any::type_name::<E>()),
    }
}

impl Inputs for () {
    type Store = ();
    const ARITY: Arity = Arity::Exactly(0);

    fn store(_: Vec<AnyEnd>) {}

    fn count(_: &()) -> usize {
        0
    }

    fn input(_: &mut (), ordinal: usize) -> &mut dyn Input {
        unreachable!("a source has no input {ordinal}")
    }

    fn item(_: usize) -> Option<ItemType> {
        None
    }
}

impl Outputs for () {
    type Emitted = Infallible;
    type Store = ();
    const ARITY: Arity = Arity::Exactly(0);

    fn store(_: Vec<AnyEnd>) {}

    fn count(_: &()) -> usize {
        0
    }

    fn output(_: &mut (), ordinal: usize) -> &mut dyn Output {
        unreachable!("a sink has no output {ordinal}")
    }

    fn outlets(_: usize, _: usize) -> Vec<Outlet> {
        Vec::new()
    }

    fn item(_: usize) -> Option<ItemType> {
        None
    }
}

impl<T: Send + 'static, const N: usize> Port<N> for Many<T> {
    type Item = T;
}

impl<T: Send + 'static> Inputs for Many<T> {
    type Store = Vec<Items<T>>;
    const ARITY: Arity = Arity::AtLeastOne;

    fn store(ends: Vec<AnyEnd>) -> Vec<Items<T>> {
        ends.into_iter().map(typed).collect()
    }

    fn count(store: &Vec<Items<T>>) -> usize {
        store.len()
    }

    fn input(store: &mut Vec<Items<T>>, ordinal: usize) -> &mut dyn Input {
        &mut store[ordinal]
    }

    fn item(_: usize) -> Option<ItemType> {
        Some(ItemType::of::<T>())
    }
}

impl<T: Send + 'static> Outputs for Many<T> {
    type Emitted = T;
    type Store = Vec<Bucket<T>>;
    const ARITY: Arity = Arity::AtLeastOne;

    fn store(ends: Vec<AnyEnd>) -> Vec<Bucket<T>> {
        ends.into_iter().map(typed).collect()
    }

    fn count(store: &Vec<Bucket<T>>) -> usize {
        store.len()
    }

    fn output(store: &mut Vec<Bucket<T>>, ordinal: usize) -> &mut dyn Output {
        &mut store[ordinal]
    }

    fn outlets(count: usize, room: usize) -> Vec<Outlet> {
        (0..count).map(|_| outlet::<T>(room, None)).collect()
    }

    fn item(_: usize) -> Option<ItemType> {
        Some(ItemType::of::<T>())
    }
}

macro_rules! tuple_signature {
    ($count:literal: $($index:tt $item:ident),+) => {
        impl<$($item: Send + 'static),+> Inputs for ($($item,)+) {
            type Store = ($(Items<$item>,)+);
            const ARITY: Arity = Arity::Exactly($count);

            fn store(ends: Vec<AnyEnd>) -> Self::Store {
                let mut ends = ends.into_iter();
                ($(tuple_signature!(@next ends $index Items<$item>),)+)
            }

            fn count(_: &Self::Store) -> usize {
                $count
            }

            fn input(store: &mut Self::Store, ordinal: usize) -> &mut dyn Input {
                match ordinal {
                    $($index => &mut store.$index,)+
                    _ => unreachable!("there is no input {ordinal}"),
                }
            }

            fn item(ordinal: usize) -> Option<ItemType> {
                [$(ItemType::of::<$item>()),+].get(ordinal).copied()
            }
        }

        impl<$($item: Send + 'static),+> Outputs for ($($item,)+) {
            type Emitted = Infallible;
            type Store = ($(Bucket<$item>,)+);
            const ARITY: Arity = Arity::Exactly($count);

            fn store(ends: Vec<AnyEnd>) -> Self::Store {
                let mut ends = ends.into_iter();
                ($(tuple_signature!(@next ends $index Bucket<$item>),)+)
            }

            fn count(_: &Self::Store) -> usize {
                $count
            }

            fn output(store: &mut Self::Store, ordinal: usize) -> &mut dyn Output {
                match ordinal {
                    $($index => &mut store.$index,)+
                    _ => unreachable!("there is no output {ordinal}"),
                }
            }

            fn outlets(_: usize, room: usize) -> Vec<Outlet> {
                vec![$(outlet::<$item>(room, None)),+]
            }

            fn item(ordinal: usize) -> Option<ItemType> {
                [$(ItemType::of::<$item>()),+].get(ordinal).copied()
            }
        }

        tuple_signature!(@ports ($($item),+) $($index $item),+);
    };
    (@next $ends:ident $index:tt $end:ty) => {
        match $ends.next() {
            Some(end) => typed::<$end>(end),
            None => unreachable!("there is no edge at ordinal {}", $index),
        }
    };
    (@ports $all:tt $($index:tt $item:ident),+) => {
        $(tuple_signature!(@port $all $index $item);)+
    };
    (@port ($($all:ident),+) $index:tt $item:ident) => {
        impl<$($all: Send + 'static),+> Port<$index> for ($($all,)+) {
            type Item = $item;
        }

        impl<$($all: Send + 'static),+> InputPort<$index> for ($($all,)+) {
            fn items(store: &mut Self::Store) -> &mut Items<$item> {
                &mut store.$index
            }
        }

        impl<$($all: Send + 'static),+> OutputPort<$index> for ($($all,)+) {
            fn bucket(store: &mut Self::Store) -> &mut Bucket<$item> {
                &mut store.$index
            }
        }
    };
}

tuple_signature!(1: 0 A);
tuple_signature!(2: 0 A, 1 B);
tuple_signature!(3: 0 A, 1 B, 2 C);
tuple_signature!(4: 0 A, 1 B, 2 C, 3 D);
