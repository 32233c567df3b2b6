//! Several aggregates of the same items: a tuple of them gives a tuple of results.

use super::{Aggregate, Fold};

macro_rules! tuple_of_aggregates {
    ($($item:ident $index:tt),+; $last:ident $last_index:tt) => {
        impl<T, $($item: Fold<T>,)+ $last: Fold<T>> Fold<T> for ($($item,)+ $last,) {
            type Accumulator = ($($item::Accumulator,)+ $last::Accumulator,);
            type Out = ($($item::Out,)+ $last::Out,);
            // One that needs every item makes them travel anyway.
            const REDUCES: bool = $($item::REDUCES &&)+ $last::REDUCES;

            fn name(&self) -> &'static str {
                "aggregate"
            }

            #[inline]
            fn start(&self) -> Self::Accumulator {
                ($(self.$index.start(),)+ self.$last_index.start(),)
            }

            #[inline(always)]
            fn accumulate(&self, accumulator: &mut Self::Accumulator, item: &T) {
                $(self.$index.accumulate(&mut accumulator.$index, item);)+
                self.$last_index.accumulate(&mut accumulator.$last_index, item);
            }

            #[inline(always)]
            fn accumulate_owned(&self, accumulator: &mut Self::Accumulator, item: T) {
                $(self.$index.accumulate(&mut accumulator.$index, &item);)+
                self.$last_index.accumulate_owned(&mut accumulator.$last_index, item);
            }

            #[inline(always)]
            fn grows_by(&self, item: &T) -> usize {
                $(self.$index.grows_by(item) +)+ self.$last_index.grows_by(item)
            }

            #[inline(always)]
            fn held_bytes(&self, accumulator: &Self::Accumulator) -> usize {
                $(self.$index.held_bytes(&accumulator.$index) +)+ self.$last_index.held_bytes(&accumulator.$last_index)
            }

            fn finish(&self, accumulator: Self::Accumulator) -> Self::Out {
                ($(self.$index.finish(accumulator.$index),)+ self.$last_index.finish(accumulator.$last_index),)
            }
        }

        impl<T, $($item: Aggregate<T>,)+ $last: Aggregate<T>> Aggregate<T> for ($($item,)+ $last,) {
            #[inline]
            fn combine(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator) {
                $(self.$index.combine(&mut accumulator.$index, other.$index);)+
                self.$last_index.combine(&mut accumulator.$last_index, other.$last_index);
            }
        }
    };
}

tuple_of_aggregates!(A 0; B 1);
tuple_of_aggregates!(A 0, B 1; C 2);
tuple_of_aggregates!(A 0, B 1, C 2; D 3);
tuple_of_aggregates!(A 0, B 1, C 2, D 3; E 4);
