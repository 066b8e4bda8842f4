//! How much is held, sent and waited for.

use std::time::Duration;

use fathom_wire::number::limit;

/// Largest data that a request may carry itself.
pub const INLINE: usize = 16 << 10;
/// Largest part of the data that is moved at once: it stays in the processor's cache on its way.
pub const PIECE: usize = 256 << 10;
/// Less than this not yet sent: the next part of a read may be read.
pub const AHEAD: usize = 512 << 10;
/// More than this not yet sent: the connection's requests are not read.
pub const FULL: usize = 4 << 20;
/// Requests of a client that have an answer and are not done.
pub const UNFINISHED: usize = 4096;
/// So many requests after one that waits for a lock it is answered: the window would close.
pub const PARKED: u64 = limit::WINDOW as u64 / 2;
/// How often what has no event of its own is looked at.
pub const TICK: Duration = Duration::from_millis(500);
/// Threads that ask other servers.
pub const CALLERS: usize = 16;
/// How long the end waits for what was accepted.
pub const DRAIN: Duration = Duration::from_secs(60);
/// How long a connection may take to prove who it is, where others wait for its place.
pub const GREETING: Duration = Duration::from_secs(1);
