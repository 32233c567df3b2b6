//! What state takes in memory, about: the tables themselves by their size, what keys and items own elsewhere by their kind.
//!
//! A program's own types do not say what they own. Texts and bytes are measured; of anything else that owns something [`UNKNOWN`] bytes are
//! assumed. Rejected: what the allocator gives during a call. Items are moved into a table and out of it, so what one vertex allocates
//! another one frees, and the sum of a job that never ends would drift.

use std::any::Any;

/// Assumed for a value that owns memory of which nothing is known.
const UNKNOWN: usize = 48;

/// Returns the bytes that a value owns beside its own size, about.
#[inline]
pub(crate) fn owned_bytes<T: 'static>(value: &T) -> usize {
    if !std::mem::needs_drop::<T>() {
        return 0;
    }
    let any: &dyn Any = value;
    if let Some(text) = any.downcast_ref::<String>() {
        text.capacity()
    } else if let Some(bytes) = any.downcast_ref::<Vec<u8>>() {
        bytes.capacity()
    } else if let Some(text) = any.downcast_ref::<Box<str>>() {
        text.len()
    } else if let Some((one, two)) = any.downcast_ref::<(String, String)>() {
        one.capacity() + two.capacity()
    } else if let Some((text, _)) = any.downcast_ref::<(String, i64)>() {
        text.capacity()
    } else if let Some((text, _)) = any.downcast_ref::<(String, f64)>() {
        text.capacity()
    } else if let Some((_, text)) = any.downcast_ref::<(i64, String)>() {
        text.capacity()
    } else {
        UNKNOWN
    }
}

/// Returns the bytes of a value with what it owns, about.
#[inline]
pub(crate) fn whole_bytes<T: 'static>(value: &T) -> usize {
    size_of::<T>() + owned_bytes(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_measured_and_other_owners_assumed() {
        assert_eq!(owned_bytes(&7_u64), 0);
        assert_eq!(owned_bytes(&"borrowed"), 0);
        assert_eq!(owned_bytes(&"x".repeat(1_000)), 1_000);
        assert_eq!(owned_bytes(&(1_i64, "x".repeat(1_000))), 1_000);
        assert_eq!(owned_bytes(&vec![0_u32; 1_000]), UNKNOWN);
        assert_eq!(whole_bytes(&vec![0_u8; 1_000]), 1_024);
    }
}
