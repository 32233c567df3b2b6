//! Completers: tasks with a pending count and a continuation, and no blocking join anywhere.
//!
//! A node computes, forks children meanwhile, and is complete when its own work and every child are. Whoever finishes the
//! last part runs the node's continuation, then the parent's if that was its last part too, and so on up, in a loop.
//!
//! Rejected: children of other types than their parent. An `enum` of the kinds of nodes says the same, without a box per
//! result.

use super::core::{Core, Root, RootBody};
use super::job::JobRef;
use super::slot;
use crate::future::Resolver;
use crate::panics::caught;
use filbert_sync::pending::Pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// A task that forks children and is continued when they are done.
///
/// ```
/// use filbert_pool::{Completer, Forks, WorkStealing};
///
/// /// Sums a range: forks right halves until the rest is small, and sums that itself.
/// struct Sum { low: u64, high: u64, own: u64 }
///
/// impl Completer for Sum {
///     type Output = u64;
///
///     fn compute(&mut self, forks: &mut Forks<'_, Self>) {
///         while self.high - self.low > 1_000 {
///             let middle = self.low + (self.high - self.low) / 2;
///             forks.fork(Sum { low: middle, high: self.high, own: 0 });
///             self.high = middle;
///         }
///         self.own = (self.low..self.high).sum();
///     }
///
///     fn on_completion(self, children: Vec<u64>) -> u64 {
///         self.own + children.iter().sum::<u64>()
///     }
/// }
///
/// let cpu = WorkStealing::standalone(2);
/// let sum = cpu.complete("sum", Sum { low: 0, high: 100_000, own: 0 })?;
/// assert_eq!(sum.wait(), Ok(4_999_950_000));
/// # Ok::<(), filbert_pool::SubmitError>(())
/// ```
pub trait Completer: Send + Sized + 'static {
    /// What a completed node gives to its parent.
    type Output: Send + 'static;

    /// The node's own work. What it forks may start at once.
    fn compute(&mut self, forks: &mut Forks<'_, Self>);

    /// The continuation, once the own work and all children are done; `children` are in the order of their forks.
    fn on_completion(self, children: Vec<Self::Output>) -> Self::Output;
}

/// Forks the children of the node that is computing.
pub struct Forks<'a, C: Completer> {
    node: &'a Arc<Node<C>>,
    children: usize,
}

/// What all nodes of one tree share.
struct Tree<C: Completer> {
    core: Weak<Core>,
    failed: AtomicBool,
    resolver: Mutex<Option<Resolver<C::Output>>>,
}

struct Node<C: Completer> {
    tree: Arc<Tree<C>>,
    /// The parent, and which of its children this is.
    parent: Option<(Arc<Node<C>>, usize)>,
    pending: Pending,
    state: Mutex<State<C>>,
}

struct State<C: Completer> {
    body: Option<C>,
    children: Vec<Option<C::Output>>,
}

/// The root of a tree as a task; false when the root itself panicked.
pub(super) fn root<C: Completer>(
    core: &Arc<Core>,
    resolver: Resolver<C::Output>,
    body: C,
) -> impl FnOnce() -> bool + Send + 'static {
    let tree = Tree {
        core: Arc::downgrade(core),
        failed: AtomicBool::new(false),
        resolver: Mutex::new(Some(resolver)),
    };
    let node = Node::new(Arc::new(tree), None, body);
    move || {
        let begins = node.tree.resolver().as_ref().is_some_and(Resolver::begin);
        if begins { run(node) } else { true }
    }
}

impl<C: Completer> Forks<'_, C> {
    /// A child of the node; it may start at once, on any worker.
    pub fn fork(&mut self, child: C) {
        self.node.pending.add(1);
        let child =
            Node::new(Arc::clone(&self.node.tree), Some((Arc::clone(self.node), self.children)), child);
        self.children += 1;
        let Some(core) = self.node.tree.core.upgrade() else {
            run(child);
            return;
        };
        let job = JobRef::boxed(move || {
            run(child);
        });
        match slot::current().filter(|slot| slot.belongs_to(Arc::as_ptr(&core))) {
            Some(slot) => slot.push(job),
            None => {
                let root = Root { name: "fork", queued_at: core.env.now(), body: RootBody::Job(job) };
                let _ = core.push_root(root, false);
            }
        }
    }
}

/// Computes a node, and continues as many nodes above as it completes. False when the node's own work panicked.
fn run<C: Completer>(node: Arc<Node<C>>) -> bool {
    let mut ran = true;
    let body = node.state().body.take();
    if let Some(mut body) = body
        && !node.tree.failed.load(Ordering::Relaxed)
    {
        let mut forks = Forks { node: &node, children: 0 };
        let computed = caught(|| body.compute(&mut forks));
        let children = forks.children;
        let mut state = node.state();
        // A child may have completed already.
        if state.children.len() < children {
            state.children.resize_with(children, || None);
        }
        match computed {
            Ok(()) => state.body = Some(body),
            Err(message) => {
                ran = false;
                drop(state);
                node.tree.fail(message);
            }
        }
    }
    climb(node);
    ran
}

/// The node's own part is done; completes it if that was the last part, then its parent, and so on.
fn climb<C: Completer>(mut node: Arc<Node<C>>) {
    while node.pending.finish() {
        let (body, children) = {
            let mut state = node.state();
            (state.body.take(), std::mem::take(&mut state.children))
        };
        let children: Option<Vec<_>> = children.into_iter().collect();
        let output = match (body, children) {
            (Some(body), Some(children)) if !node.tree.failed.load(Ordering::Relaxed) => {
                match caught(|| body.on_completion(children)) {
                    Ok(output) => Some(output),
                    Err(message) => {
                        node.tree.fail(message);
                        None
                    }
                }
            }
            _ => None,
        };
        match &node.parent {
            None => {
                let resolver = node.tree.resolver().take();
                if let (Some(resolver), Some(output)) = (resolver, output) {
                    resolver.resolve(Ok(output));
                }
                return;
            }
            Some((parent, index)) => {
                let mut state = parent.state();
                if state.children.len() <= *index {
                    state.children.resize_with(index + 1, || None);
                }
                state.children[*index] = output;
                drop(state);
                let parent = Arc::clone(parent);
                node = parent;
            }
        }
    }
}

impl<C: Completer> Tree<C> {
    fn resolver(&self) -> MutexGuard<'_, Option<Resolver<C::Output>>> {
        self.resolver.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// The first panic fails the tree; what has not started yet never will.
    fn fail(&self, message: String) {
        self.failed.store(true, Ordering::Relaxed);
        let resolver = self.resolver().take();
        if let Some(resolver) = resolver {
            resolver.panicked(message);
        }
    }
}

impl<C: Completer> Node<C> {
    fn new(tree: Arc<Tree<C>>, parent: Option<(Arc<Node<C>>, usize)>, body: C) -> Arc<Self> {
        let state = Mutex::new(State { body: Some(body), children: Vec::new() });
        Arc::new(Self { tree, parent, pending: Pending::new(1), state })
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl<C: Completer> std::fmt::Debug for Forks<'_, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forks").field("children", &self.children).finish()
    }
}
