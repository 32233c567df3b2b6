//! Where a batch is cut.

use super::cost::Costs;
use super::*;

fn costs(bytes: &[u64], steps: &[u64]) -> Costs {
    Costs { bytes: bytes.to_vec(), steps: steps.to_vec() }
}

#[test]
fn pieces_are_cut_by_bytes_and_by_steps_and_have_a_row_each() {
    let third = PIECE_BYTES / 3;
    assert_eq!(pieces(&costs(&[third; 7], &[]), 7), [0..3, 3..6, 6..7]);
    assert_eq!(pieces(&costs(&[], &[PIECE_STEPS; 3]), 3), [0..1, 1..2, 2..3]);
    assert_eq!(pieces(&costs(&[u64::MAX; 2], &[u64::MAX; 2]), 2), [0..1, 1..2]);
    assert_eq!(pieces(&costs(&[0; 3], &[]), 3).len(), 1);
}

#[test]
fn what_is_small_needs_no_care() {
    assert!(costs(&[], &[]).is_small(FREE_BYTES));
    assert!(costs(&[FREE_BYTES], &[PIECE_STEPS]).is_small(FREE_BYTES));
    assert!(!costs(&[FREE_BYTES, 1], &[]).is_small(FREE_BYTES));
    assert!(!costs(&[u64::MAX, u64::MAX], &[]).is_small(FREE_BYTES));
}
