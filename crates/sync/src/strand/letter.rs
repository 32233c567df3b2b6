//! Letters as they lie in memory: a header, a table of two functions, and the closure; and the order of those that were taken out.
//!
//! Rules 2 and 3 of the [strand](super) say who owns a letter and what its header promises; the `SAFETY:` lines here cite them.

use super::{Lane, Letter, blocks};
use crate::primitives::UnsafeCell;
use std::alloc::Layout;
use std::collections::VecDeque;
use std::fmt;
use std::ptr::{self, NonNull};

/// A letter that was taken out: to be opened, or discarded by dropping it.
pub struct Mail<S: 'static>(pub(super) NonNull<Header<S>>);

// SAFETY: owns one letter (rule 2), and letters are `Send`.
unsafe impl<S: 'static> Send for Mail<S> {}

impl<S: 'static> Mail<S> {
    /// The letter's name.
    #[inline]
    pub fn name(&self) -> &'static str {
        // SAFETY: ours (rule 2).
        let header = unsafe { self.0.as_ref() };
        // SAFETY: address and length of a `&'static str` that was no longer than 4 GB (rule 3).
        unsafe {
            std::str::from_utf8_unchecked(std::slice::from_raw_parts(
                header.name,
                header.name_length as usize,
            ))
        }
    }

    /// Opens the letter; what [`Letter::open`] says.
    #[inline]
    pub fn open(self, value: &mut S) -> bool {
        let letter = self.0;
        std::mem::forget(self);
        // SAFETY: ours (rule 2), and the table is that of its own kind (rule 3); forgotten, so it is freed once.
        unsafe { (letter.as_ref().table.open)(letter, value) }
    }
}

impl<S: 'static> Drop for Mail<S> {
    fn drop(&mut self) {
        // SAFETY: ours (rule 2), and the table is that of its own kind (rule 3).
        unsafe { (self.0.as_ref().table.discard)(self.0) }
    }
}

impl<S: 'static> fmt::Debug for Mail<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mail").field(&self.name()).finish()
    }
}

#[repr(C)]
pub(super) struct Header<S: 'static> {
    pub(super) next: UnsafeCell<*mut Header<S>>,
    table: &'static Table<S>,
    name: *const u8,
    name_length: u32,
    pub(super) lane: Lane,
}

struct Table<S: 'static> {
    open: unsafe fn(NonNull<Header<S>>, &mut S) -> bool,
    discard: unsafe fn(NonNull<Header<S>>),
}

/// Small: with a closure of one word, 40 bytes. Aligned so that three flags fit below the address.
#[repr(C, align(8))]
pub(super) struct Node<S: 'static, L> {
    header: Header<S>,
    letter: L,
}

impl<S: 'static, L: Letter<S>> Node<S, L> {
    const TABLE: Table<S> = Table { open: Self::open, discard: Self::discard };

    pub(super) fn leak(name: &'static str, letter: L, lane: Lane) -> NonNull<Header<S>> {
        // A name that does not fit is cut to nothing, which is a name too.
        let name_length = u32::try_from(name.len()).unwrap_or(0);
        let next = UnsafeCell::new(ptr::null_mut());
        let header = Header { next, table: &Self::TABLE, name: name.as_ptr(), name_length, lane };
        let node = blocks::allocate(Layout::new::<Self>()).cast::<Self>();
        // SAFETY: fresh memory of this layout.
        unsafe { node.write(Node { header, letter }) };
        node.cast()
    }

    /// # Safety
    /// `header` is the caller's, and was made by `leak` of this type.
    unsafe fn open(header: NonNull<Header<S>>, value: &mut S) -> bool {
        // Freed before it runs: a letter that mails the next one finds its own memory again.
        // SAFETY: the caller's promise.
        let Node { letter, .. } = unsafe { Self::take_out(header) };
        letter.open(value)
    }

    /// # Safety
    /// As for `open`.
    unsafe fn discard(header: NonNull<Header<S>>) {
        // SAFETY: the caller's promise.
        drop(unsafe { Self::take_out(header) });
    }

    /// # Safety
    /// As for `open`.
    #[inline]
    unsafe fn take_out(header: NonNull<Header<S>>) -> Self {
        let node = header.cast::<Self>();
        // SAFETY: by rules 2 and 3 it is a node of this type and the caller's; it is moved out, then its memory is given back.
        unsafe {
            let taken = node.read();
            blocks::release(node.cast(), Layout::new::<Self>());
            taken
        }
    }
}

/// Letters in order; the holder's own.
///
/// An array of addresses and not a list: the letters were written by other cores, and only who knows the address of a letter
/// some places ahead can have it fetched while the ones before it are opened.
pub(super) struct Backlog<S: 'static>(VecDeque<NonNull<Header<S>>>);

/// How many letters ahead one is fetched.
const AHEAD: usize = 4;

/// A backlog that once was longer gives its memory back when it is empty.
const KEPT: usize = 4_096;

impl<S: 'static> Backlog<S> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, letter: NonNull<Header<S>>) {
        self.0.push_back(letter);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Mail<S>> {
        let letter = self.0.pop_front()?;
        match self.0.get(AHEAD) {
            Some(ahead) => prefetch(ahead.as_ptr()),
            None if self.0.is_empty() && self.0.capacity() > KEPT => self.0.shrink_to(0),
            None => {}
        }
        Some(Mail(letter))
    }
}

/// Fetches a letter that will be opened soon.
#[inline]
fn prefetch<T>(letter: *mut T) {
    #[cfg(all(target_arch = "x86_64", not(filbert_loom)))]
    // SAFETY: a prefetch has no effect but on the cache, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(letter.cast())
    }
    #[cfg(not(all(target_arch = "x86_64", not(filbert_loom))))]
    let _ = letter;
}
