//! Exact sums against sums of whole numbers of 128 bits, against themselves in other orders, and against what is known.

use super::superaccumulator::Superaccumulator;
use super::*;
use arrow::array::{Array, AsArray};
use arrow::datatypes::Float64Type;
use proptest::prelude::*;

fn sum(values: &[f64]) -> ExactSums {
    let mut sums = ExactSums::default();
    sums.grow(1);
    values.iter().for_each(|value| sums.add(0, *value));
    sums
}

fn rounded(values: &[f64]) -> f64 {
    sum(values).rounded(0)
}

/// Bits, with one NaN.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

#[test]
fn known_sums_are_the_nearest_doubles() {
    assert_eq!(bits(rounded(&[])), bits(0.0));
    assert_eq!(bits(rounded(&[-0.0])), bits(0.0));
    assert_eq!(rounded(&[0.1; 10]), 1.0);
    assert_eq!(rounded(&[1e16, 1.0, -1e16]), 1.0);
    assert_eq!(rounded(&[1e308, 1e308, -1e308]), 1e308);
    assert_eq!(rounded(&[f64::MAX, f64::MAX, -f64::MAX, 1e-300]), f64::MAX);
    assert_eq!(rounded(&[f64::MAX, f64::MAX]), f64::INFINITY);
    assert_eq!(rounded(&[1e300, 1e-300, -1e300]), 1e-300);
    assert_eq!(rounded(&[f64::from_bits(1), 1e308, -1e308]), f64::from_bits(1));
    assert_eq!(rounded(&[f64::INFINITY, 1.0, -1e308]), f64::INFINITY);
    assert_eq!(rounded(&[f64::NEG_INFINITY, 1.0]), f64::NEG_INFINITY);
    assert!(rounded(&[f64::NEG_INFINITY, f64::INFINITY]).is_nan() && rounded(&[1.0, f64::NAN]).is_nan());
    // Ties go to the even one, and what is far below a tie decides it.
    let (one, half) = (1.0, f64::EPSILON / 2.0);
    assert_eq!(rounded(&[one, half]), one);
    assert_eq!(rounded(&[one, half, 1e-300]), one + f64::EPSILON);
    assert_eq!(rounded(&[one, half, -1e-300]), one);
    assert_eq!(rounded(&[-one, -half, -1e-300]), -one - f64::EPSILON);
}

#[test]
fn a_superaccumulator_is_read_back_and_damage_is_told() {
    let mut sum = Superaccumulator::default();
    [1e300, -1e-300, 5.0].into_iter().for_each(|value| sum.add(value));
    assert_eq!(Superaccumulator::decode(&sum.encode()).unwrap(), sum);
    assert!(Superaccumulator::decode(&sum.encode()[1..]).is_err());
    assert!(Superaccumulator::decode(&[]).is_err());
}

/// Doubles of all kinds: any bits, and those that sums are usually made of.
fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>(),
        4 => -1_000.0..1_000.0_f64,
        2 => (-60..60_i32, -1.0..1.0_f64).prop_map(|(power, value)| value * 2_f64.powi(power)),
        1 => prop_oneof![
            Just(0.1), Just(1e16), Just(-1e16), Just(1e-300), Just(f64::MAX), Just(f64::MIN_POSITIVE), Just(-0.0)
        ],
    ]
}

proptest! {
    #[test]
    fn sums_are_those_of_whole_numbers(
        values in prop::collection::vec((-(1_i64 << 53)..=1 << 53, 0..60_u32), 0..200),
    ) {
        let doubles: Vec<f64> =
            values.iter().map(|(value, shift)| *value as f64 * (1_u64 << shift) as f64).collect();
        let exact: i128 = values.iter().map(|(value, shift)| i128::from(*value) << shift).sum();
        prop_assert_eq!(rounded(&doubles), exact as f64);
    }

    #[test]
    fn what_is_subtracted_again_leaves_nothing(values in prop::collection::vec(double(), 0..60), last in -1e300..1e300) {
        let finite = values.iter().copied().filter(|value| value.is_finite());
        let both = finite.clone().chain([last]).chain(finite.map(|value| -value));
        let (mut sum, mut far) = (sum(&[]), Superaccumulator::default());
        both.for_each(|value| {
            sum.add(0, value);
            far.add(value);
        });
        prop_assert_eq!((sum.rounded(0), far.rounded()), (last, last));
    }

    #[test]
    fn the_order_and_the_way_do_not_matter(
        (values, other) in prop::collection::vec(double(), 1..100)
            .prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle())),
        cuts in (0..100_usize, 0..100_usize),
    ) {
        let straight = rounded(&values);
        let mut far = Superaccumulator::default();
        values.iter().for_each(|value| far.add(*value));
        prop_assert_eq!(bits(far.rounded()), bits(straight));
        // In parts, which are merged, saved, read back, and added up as states.
        let (left, right) = other.split_at(cuts.0.min(other.len()));
        let (middle, right) = right.split_at(cuts.1.min(right.len()));
        let mut merged = sum(left);
        merged.merge(0, &sum(middle), 0);
        let mut merged = ExactSums::of_states(&merged.states_of(&[0])).unwrap();
        let states = sum(right).into_states(None);
        prop_assert!(is_state(states.data_type()));
        merged.add_states(&states, |body| body(0), |_| 0).unwrap();
        prop_assert_eq!(bits(merged.rounded(0)), bits(straight));
        let told = rounded_of(&merged.into_states(None)).unwrap();
        prop_assert_eq!(bits(told.as_primitive::<Float64Type>().value(0)), bits(straight));
    }
}
