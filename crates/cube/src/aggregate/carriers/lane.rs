//! The loop over rows and their groups, once for every kind of number.

use super::super::values::Values;

/// A number of one lane.
pub(super) trait Number: Copy + Send + Sync + 'static {
    fn of<'a>(values: &'a Values<'_>) -> &'a [Self];
}

impl Number for i64 {
    fn of<'a>(values: &'a Values<'_>) -> &'a [Self] {
        values.ints()
    }
}

impl Number for f64 {
    fn of<'a>(values: &'a Values<'_>) -> &'a [Self] {
        values.floats()
    }
}

impl Number for i128 {
    fn of<'a>(values: &'a Values<'_>) -> &'a [Self] {
        values.wides()
    }
}

/// Calls `body` with the group and the number of every row that counts.
#[inline(always)]
pub(super) fn for_each<N: Number>(groups: &[u32], values: &Values<'_>, mut body: impl FnMut(usize, N)) {
    let numbers = N::of(values);
    match values.mask() {
        None => {
            for (group, number) in groups.iter().zip(numbers) {
                body(*group as usize, *number);
            }
        }
        Some(mask) => {
            for row in mask.set_indices() {
                body(groups[row] as usize, numbers[row]);
            }
        }
    }
}
