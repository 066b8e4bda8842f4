//! Who may speak to a server: the same user on a Unix socket, who knows the token on TCP.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The token of a 0600 file: its first line.
pub fn read_token(path: &Path) -> Result<Vec<u8>, String> {
	let place = path.display();
	let about = fs::metadata(path).map_err(|error| format!("--token {place}: {error}"))?;
	if about.mode() & 0o077 != 0 {
		return Err(format!("--token {place}: others may read it; chmod 600 {place}"));
	}
	let text = fs::read(path).map_err(|error| format!("--token {place}: {error}"))?;
	let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii().to_vec();
	if line.len() < 32 {
		return Err(format!(
			"--token {place}: fewer than 32 characters; make one: openssl rand -hex 32"
		));
	}
	Ok(line)
}

/// The sides of a connection, as their proofs name them.
pub const CLIENT: &str = "fathom-forward client";
pub const SERVER: &str = "fathom-forward server";

/// What one side shows the other.
pub struct Challenge {
	pub server: [u8; 32],
	pub client: [u8; 32],
	pub id: u64,
}

impl Challenge {
	fn mac(&self, token: &[u8], who: &str) -> Option<Hmac<Sha256>> {
		let mut mac = Hmac::<Sha256>::new_from_slice(token).ok()?;
		mac.update(who.as_bytes());
		mac.update(&self.server);
		mac.update(&self.client);
		mac.update(&self.id.to_le_bytes());
		Some(mac)
	}

	/// Whether one side knows the token; takes as long whatever is wrong.
	pub fn holds(&self, token: &[u8], who: &str, proof: &[u8]) -> bool {
		self.mac(token, who).is_some_and(|mac| mac.verify_slice(proof).is_ok())
	}

	/// That one side knows it.
	pub fn proof(&self, token: &[u8], who: &str) -> Vec<u8> {
		let mac = self.mac(token, who);
		mac.map(|mac| mac.finalize().into_bytes().to_vec()).unwrap_or_default()
	}
}

/// Random bytes of the kernel.
pub fn random<const N: usize>() -> Result<[u8; N], String> {
	let mut bytes = [0; N];
	let mut got = 0;
	while got < N {
		got += rustix::rand::getrandom(&mut bytes[got..], rustix::rand::GetRandomFlags::empty())
			.map_err(|error| format!("no random numbers: {error}"))?;
	}
	Ok(bytes)
}
