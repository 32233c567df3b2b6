//! Connections on the `io` stage: the only crate that opens sockets.
#![forbid(unsafe_code)]
