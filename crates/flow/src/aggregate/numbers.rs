//! Aggregates that are a number or the largest of something.

use super::{Aggregate, Fold};
use std::marker::PhantomData;
use std::ops::AddAssign;

/// How many items.
pub fn count() -> Count {
    Count
}

/// The sum of a function's answers. Integers overflow as `+` does.
///
/// ```
/// use filbert_flow::aggregate::{Fold, sum};
/// let lengths = sum(|word: &String| word.len() as u64);
/// let mut total = lengths.start();
/// lengths.accumulate(&mut total, &"filbert".to_owned());
/// assert_eq!(lengths.finish(total), 7);
/// ```
pub fn sum<T, N, F>(of: F) -> Sum<T, F>
where
    N: AddAssign + Default + Send + 'static,
    F: Fn(&T) -> N + Clone + Send + Sync + 'static,
{
    Sum { of, _item: PhantomData }
}

/// The smallest of a function's answers; none of no items.
pub fn min<T, V, F>(of: F) -> Min<T, F>
where
    V: Ord + Send + 'static,
    F: Fn(&T) -> V + Clone + Send + Sync + 'static,
{
    Min { of, _item: PhantomData }
}

/// The largest of a function's answers; none of no items.
pub fn max<T, V, F>(of: F) -> Max<T, F>
where
    V: Ord + Send + 'static,
    F: Fn(&T) -> V + Clone + Send + Sync + 'static,
{
    Max { of, _item: PhantomData }
}

/// The mean of a function's answers; none of no items.
pub fn average<T, F>(of: F) -> Average<T, F>
where
    F: Fn(&T) -> f64 + Clone + Send + Sync + 'static,
{
    Average { of, _item: PhantomData }
}

/// See [`count`].
#[derive(Debug, Clone, Copy)]
pub struct Count;

impl<T> Fold<T> for Count {
    type Accumulator = u64;
    type Out = u64;

    fn name(&self) -> &'static str {
        "count"
    }

    #[inline(always)]
    fn start(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn accumulate(&self, count: &mut u64, _: &T) {
        *count += 1;
    }

    fn finish(&self, count: u64) -> u64 {
        count
    }
}

impl<T> Aggregate<T> for Count {
    #[inline(always)]
    fn combine(&self, count: &mut u64, other: u64) {
        *count += other;
    }
}

macro_rules! of_items {
    ($($name:ident $function:literal),+) => {
        $(
            #[doc = concat!("See [`", $function, "`](", $function, "()).")]
            pub struct $name<T, F> {
                of: F,
                _item: PhantomData<fn(T)>,
            }

            impl<T, F: Clone> Clone for $name<T, F> {
                fn clone(&self) -> Self {
                    Self { of: self.of.clone(), _item: PhantomData }
                }
            }
        )+
    };
}

of_items!(Sum "sum", Min "min", Max "max", Average "average");

impl<T, N, F> Fold<T> for Sum<T, F>
where
    T: 'static,
    N: AddAssign + Default + Send + 'static,
    F: Fn(&T) -> N + Clone + Send + Sync + 'static,
{
    type Accumulator = N;
    type Out = N;

    fn name(&self) -> &'static str {
        "sum"
    }

    #[inline(always)]
    fn start(&self) -> N {
        N::default()
    }

    #[inline(always)]
    fn accumulate(&self, sum: &mut N, item: &T) {
        *sum += (self.of)(item);
    }

    fn finish(&self, sum: N) -> N {
        sum
    }
}

impl<T, N, F> Aggregate<T> for Sum<T, F>
where
    T: 'static,
    N: AddAssign + Default + Send + 'static,
    F: Fn(&T) -> N + Clone + Send + Sync + 'static,
{
    #[inline(always)]
    fn combine(&self, sum: &mut N, other: N) {
        *sum += other;
    }
}

macro_rules! extreme {
    ($name:ident, $text:literal, $better:tt) => {
        impl<T, V, F> Fold<T> for $name<T, F>
        where
            T: 'static,
            V: Ord + Send + 'static,
            F: Fn(&T) -> V + Clone + Send + Sync + 'static,
        {
            type Accumulator = Option<V>;
            type Out = Option<V>;

            fn name(&self) -> &'static str {
                $text
            }

            #[inline(always)]
            fn start(&self) -> Option<V> {
                None
            }

            #[inline(always)]
            fn accumulate(&self, best: &mut Option<V>, item: &T) {
                self.combine(best, Some((self.of)(item)));
            }

            fn finish(&self, best: Option<V>) -> Option<V> {
                best
            }
        }

        impl<T, V, F> Aggregate<T> for $name<T, F>
        where
            T: 'static,
            V: Ord + Send + 'static,
            F: Fn(&T) -> V + Clone + Send + Sync + 'static,
        {
            #[inline(always)]
            fn combine(&self, best: &mut Option<V>, other: Option<V>) {
                let Some(other) = other else { return };
                if best.as_ref().is_none_or(|best| other $better *best) {
                    *best = Some(other);
                }
            }
        }
    };
}

extreme!(Min, "min", <);
extreme!(Max, "max", >);

impl<T, F> Fold<T> for Average<T, F>
where
    T: 'static,
    F: Fn(&T) -> f64 + Clone + Send + Sync + 'static,
{
    type Accumulator = (f64, u64);
    type Out = Option<f64>;

    fn name(&self) -> &'static str {
        "average"
    }

    #[inline(always)]
    fn start(&self) -> (f64, u64) {
        (0.0, 0)
    }

    #[inline(always)]
    fn accumulate(&self, (sum, count): &mut (f64, u64), item: &T) {
        *sum += (self.of)(item);
        *count += 1;
    }

    fn finish(&self, (sum, count): (f64, u64)) -> Option<f64> {
        (count > 0).then(|| sum / count as f64)
    }
}

impl<T, F> Aggregate<T> for Average<T, F>
where
    T: 'static,
    F: Fn(&T) -> f64 + Clone + Send + Sync + 'static,
{
    #[inline(always)]
    fn combine(&self, (sum, count): &mut (f64, u64), other: (f64, u64)) {
        *sum += other.0;
        *count += other.1;
    }
}
