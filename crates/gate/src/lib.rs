//! Front doors: the Hazelcast client protocol.
#![forbid(unsafe_code)]
