//! What a join costs: fib without a cutoff, and the sum of a tree of boxes.

use super::SUITE;
use super::kernel::{ints, plain};
use crate::harness::{Contestant, Effort, Times, alternate};
use crate::report::Report;
use filbert_pool::{WorkStealing, join};
use std::hint::black_box;

fn fib_plain(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { black_box(fib_plain(n - 1)) + black_box(fib_plain(n - 2)) }
}

fn fib_ours(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join(|| fib_ours(n - 1), || fib_ours(n - 2));
    a + b
}

#[cfg(feature = "peers")]
fn fib_rayon(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = rayon::join(|| fib_rayon(n - 1), || fib_rayon(n - 2));
    a + b
}

#[cfg(feature = "peers")]
fn fib_chili(scope: &mut chili::Scope<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = scope.join(|scope| fib_chili(scope, n - 1), |scope| fib_chili(scope, n - 2));
    a + b
}

/// Time spent beyond the plain recursion, per join, were all threads busy throughout. Less than a tenth of a nanosecond is
/// noise (plain recursion has its own luck with the compiler) and shown as that.
fn per_join(times: &Times, sequential: &Times, joins: f64, threads: usize) -> f64 {
    ((times.median() * threads as f64 - sequential.median()) / joins).max(0.1)
}

fn report_all(report: &mut Report, case: &str, times: &[Times], joins: f64, threads: usize) {
    let (ours, sequential) = (&times[0], &times[times.len() - 1]);
    for peer in &times[1..] {
        report.time(SUITE, case, ours, peer);
    }
    let case = format!("{case}, per join");
    for peer in &times[1..times.len() - 1] {
        let (a, b) = (per_join(ours, sequential, joins, threads), per_join(peer, sequential, joins, threads));
        report.row(SUITE, &case, "ns", a, Some((peer.name, b)), true, ours.spread() + peer.spread());
    }
    if times.len() == 2 {
        report.alone(SUITE, &case, "ns", per_join(ours, sequential, joins, threads));
    }
}

pub(super) fn fib(effort: Effort, report: &mut Report, pool: &WorkStealing) {
    let n = effort.pick(12, 32, 38);
    let rounds = effort.pick(1, 11, 11);
    let joins = fib_plain(n + 1) as f64 - 1.0;
    for threads in [pool.threads(), 1] {
        let own;
        let pool = if threads == pool.threads() {
            pool
        } else {
            own = WorkStealing::standalone(threads);
            &own
        };
        #[cfg(feature = "peers")]
        let (rayon, chili) = peer_pools(threads);
        let contestants = vec![
            Contestant::new("ours", || pool.run(|| fib_ours(black_box(n)))),
            #[cfg(feature = "peers")]
            Contestant::new("rayon", || rayon.install(|| fib_rayon(black_box(n)))),
            #[cfg(feature = "peers")]
            Contestant::new("chili", || fib_chili(&mut chili.scope(), black_box(n))),
            Contestant::new("plain recursion", || fib_plain(black_box(n))),
        ];
        let times = alternate(rounds, 1, contestants);
        report_all(report, &format!("fib({n}), {threads} threads"), &times, joins, threads);
    }
}

#[cfg(feature = "peers")]
fn peer_pools(threads: usize) -> (rayon::ThreadPool, chili::ThreadPool) {
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let config = chili::Config { thread_count: std::num::NonZero::new(threads), ..chili::Config::default() };
    (rayon.unwrap_or_else(|error| panic!("{error}")), chili::ThreadPool::with_config(config))
}

/// Children are allocated left before right before their parent's box. Everyone visits right before left, which is the way
/// back through memory (chili runs its second closure first): left before right is four times slower for anyone.
struct Tree {
    value: u64,
    children: Option<Box<(Tree, Tree)>>,
}

impl Tree {
    fn new(depth: u32) -> Tree {
        let children = (depth > 0).then(|| Box::new((Tree::new(depth - 1), Tree::new(depth - 1))));
        Tree { value: u64::from(depth) + 1, children }
    }

    fn sum_plain(&self) -> u64 {
        match &self.children {
            None => self.value,
            Some(children) => self.value + children.1.sum_plain() + children.0.sum_plain(),
        }
    }

    fn sum_ours(&self) -> u64 {
        match &self.children {
            None => self.value,
            Some(children) => {
                let (a, b) = join(|| children.1.sum_ours(), || children.0.sum_ours());
                self.value + a + b
            }
        }
    }

    #[cfg(feature = "peers")]
    fn sum_rayon(&self) -> u64 {
        match &self.children {
            None => self.value,
            Some(children) => {
                let (a, b) = rayon::join(|| children.1.sum_rayon(), || children.0.sum_rayon());
                self.value + a + b
            }
        }
    }

    #[cfg(feature = "peers")]
    fn sum_chili(&self, scope: &mut chili::Scope<'_>) -> u64 {
        match &self.children {
            None => self.value,
            Some(children) => {
                let (a, b) = scope.join(|s| children.0.sum_chili(s), |s| children.1.sum_chili(s));
                self.value + a + b
            }
        }
    }
}

pub(super) fn tree(effort: Effort, report: &mut Report, pool: &WorkStealing) {
    let depth = effort.pick(6, 20, 24);
    let tree = Tree::new(depth);
    #[cfg(feature = "peers")]
    let (rayon, chili) = peer_pools(pool.threads());
    let contestants = vec![
        Contestant::new("ours", || pool.run(|| tree.sum_ours())),
        #[cfg(feature = "peers")]
        Contestant::new("rayon", || rayon.install(|| tree.sum_rayon())),
        #[cfg(feature = "peers")]
        Contestant::new("chili", || tree.sum_chili(&mut chili.scope())),
        Contestant::new("plain recursion", || tree.sum_plain()),
    ];
    let times = alternate(effort.pick(1, 11, 15), 1, contestants);
    let joins = f64::from(2_u32.pow(depth) - 1);
    report_all(report, &format!("tree of 2^{depth} leaves"), &times, joins, pool.threads());
}

/// The kernel by `join` down to 16 leaves: few and long halves, where a cheap join does not help and late sharing hurts.
pub(super) fn coarse(effort: Effort, report: &mut Report, pool: &WorkStealing) {
    let data = ints(effort.pick(16_000, 1_600_000, 1_600_000));
    let leaf = data.len() / 16;
    #[cfg(feature = "peers")]
    let (rayon, chili) = peer_pools(pool.threads());
    let contestants = vec![
        Contestant::new("ours", || pool.run(|| halves_ours(&data, leaf))),
        #[cfg(feature = "peers")]
        Contestant::new("rayon", || rayon.install(|| halves_rayon(&data, leaf))),
        #[cfg(feature = "peers")]
        Contestant::new("chili", || halves_chili(&mut chili.scope(), &data, leaf)),
        Contestant::new("plain loop", || plain(&data)),
    ];
    let times = alternate(effort.pick(1, 21, 61), 1, contestants);
    for peer in &times[1..] {
        report.time(SUITE, "16 coarse leaves by join", &times[0], peer);
    }
}

fn halves_ours(values: &[i32], leaf: usize) -> u64 {
    if values.len() <= leaf {
        return plain(values);
    }
    let (left, right) = values.split_at(values.len() / 2);
    let (left, right) = join(|| halves_ours(left, leaf), || halves_ours(right, leaf));
    left + right
}

#[cfg(feature = "peers")]
fn halves_rayon(values: &[i32], leaf: usize) -> u64 {
    if values.len() <= leaf {
        return plain(values);
    }
    let (left, right) = values.split_at(values.len() / 2);
    let (left, right) = rayon::join(|| halves_rayon(left, leaf), || halves_rayon(right, leaf));
    left + right
}

#[cfg(feature = "peers")]
fn halves_chili(scope: &mut chili::Scope<'_>, values: &[i32], leaf: usize) -> u64 {
    if values.len() <= leaf {
        return plain(values);
    }
    let (left, right) = values.split_at(values.len() / 2);
    let (left, right) = scope.join(|s| halves_chili(s, left, leaf), |s| halves_chili(s, right, leaf));
    left + right
}
