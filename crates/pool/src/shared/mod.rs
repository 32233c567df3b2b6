//! (built in its own slice)
