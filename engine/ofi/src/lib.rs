//! Connections over libfabric: the forwarding client's C, which loads libfabric.so.1 when it is asked for. Each is a
//! stream of bytes with a descriptor that epoll watches.

mod link;

pub use link::{Link, Listener};
