//! CephFS without a mount of the system's: libcephfs, looked for when it is asked for. Files are inodes here, so they live on
//! without a name; paths and who may leave which directory are the caller's.

mod functions;
mod inode;
mod mount;

pub use functions::{Layout, Stat, Time, setattr};
pub use inode::{Entry, Inode, Opened};
pub use mount::Mount;
