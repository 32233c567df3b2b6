//! The loom models of every protocol in this crate, one module each, with tiny capacities.
//!
//! Run with `RUSTFLAGS="--cfg filbert_loom" cargo test -p filbert-sync --release --test loom`, or `cargo xtask verify`.
#![cfg(filbert_loom)]

mod models {
    mod conveyor;
    mod duty;
    mod gate;
    mod idle;
    mod join_slot;
    mod parker;
    mod pending;
    mod running;
    mod strand;
    mod task_state;
}
