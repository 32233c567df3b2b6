//! The tree over a range: known before the first fork, worked on by everyone, combined in order by whoever finishes.
//!
//! ```text
//!   leaves 0..8:   node 0 ─┬─ forks 4 ─┬─ forks 6 ── forks 7      node i works on leaf i itself:
//!                          │           └─ forks 5                 an inner task shrinks its own range
//!                          ├─ forks 2 ── forks 3                  and carries work
//!                          └─ forks 1
//! ```
//!
//! Node `i` stands for leaves `i..i+k`. It forks the upper half (the largest child first, so thieves, who take the oldest, take
//! the most), then the upper half of what is left, and so on; the last leaf it works on itself. Bounds are `i * n / leaves`
//! with the remainder spread, so every element is in exactly one leaf for every `n`.
//!
//! A leaf is worked on in blocks. Between two blocks it looks whether someone has nothing to do while its own deque is empty;
//! then it forks the upper half of what is left of its range. So the end of a range is shared out too: with four leaves a
//! worker, one slow core would otherwise hold up the rest for a whole leaf.
//!
//! This module has unsafe code: nodes are shared through raw pointers, without a count per reference.
//!
//! | Field of [`Node`] | Who touches it |
//! |---|---|
//! | `low`, `high`, `leaves`, `parent`, `tree` | nobody after it was made |
//! | `first`, `result` | the node's runner until it finished its own part; then whoever completes the node; then the parent's completer |
//! | `next` | the parent's runner when it forks the node; later the parent's completer |
//!
//! Rules:
//! 1. All nodes live until the root is complete: the first ones in a `Vec` in the frame of [`run`], which waits for that; later
//!    ones in boxes that the parent's completer frees.
//! 2. A node is run once, by whoever took its job. The runner finishes the node's own part last.
//! 3. The part that brings `pending` to zero owns the node and everything below it (`Pending`, AcqRel).
//! 4. Whoever completes the root reads where to ring before it says done; then the frame may be gone.

use super::super::job::JobRef;
use super::super::slot::{self, Slot};
use super::super::{WorkStealing, worker};
use crate::context;
use crate::panics::discard;
use filbert_sync::join_slot::JoinSlot;
use filbert_sync::pending::Pending;
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

/// How a part is folded and how two parts are combined.
pub(super) struct Leaf<S, F, C> {
    pub(super) start: S,
    pub(super) fold: F,
    pub(super) combine: C,
}

/// What a tree does with its parts.
trait Work: Sync {
    type Out: Send;
    fn start(&self) -> Self::Out;
    fn fold(&self, folded: Self::Out, part: Range<usize>) -> Self::Out;
    fn combine(&self, left: Self::Out, right: Self::Out) -> Self::Out;
}

impl<A: Send, S, F, C> Work for Leaf<S, F, C>
where
    S: Fn() -> A + Sync,
    F: Fn(A, Range<usize>) -> A + Sync,
    C: Fn(A, A) -> A + Sync,
{
    type Out = A;

    #[inline(always)]
    fn start(&self) -> A {
        (self.start)()
    }

    #[inline(always)]
    fn fold(&self, folded: A, part: Range<usize>) -> A {
        (self.fold)(folded, part)
    }

    #[inline(always)]
    fn combine(&self, left: A, right: A) -> A {
        (self.combine)(left, right)
    }
}

/// Elements of the first block of an adaptive range; later blocks take about [`BLOCK_NANOS`].
const FIRST_BLOCK: usize = 4;
/// How long a block of an adaptive range should take: long against a fork (about a microsecond with its theft).
const BLOCK_NANOS: u64 = 10_000;
/// A forked rest holds at least `min_leaf` / this many elements.
const REST: usize = 4;

struct Tree<'a, W: Work> {
    work: &'a W,
    owner: &'a Slot,
    block: usize,
    least: usize,
    adaptive: bool,
    done: JoinSlot,
}

struct Node<'a, W: Work> {
    tree: *const Tree<'a, W>,
    parent: *const Node<'a, W>,
    low: usize,
    high: usize,
    /// How many leaves the node stands for, itself included; nodes of these are its right neighbours.
    leaves: usize,
    boxed: bool,
    pending: Pending,
    first: Cell<*const Node<'a, W>>,
    next: Cell<*const Node<'a, W>>,
    result: UnsafeCell<Option<std::thread::Result<W::Out>>>,
}

/// Runs `leaf` over `0..length` on `pool`. Cold, so that the plain loop of small ranges is laid out as if this were not there.
#[cold]
#[inline(never)]
pub(super) fn run<A, S, F, C>(
    pool: &WorkStealing,
    length: usize,
    min_leaf: usize,
    adaptive: bool,
    leaf: &Leaf<S, F, C>,
) -> A
where
    A: Send,
    S: Fn() -> A + Sync,
    F: Fn(A, Range<usize>) -> A + Sync,
    C: Fn(A, A) -> A + Sync,
{
    let leaves =
        if adaptive { (4 * pool.threads()).min(length) } else { leaves(length, min_leaf, pool.threads()) };
    if leaves < 2 {
        let _stage = pool.count_as_worker();
        return leaf.fold(leaf.start(), 0..length);
    }
    pool.inside(|slot| match slot {
        Some(slot) => run_on(slot, length, leaves, min_leaf, adaptive, leaf),
        None => leaf.fold(leaf.start(), 0..length),
    })
}

/// min(4 x workers, n / min_leaf), and a whole number of leaves per worker once there is one for each.
fn leaves(length: usize, min_leaf: usize, workers: usize) -> usize {
    let leaves = (length / min_leaf).min(4 * workers);
    if leaves > workers { leaves - leaves % workers } else { leaves }
}

fn run_on<W: Work>(
    slot: &Slot,
    length: usize,
    leaves: usize,
    min_leaf: usize,
    adaptive: bool,
    work: &W,
) -> W::Out {
    let tree = Tree {
        work,
        owner: slot,
        block: if adaptive { FIRST_BLOCK } else { (min_leaf / REST).max(1) },
        least: if adaptive { 1 } else { (min_leaf / REST).max(1) },
        adaptive,
        done: JoinSlot::new(),
    };
    let (each, more) = (length / leaves, length % leaves);
    let bound = |leaf: usize| leaf * each + leaf.min(more);
    let mut nodes: Vec<Node<'_, W>> = Vec::with_capacity(leaves);
    shape(&mut nodes, &tree, ptr::null(), leaves, &bound);
    debug_assert_eq!(nodes.len(), leaves);
    let root = nodes.as_ptr();
    // SAFETY: the root is run here and nowhere else; `nodes` stays in place until the tree is done (rule 1).
    unsafe { run_node::<W>(root.cast()) };
    worker::help_until(slot, &tree.done);
    // SAFETY: the tree is done, so nobody else touches the root (rule 3).
    let result = unsafe { (*(*root).result.get()).take() };
    match result {
        Some(Ok(value)) => value,
        Some(Err(payload)) => resume_unwind(payload),
        None => unreachable!("a complete node has a result"),
    }
}

/// Makes the node of the next `leaves` leaves and all nodes below it, with every pending count. Nodes lie in the order of
/// their leaves, so a node's address is known from the leaf that it begins with.
fn shape<'a, W: Work>(
    nodes: &mut Vec<Node<'a, W>>,
    tree: &Tree<'a, W>,
    parent: *const Node<'a, W>,
    leaves: usize,
    bound: &impl Fn(usize) -> usize,
) {
    let leaf = nodes.len();
    debug_assert!(nodes.len() < nodes.capacity(), "the nodes must not move");
    // Halving `leaves` (rounded up) to one takes as many forks as there are children.
    let children = leaves.next_power_of_two().trailing_zeros() as usize;
    nodes.push(Node::new(tree, parent, bound(leaf)..bound(leaf + 1), leaves, 1 + children, false));
    let me: *const Node<'a, W> = &raw const nodes[leaf];
    // The children from left to right: each stands for what one halving took off.
    let mut sizes = [0_usize; usize::BITS as usize];
    let mut left = leaves;
    let mut count = 0;
    while left > 1 {
        sizes[count] = left / 2;
        left -= left / 2;
        count += 1;
    }
    debug_assert_eq!(count, children);
    for size in sizes[..count].iter().rev() {
        shape(nodes, tree, me, *size, bound);
    }
}

impl<'a, W: Work> Node<'a, W> {
    fn new(
        tree: *const Tree<'a, W>,
        parent: *const Node<'a, W>,
        range: Range<usize>,
        leaves: usize,
        parts: usize,
        boxed: bool,
    ) -> Self {
        Self {
            tree,
            parent,
            low: range.start,
            high: range.end,
            leaves,
            boxed,
            pending: Pending::new(parts),
            first: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
            result: UnsafeCell::new(None),
        }
    }

    /// Links `child` in as the leftmost child so far, and shares it.
    ///
    /// # Safety
    /// The caller is the node's runner; `child` is one of its nodes, counted in `pending`, and not forked before.
    unsafe fn fork(&self, slot: &Slot, child: *const Node<'a, W>) {
        // SAFETY: nobody else knows the child yet. `run_node` is sound for it once, by rules 1 and 2.
        let job = unsafe {
            (*child).next.set(self.first.get());
            JobRef::new(child.cast(), run_node::<W>)
        };
        self.first.set(child);
        slot.push(job);
    }

    /// Forks the children and folds the own leaf.
    ///
    /// # Safety
    /// The caller is the runner of `node`.
    unsafe fn work(node: *const Self, slot: &Slot) -> W::Out {
        // SAFETY: by rule 1 the node and its tree are there until the runner has finished its part.
        let (this, tree) = unsafe { (&*node, &*(*node).tree) };
        let mut leaves = this.leaves;
        while leaves > 1 {
            let upper = leaves / 2;
            leaves -= upper;
            // SAFETY: nodes lie in the order of their leaves, and this one stands for `leaves` of them. The pointer came from
            // the whole list, or the node is boxed and has one leaf.
            unsafe { this.fork(slot, node.add(leaves)) };
        }
        let (mut low, mut high) = (this.low, this.high);
        let mut folded = tree.work.start();
        let mut block = tree.block;
        let env = &slot.core().env;
        let mut began = if tree.adaptive { env.now() } else { 0 };
        loop {
            let end = if high - low > block { low + block } else { high };
            folded = tree.work.fold(folded, low..end);
            low = end;
            if low == high {
                return folded;
            }
            let surplus = if tree.adaptive {
                let now = env.now();
                let took = now.saturating_sub(began);
                began = now;
                block = if took < BLOCK_NANOS / 2 {
                    block.saturating_mul(2)
                } else if took > BLOCK_NANOS * 2 {
                    (block / 2).max(1)
                } else {
                    block
                };
                slot.surplus() < 2
            } else {
                slot.core().idle.is_hungry() && slot.surplus() == 0
            };
            if surplus && high - low >= 2 * tree.least {
                let middle = low + (high - low) / 2;
                this.pending.add(1);
                let child = Box::new(Node::new(this.tree, node, middle..high, 1, 1, true));
                high = middle;
                // SAFETY: the child is new and counted; it is freed by whoever completes this node (rule 1).
                unsafe { this.fork(slot, Box::into_raw(child)) };
            }
        }
    }
}

/// Runs one node, and completes as many nodes above as its part is the last one of.
///
/// # Safety
/// `data` is a node that was not run before, on a thread of its pool.
unsafe fn run_node<W: Work>(data: *const ()) {
    let mut node = data.cast::<Node<'_, W>>();
    // SAFETY: by rule 1 the node is there, by rule 2 this thread is its runner; from each successful `finish` on it owns
    // that node (rule 3).
    unsafe {
        let Some(slot) = slot::current() else { unreachable!("nodes are run by threads of the pool") };
        // Also in the turn of a polled task: what the closures may do must not depend on who runs which node.
        let _stage = context::enter(slot.core().id());
        let result = catch_unwind(AssertUnwindSafe(|| Node::work(node, slot)));
        *(*node).result.get() = Some(result);
        while (*node).pending.finish() {
            combine(node);
            let parent = (*node).parent;
            if parent.is_null() {
                let tree = (*node).tree;
                // Rule 4.
                let owner: *const Slot = (*tree).owner;
                if (*tree).done.finish() {
                    (*owner).core().idle.ring((*owner).index);
                }
                return;
            }
            node = parent;
        }
    }
}

/// Adds the children's results to the node's own, from left to right, and frees the children that were boxed.
///
/// # Safety
/// The caller owns the node (rule 3).
unsafe fn combine<W: Work>(node: *const Node<'_, W>) {
    // SAFETY: the caller owns the node and everything below it; the tree lives until the root is complete.
    unsafe {
        let work = (*(*node).tree).work;
        let mut folded = (*(*node).result.get()).take();
        let mut child = (*node).first.get();
        while !child.is_null() {
            let next = (*child).next.get();
            let right = (*(*child).result.get()).take();
            if (*child).boxed {
                drop(Box::from_raw(child.cast_mut()));
            }
            folded = match (folded, right) {
                (Some(Ok(left)), Some(Ok(right))) => {
                    Some(catch_unwind(AssertUnwindSafe(|| work.combine(left, right))))
                }
                // The leftmost panic is the one that is told. The other side is the user's, and its drop must not unwind: others
                // still work on these nodes.
                (Some(Err(payload)), other) => {
                    discard(other);
                    Some(Err(payload))
                }
                (other, Some(Err(payload))) => {
                    discard(other);
                    Some(Err(payload))
                }
                (left, None) => left,
                (None, right) => right,
            };
            child = next;
        }
        *(*node).result.get() = folded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_come_in_whole_rounds_for_all_workers() {
        assert_eq!(leaves(19_999, 10_000, 2), 1);
        assert_eq!(leaves(30_000, 10_000, 2), 2);
        assert_eq!(leaves(100_000, 10_000, 2), 8);
        assert_eq!(leaves(50_000_000, 10_000, 2), 8);
        assert_eq!(leaves(30_000, 10_000, 16), 3);
        assert_eq!(leaves(usize::MAX, 1, 3), 12);
    }
}
