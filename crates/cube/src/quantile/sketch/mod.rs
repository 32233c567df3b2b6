//! A sketch of numbers: of bounded size, mergeable, and the same whatever the order in which numbers and sketches came.
//!
//! Up to [`EXACT`] numbers are kept as they are. More are counted in *buckets*: two numbers are in one bucket when their sign, exponent and
//! first `k` bits of the mantissa are the same, so that a bucket is at most 2^-k wide for its distance from 0, and its middle is wrong by half
//! of that. `k` begins at 10. When there are more than [`MOST_BUCKETS`], each two neighbours become one: `k` is one less. That is a shift of all
//! numbers of buckets, so it does not matter when it happens: in the end, `k` is the largest for which the buckets of *all* numbers are
//! few enough, and counts are sums. The least and the greatest number are exact.
//!
//! Rejected: t-digest and KLL, whose answers depend on the order of merges; logarithms for buckets (DDSketch), which differ by a bit from machine
//! to machine.

use crate::error::CubeError;

/// So many numbers are kept as they are.
pub(super) const EXACT: usize = 1_024;

/// So many buckets are there at most.
pub(super) const MOST_BUCKETS: usize = 4_096;

/// The bits of a mantissa that buckets do not tell apart, at first: 10 of 52 remain.
const FIRST_SHIFT: u32 = 42;

/// Numbers of one group.
#[derive(Debug, Default, Clone)]
pub(super) struct Sketch {
    /// Not counted yet; all of them as long as there are no buckets.
    numbers: Vec<f64>,
    /// There when there were ever more than [`EXACT`] numbers.
    buckets: Option<Box<Buckets>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Buckets {
    shift: u32,
    /// Buckets in order, with their counts.
    counts: Vec<(i32, u64)>,
    least: f64,
    greatest: f64,
}

impl Sketch {
    /// Adds a number; NaN is above all others.
    pub(super) fn add(&mut self, number: f64) {
        if self.numbers.len() == EXACT {
            self.count();
        }
        // One zero and one NaN.
        let number = if number == 0.0 {
            0.0
        } else if number.is_nan() {
            f64::NAN
        } else {
            number
        };
        self.numbers.push(number);
    }

    /// Adds all numbers of another.
    pub(super) fn merge(&mut self, other: &Sketch) {
        other.numbers.iter().for_each(|number| self.add(*number));
        if let Some(more) = &other.buckets {
            self.count();
            match &mut self.buckets {
                Some(buckets) => buckets.merge(more),
                None => self.buckets = Some(more.clone()),
            }
        }
    }

    /// The value that `part` of all numbers do not exceed, between the two numbers next to that place. None of no numbers.
    pub(super) fn value(mut self, part: f64) -> Option<f64> {
        if self.buckets.is_some() {
            self.count();
        } else {
            self.numbers.sort_unstable_by(f64::total_cmp);
        }
        let total = self.buckets.as_ref().map_or(self.numbers.len() as u64, |buckets| buckets.total());
        let place = part.clamp(0.0, 1.0) * total.checked_sub(1)? as f64;
        let at = |rank: u64| match &self.buckets {
            Some(buckets) => buckets.at(rank.min(total - 1), total),
            None => self.numbers[(rank as usize).min(self.numbers.len() - 1)],
        };
        let (below, above) = (at(place.floor() as u64), at(place.ceil() as u64));
        let (further, distance) = (place.fract(), above - below);
        Some(match further {
            0.0 => below,
            _ if below == above => below,
            _ if distance.is_finite() => below + distance * further,
            // The two ends of all numbers are further apart than a number can tell.
            _ => below * (1.0 - further) + above * further,
        })
    }

    /// What it has allocated, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let buckets =
            |buckets: &Buckets| size_of::<Buckets>() + buckets.counts.capacity() * size_of::<(i32, u64)>();
        self.numbers.capacity() * 8 + self.buckets.as_deref().map_or(0, buckets)
    }

    /// As bytes, the same for the same numbers. None of no numbers.
    pub(super) fn encode(mut self) -> Option<Vec<u8>> {
        if self.buckets.is_some() {
            self.count();
        }
        let Some(buckets) = self.buckets else {
            self.numbers.sort_unstable_by(f64::total_cmp);
            let begin = (!self.numbers.is_empty()).then_some(0)?;
            return Some(
                std::iter::once(begin)
                    .chain(self.numbers.iter().flat_map(|number| number.to_le_bytes()))
                    .collect(),
            );
        };
        let mut bytes = Vec::with_capacity(HEAD + buckets.counts.len() * ENTRY);
        // Never 0, which stands for plain numbers.
        bytes.push(buckets.shift as u8);
        bytes.extend(buckets.least.to_le_bytes());
        bytes.extend(buckets.greatest.to_le_bytes());
        for (bucket, count) in buckets.counts {
            bytes.extend(bucket.to_le_bytes());
            bytes.extend(count.to_le_bytes());
        }
        Some(bytes)
    }

    /// What [`Sketch::encode`] wrote.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, CubeError> {
        let broken = || CubeError::Computation {
            place: "quantile".to_owned(),
            message: "bytes that are no sketch were to be merged".to_owned(),
        };
        let (shift, rest) = bytes.split_first().ok_or_else(broken)?;
        if *shift == 0 {
            let (numbers, rest) = rest.as_chunks::<8>();
            let numbers: Vec<f64> = numbers.iter().map(|number| f64::from_le_bytes(*number)).collect();
            let is_whole = rest.is_empty() && numbers.len() <= EXACT;
            return if is_whole { Ok(Self { numbers, buckets: None }) } else { Err(broken()) };
        }
        let (least, rest) = rest.split_first_chunk::<8>().ok_or_else(broken)?;
        let (greatest, rest) = rest.split_first_chunk::<8>().ok_or_else(broken)?;
        let (entries, rest) = rest.as_chunks::<ENTRY>();
        if !rest.is_empty() || entries.is_empty() || !(FIRST_SHIFT..=52).contains(&u32::from(*shift)) {
            return Err(broken());
        }
        let counts = entries.iter().map(|[a, b, c, d, count @ ..]| {
            (i32::from_le_bytes([*a, *b, *c, *d]), u64::from_le_bytes(*count))
        });
        let (least, greatest) = (f64::from_le_bytes(*least), f64::from_le_bytes(*greatest));
        let buckets = Buckets { shift: u32::from(*shift), counts: counts.collect(), least, greatest };
        Ok(Self { numbers: Vec::new(), buckets: Some(Box::new(buckets)) })
    }

    /// Moves the numbers to buckets.
    fn count(&mut self) {
        if self.numbers.is_empty() {
            return;
        }
        self.numbers.sort_unstable_by(f64::total_cmp);
        let more = Buckets::of(&self.numbers);
        self.numbers.clear();
        match &mut self.buckets {
            Some(buckets) => buckets.merge(&more),
            None => self.buckets = Some(Box::new(more)),
        }
    }
}

/// Bytes before the buckets, and of each.
const HEAD: usize = 17;
const ENTRY: usize = 12;

impl Buckets {
    /// The buckets of some numbers, at most [`EXACT`], in order.
    fn of(numbers: &[f64]) -> Self {
        let mut counts: Vec<(i32, u64)> = Vec::new();
        for number in numbers {
            push(&mut counts, (bucket_of(*number), 1));
        }
        Self { shift: FIRST_SHIFT, counts, least: numbers[0], greatest: numbers[numbers.len() - 1] }
    }

    fn merge(&mut self, other: &Buckets) {
        if other.least.total_cmp(&self.least).is_lt() {
            self.least = other.least;
        }
        if other.greatest.total_cmp(&self.greatest).is_gt() {
            self.greatest = other.greatest;
        }
        let shift = self.shift.max(other.shift);
        let (by, other_by) = (shift - self.shift, shift - other.shift);
        let mut mine = self.counts.iter().map(|(bucket, count)| (bucket >> by, *count)).peekable();
        let mut theirs = other.counts.iter().map(|(bucket, count)| (bucket >> other_by, *count)).peekable();
        let mut counts = Vec::with_capacity(self.counts.len().max(other.counts.len()));
        loop {
            let next = match (mine.peek(), theirs.peek()) {
                (Some(one), Some(other)) if one.0 <= other.0 => mine.next(),
                (Some(_), None) => mine.next(),
                _ => theirs.next(),
            };
            match next {
                Some(next) => push(&mut counts, next),
                None => break,
            }
        }
        counts.shrink_to(MOST_BUCKETS);
        (self.shift, self.counts) = (shift, counts);
        while self.counts.len() > MOST_BUCKETS && self.shift < 52 {
            self.shift += 1;
            let mut counts = Vec::with_capacity(MOST_BUCKETS);
            self.counts.iter().for_each(|(bucket, count)| push(&mut counts, (bucket >> 1, *count)));
            self.counts = counts;
        }
    }

    fn total(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// About the number of this rank, from 0.
    fn at(&self, rank: u64, total: u64) -> f64 {
        if rank == 0 {
            return self.least;
        }
        if rank + 1 == total {
            return self.greatest;
        }
        let mut before = 0;
        let bucket = self.counts.iter().find(|(_, count)| {
            before += count;
            before > rank
        });
        let middle = bucket.map_or(self.greatest, |(bucket, _)| middle_of(*bucket, self.shift));
        // No number is outside of these, the middle of a bucket may be.
        if middle.total_cmp(&self.least).is_lt() {
            self.least
        } else if middle.total_cmp(&self.greatest).is_gt() {
            self.greatest
        } else {
            middle
        }
    }
}

/// Adds a count to the last bucket, if it is that one.
fn push(counts: &mut Vec<(i32, u64)>, (bucket, count): (i32, u64)) {
    match counts.last_mut() {
        Some((last, known)) if *last == bucket => *known += count,
        _ => counts.push((bucket, count)),
    }
}

/// The bucket of a number: sign, exponent and first bits. In the order of numbers, and a shift away from those of fewer bits.
fn bucket_of(number: f64) -> i32 {
    let size = (number.abs().to_bits() >> FIRST_SHIFT) as i32;
    if number < 0.0 { !size } else { size }
}

fn middle_of(bucket: i32, shift: u32) -> f64 {
    let size = if bucket < 0 { !bucket } else { bucket } as u64;
    let first = f64::from_bits(size << shift);
    let middle = if size == 0 || !first.is_finite() {
        first
    } else {
        let last = f64::from_bits(((size + 1) << shift) - 1);
        first + (last - first) / 2.0
    };
    if bucket < 0 { -middle } else { middle }
}

#[cfg(test)]
mod tests;
