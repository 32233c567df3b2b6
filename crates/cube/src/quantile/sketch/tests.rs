//! Sketches: exact while they are small, within their error when they are not, and always the same.

use super::*;
use proptest::prelude::*;

fn of(numbers: &[f64]) -> Sketch {
    let mut sketch = Sketch::default();
    numbers.iter().for_each(|number| sketch.add(*number));
    sketch
}

/// The quantile by its definition.
fn exact(numbers: &[f64], part: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = part * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Numbers that look random, between -1 and 1.
fn numbers(count: usize) -> Vec<f64> {
    let mut state = 42_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Makes another number of one between -1 and 1.
type Change = fn(f64) -> f64;

const PARTS: [f64; 9] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

#[test]
fn few_numbers_are_exact() {
    assert_eq!(of(&[]).value(0.5), None);
    assert_eq!(of(&[3.0]).value(0.9), Some(3.0));
    assert_eq!(of(&[4.0, 1.0]).value(0.5), Some(2.5));
    assert_eq!(of(&[4.0, 1.0, 2.0, 3.0, 5.0]).value(0.75), Some(4.0));
    let all = numbers(EXACT);
    for part in PARTS {
        assert!((of(&all).value(part).unwrap() - exact(&all, part)).abs() < 1e-12);
    }
}

#[test]
fn many_numbers_are_within_the_error() {
    // From narrow to wide: the error that the documentation names for each.
    let cases: [(&str, Change, f64); 4] = [
        ("within a magnitude", |x| 100.0 + 50.0 * x, 1.0 / 2_048.0),
        ("gains and losses", |x| 1e6 * x, 1.0 / 512.0),
        ("twelve magnitudes", |x| x.signum() * 10_f64.powf(12.0 * x.abs()), 1.0 / 64.0),
        ("all magnitudes", |x| x.signum() * 10_f64.powf(600.0 * x.abs() - 300.0), 0.5),
    ];
    for (name, of_number, error) in cases {
        let all: Vec<f64> = numbers(100_000).into_iter().map(of_number).collect();
        let sketch = of(&all);
        for part in PARTS {
            let (found, expected) = (sketch.clone().value(part).unwrap(), exact(&all, part));
            assert!(
                (found - expected).abs() <= error * expected.abs() * 1.01 + 1e-300,
                "{name} at {part}: {found} instead of {expected}"
            );
        }
        assert!(sketch.bytes() <= EXACT * 8 + MOST_BUCKETS * 2 * 16 + 100, "{name}: {}", sketch.bytes());
        let ends = (sketch.clone().value(0.0).unwrap(), sketch.value(1.0).unwrap());
        assert_eq!(ends, (exact(&all, 0.0), exact(&all, 1.0)), "ends are exact");
    }
}

#[test]
fn what_is_no_usual_number_has_its_place() {
    let mut all = vec![-0.0; 2_000];
    all.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN, 5e-324]);
    let sketch = of(&all);
    assert_eq!(sketch.clone().value(0.0), Some(f64::NEG_INFINITY));
    assert_eq!(sketch.clone().value(0.5).unwrap().to_bits(), 0.0_f64.to_bits());
    assert!(sketch.clone().value(1.0).unwrap().is_nan());
    assert_eq!(sketch.value((all.len() - 3) as f64 / (all.len() - 1) as f64), Some(f64::INFINITY));
}

#[test]
fn bytes_that_are_no_sketch_are_refused() {
    let good = of(&numbers(3_000)).encode().unwrap();
    for bytes in [&[][..], &[1], &[0, 1], &good[..good.len() - 1], &good[..HEAD], &[7; 100]] {
        assert!(Sketch::decode(bytes).is_err());
    }
    assert!(Sketch::default().encode().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_sketch_does_not_depend_on_order_or_parts(
        scale in 0..3_u32,
        count in 1..12_000_usize,
        cuts in prop::collection::vec(0.0..1.0_f64, 0..6),
        turn in any::<usize>(),
        through_bytes in any::<bool>(),
    ) {
        let spread = |x: f64| match scale {
            0 => x,
            1 => x.signum() * 10_f64.powf(20.0 * x.abs()),
            _ => x.signum() * 10_f64.powf(600.0 * x.abs() - 300.0),
        };
        let all: Vec<f64> = numbers(count).into_iter().map(spread).collect();
        let mut other = all.clone();
        other.rotate_left(turn % count);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| (cut * count as f64) as usize).chain([0, count]).collect();
        ends.sort_unstable();
        let mut parts: Vec<Sketch> = ends.windows(2).map(|ends| of(&other[ends[0]..ends[1]])).collect();
        if through_bytes {
            parts = parts.into_iter().filter_map(Sketch::encode).map(|bytes| Sketch::decode(&bytes).unwrap()).collect();
        }
        let mut merged = Sketch::default();
        parts.iter().rev().for_each(|part| merged.merge(part));
        prop_assert_eq!(merged.encode(), of(&all).encode());
    }
}
