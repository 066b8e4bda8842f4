//! `kernel.<instance>.fts` in the node's folder: what is in it is whole after each chunk, whatever becomes of us.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use fathom_stream::{ChunkWriter, Clock, Header, KernelEvent, chunk_flag};

use crate::KernelError;

/// The format allows 1 MiB.
const CHUNK_BYTES: usize = 256 << 10;

pub struct EventFile {
	path: PathBuf,
	file: File,
	instance: u64,
	chunks: u64,
	chunk: Option<ChunkWriter>,
}

impl EventFile {
	pub fn create(folder: &Path) -> Result<EventFile, KernelError> {
		let instance = Clock::now().realtime ^ u64::from(std::process::id()) << 40;
		let path = folder.join(format!("kernel.{instance:016x}.fts"));
		let opened = OpenOptions::new().append(true).create_new(true).open(&path);
		let file = opened.map_err(|error| KernelError::file(&path, &error))?;
		// Until it is whole: who ends the run waits for it. Where there are no locks, nobody does.
		let _ = file.try_lock();
		Ok(EventFile { path, file, instance, chunks: 0, chunk: None })
	}

	pub fn event(&mut self, event: &KernelEvent) -> Result<(), KernelError> {
		let writer = self.chunk();
		writer.plain(event);
		if writer.committed() > CHUNK_BYTES {
			self.seal(0)?;
		}
		Ok(())
	}

	/// For the run's log.
	pub fn mark(&mut self, detail: &str, value: u64) {
		let now = Clock::now().ticks;
		self.chunk().mark(now, b"kernel", detail.as_bytes(), value);
	}

	fn chunk(&mut self) -> &mut ChunkWriter {
		let (instance, number) = (self.instance, self.chunks);
		self.chunk.get_or_insert_with(|| {
			ChunkWriter::new(&Header::of_this_process(instance, number, Clock::now()))
		})
	}

	/// What came since the last time.
	pub fn flush(&mut self) -> Result<(), KernelError> {
		if self.chunk.is_some() { self.seal(0) } else { Ok(()) }
	}

	pub fn finish(mut self) -> Result<(), KernelError> {
		self.chunk();
		self.seal(chunk_flag::LAST)
	}

	fn seal(&mut self, flags: u32) -> Result<(), KernelError> {
		let Some(mut chunk) = self.chunk.take() else { return Ok(()) };
		chunk.ends(&Clock::now());
		self.chunks += 1;
		self.file
			.write_all(&chunk.seal(flags))
			.map_err(|error| KernelError::file(&self.path, &error))
	}
}
