//! The atomics, cells and threads that the protocols are written with: the standard ones, or loom's when a model runs.
//!
//! Every protocol imports from here and nowhere else, so that what loom explores is what ships.

#[cfg(not(filbert_loom))]
pub(crate) use std::{
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread,
};

#[cfg(filbert_loom)]
pub(crate) use loom::{
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    thread,
};

#[cfg(filbert_loom)]
pub(crate) use loom::cell::UnsafeCell;

/// `std`'s cell behind loom's interface, so that every access names itself a read or a write.
#[cfg(not(filbert_loom))]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(filbert_loom))]
impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
