//! Memory for letters: blocks of one size that go from those who open letters back to those who write them.
//!
//! A letter is allocated by one thread and freed by another. A general allocator pays for that on both sides: the writer's cache
//! is always empty, and each block it gets must first be read back from the reader's core. Here each thread keeps a *magazine*, an
//! array of addresses; full ones go to a depot, from which an empty-handed thread takes one: one lock per 64
//! letters, and a block is not touched until it is written.
//!
//! | Field | Touched by |
//! |---|---|
//! | a thread's magazine | that thread |
//! | the depot | anyone, under its lock |
//!
//! Rules:
//! 1. Every address in a magazine is a block of `BLOCK` bytes from the global allocator that nobody uses.
//! 2. The depot keeps at most `DEPOT` magazines (4 MB); beyond that, and when a thread ends, blocks go back to the allocator.
//!
//! A letter that does not fit goes to the global allocator; so does every letter in a loom model.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Mutex;

/// Room for a closure of three words. With the word that common allocators keep, a block takes 64 bytes.
const BLOCK: Layout = match Layout::from_size_align(56, 8) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};
const MAGAZINE: usize = 64;
const DEPOT: usize = 1_024;

struct Block(NonNull<u8>);

// SAFETY: nobody uses it (rule 1), so it belongs to whoever holds the address.
unsafe impl Send for Block {}

static FULL: Mutex<Vec<Vec<Block>>> = Mutex::new(Vec::new());

thread_local! {
    static MINE: RefCell<Mine> = const { RefCell::new(Mine(Vec::new())) };
}

/// A thread's magazine: up to twice the size of those in the depot, so that it neither fills nor empties at every turn.
struct Mine(Vec<Block>);

/// True for letters that have a block of their own; the same answer for allocation and release.
const fn fits(layout: Layout) -> bool {
    cfg!(not(filbert_loom)) && layout.size() <= BLOCK.size() && layout.align() <= BLOCK.align()
}

/// Memory for `layout`, which must not be empty.
#[inline]
pub(super) fn allocate(layout: Layout) -> NonNull<u8> {
    if fits(layout) {
        let kept = MINE.try_with(|mine| mine.borrow_mut().take()).ok().flatten();
        return kept.map_or_else(|| from_system(BLOCK), Block::into_memory);
    }
    from_system(layout)
}

/// Takes memory back.
///
/// # Safety
/// `memory` came from [`allocate`] with the same layout, and nobody uses it any more.
#[inline]
pub(super) unsafe fn release(memory: NonNull<u8>, layout: Layout) {
    if !fits(layout) {
        // SAFETY: it came from `from_system` with this layout.
        unsafe { dealloc(memory.as_ptr(), layout) };
        return;
    }
    let block = Block(memory);
    // A thread whose magazine is gone already drops the block, which frees it.
    let _ = MINE.try_with(|mine| mine.borrow_mut().keep(block));
}

#[cold]
fn from_system(layout: Layout) -> NonNull<u8> {
    // SAFETY: the layout is not empty: every letter has a header.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: a block of this layout that nobody uses (rule 1).
        unsafe { dealloc(self.0.as_ptr(), BLOCK) };
    }
}

impl Block {
    fn into_memory(self) -> NonNull<u8> {
        let memory = self.0;
        std::mem::forget(self);
        memory
    }
}

impl Mine {
    #[inline]
    fn take(&mut self) -> Option<Block> {
        self.0.pop().or_else(|| self.refill())
    }

    #[cold]
    fn refill(&mut self) -> Option<Block> {
        let mut full = FULL.lock().unwrap_or_else(|broken| broken.into_inner());
        self.0 = full.pop()?;
        self.0.pop()
    }

    #[inline]
    fn keep(&mut self, block: Block) {
        self.0.push(block);
        if self.0.len() == 2 * MAGAZINE {
            self.hand_in();
        }
    }

    #[cold]
    fn hand_in(&mut self) {
        let magazine = self.0.split_off(MAGAZINE);
        let mut full = FULL.lock().unwrap_or_else(|broken| broken.into_inner());
        if full.len() < DEPOT {
            full.push(magazine);
            return;
        }
        drop(full);
        drop(magazine);
    }
}

#[cfg(all(test, not(filbert_loom)))]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_from_one_thread_to_another_and_are_never_given_twice() {
        const LETTERS: usize = 20_000;
        let layout = Layout::from_size_align(40, 8).unwrap();
        let (send, receive) = std::sync::mpsc::sync_channel::<(usize, usize)>(500);
        let reader = std::thread::spawn(move || {
            for (address, expected) in receive {
                let memory = NonNull::new(std::ptr::with_exposed_provenance_mut::<usize>(address)).unwrap();
                // SAFETY: the sender wrote it and gave it away.
                unsafe {
                    assert_eq!(memory.read(), expected, "someone else wrote into the block");
                    release(memory.cast(), layout);
                }
            }
        });
        for letter in 0..LETTERS {
            let memory = allocate(layout).cast::<usize>();
            // SAFETY: 40 bytes of ours.
            unsafe { memory.write(letter) };
            send.send((memory.as_ptr().expose_provenance(), letter)).unwrap();
        }
        drop(send);
        reader.join().unwrap();
    }

    #[test]
    fn large_and_strictly_aligned_letters_go_to_the_system() {
        for layout in [Layout::new::<[u64; 100]>(), Layout::from_size_align(32, 64).unwrap()] {
            let memory = allocate(layout);
            assert_eq!(memory.as_ptr().addr() % layout.align(), 0);
            // SAFETY: as allocated.
            unsafe { release(memory, layout) };
        }
    }
}
