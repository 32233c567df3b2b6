//! Asks for memory before it is needed.
//!
//! A look into a table that is larger than the cache waits for memory, a hundred nanoseconds or more. Whoever knows the next few places asks for
//! all of them first, and then finds them at hand. A request changes nothing that a program can see, so it may be made for any reference.

/// Asks for the cache line of `place`, and goes on.
///
/// ```
/// let numbers = vec![7_u64; 1_000_000];
/// filbert_sync::prefetch(&numbers[999_999]);
/// assert_eq!(numbers[999_999], 7);
/// ```
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    prefetch_at(std::ptr::from_ref(place).addr());
}

/// Asks for the cache line at an address, of which nothing is assumed: if nothing is there, nothing comes.
///
/// ```
/// let numbers = vec![7_u64; 1_000_000];
/// let first = std::ptr::from_ref(&numbers[0]).addr();
/// filbert_sync::prefetch_at(first + 8 * 999_999);
/// filbert_sync::prefetch_at(0);
/// ```
#[inline(always)]
pub fn prefetch_at(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has this instruction, and it has no effect but on the caches, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
