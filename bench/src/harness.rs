//! Alternating measurement: one round of ours, one of each peer, in turn, so that the machine's drift hits all alike.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How much time a suite may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Sizes that a test can afford; only checks that the bench works.
    Tiny,
    /// Under 20 seconds.
    Quick,
    /// The figures to quote.
    Full,
}

impl Effort {
    /// One of three values.
    pub(crate) fn pick<T>(self, tiny: T, quick: T, full: T) -> T {
        match self {
            Effort::Tiny => tiny,
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// One contestant: a name and a body that returns its answer, which must equal everyone else's.
pub(crate) struct Contestant<'a, A> {
    name: &'static str,
    body: Box<dyn FnMut() -> A + 'a>,
}

impl<'a, A> Contestant<'a, A> {
    pub(crate) fn new(name: &'static str, body: impl FnMut() -> A + 'a) -> Self {
        Self { name, body: Box::new(body) }
    }
}

/// The times of one contestant, in nanoseconds per call.
#[derive(Debug, Clone)]
pub(crate) struct Times {
    pub(crate) name: &'static str,
    sorted: Vec<f64>,
}

impl Times {
    /// Times measured elsewhere, in nanoseconds.
    pub(crate) fn from_nanos(name: &'static str, mut nanos: Vec<f64>) -> Self {
        nanos.sort_by(f64::total_cmp);
        Self { name, sorted: nanos }
    }

    /// The same times for one of `items` equal parts of a call.
    pub(crate) fn per(&self, items: f64) -> Self {
        Self { name: self.name, sorted: self.sorted.iter().map(|nanos| nanos / items).collect() }
    }

    pub(crate) fn median(&self) -> f64 {
        self.sorted[self.sorted.len() / 2]
    }

    /// Half the distance between the quartiles, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        let quartile = |share: usize| self.sorted[(self.sorted.len() - 1) * share / 4];
        (quartile(3) - quartile(1)) / 2.0 / self.median()
    }
}

/// How long single calls took.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    /// In nanoseconds, the shortest first.
    sorted: Vec<u64>,
}

impl Latencies {
    pub(crate) fn from_nanos(mut nanos: Vec<u64>) -> Self {
        assert!(!nanos.is_empty(), "there was a call");
        nanos.sort_unstable();
        Self { sorted: nanos }
    }

    /// Of a bystander's calls: sixteen one after the other and a pause that lets others run, until `is_over`. `prepare` makes what a call
    /// takes; only the call is measured.
    pub(crate) fn of_bystander<P>(
        mut prepare: impl FnMut() -> P,
        mut call: impl FnMut(P),
        mut is_over: impl FnMut() -> bool,
    ) -> Self {
        let mut nanos = Vec::new();
        while nanos.is_empty() || !is_over() {
            for _ in 0..16 {
                let prepared = prepare();
                let begin = Instant::now();
                call(prepared);
                nanos.push(begin.elapsed().as_nanos() as u64);
            }
            // sleeps because one who never pauses is one more load, and not a bystander
            std::thread::sleep(Duration::from_micros(200));
        }
        Self::from_nanos(nanos)
    }

    /// The longest of that share of the calls, in microseconds: 0.5 for the median, 1.0 for the longest of all.
    pub(crate) fn micros(&self, share: f64) -> f64 {
        let at = ((self.sorted.len() as f64 * share) as usize).min(self.sorted.len() - 1);
        self.sorted[at] as f64 / 1e3
    }

    pub(crate) fn count(&self) -> usize {
        self.sorted.len()
    }
}

/// A cheap source of numbers that repeat with every round: all contestants draw the same.
#[derive(Debug, Clone)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    #[inline]
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }
}

/// The pages of this process that are in memory, in bytes.
pub(crate) fn resident() -> f64 {
    const PAGE: f64 = 4096.0;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * PAGE
}

/// Runs each contestant `rounds` times, `calls` calls a round, alternating, and checks that all answers agree.
///
/// The order rotates from round to round: whoever runs after a heavy peer does not always run after it.
pub(crate) fn alternate<A: PartialEq + std::fmt::Debug>(
    rounds: usize,
    calls: usize,
    mut contestants: Vec<Contestant<'_, A>>,
) -> Vec<Times> {
    let count = contestants.len();
    let mut nanos = vec![Vec::with_capacity(rounds); count];
    let mut answer: Option<A> = None;
    for round in 0..=rounds {
        for turn in 0..count {
            let index = (round + turn) % count;
            let contestant = &mut contestants[index];
            let start = Instant::now();
            let mut last = None;
            for _ in 0..calls {
                last = Some(black_box((contestant.body)()));
            }
            let took = start.elapsed().as_nanos() as f64 / calls as f64;
            if round > 0 {
                // Round 0 warms up.
                nanos[index].push(took);
            }
            if let Some(given) = last {
                match &answer {
                    None => answer = Some(given),
                    Some(expected) => assert_eq!(*expected, given, "{} answers differently", contestant.name),
                }
            }
        }
    }
    contestants
        .iter()
        .zip(nanos)
        .map(|(contestant, nanos)| Times::from_nanos(contestant.name, nanos))
        .collect()
}
