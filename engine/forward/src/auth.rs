//! Who may speak to a server: the same user on a Unix socket; on TCP who knows the token, or is the same user by munge.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fathom_munge::Munge;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The token of a 0600 file: its first line.
fn read_token(path: &Path) -> Result<Vec<u8>, String> {
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

/// By what this side is known to others, and they to it.
#[derive(Clone, Default)]
pub struct Secrets {
	pub token: Option<Vec<u8>>,
	pub munge: Option<Munge>,
}

impl Secrets {
	/// As `FATHOM_FORWARD_TOKEN` and `FATHOM_FORWARD_MUNGE` say them.
	pub fn from_options(token: Option<&Path>, munge: Option<&str>) -> Result<Secrets, String> {
		let token = token.map(read_token).transpose()?;
		Ok(Secrets { token, munge: munge.map(Munge::from_option).transpose()? })
	}
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
	/// What a side proves.
	pub fn statement(&self, who: &str) -> Vec<u8> {
		[who.as_bytes(), &self.server, &self.client, &self.id.to_le_bytes()].concat()
	}

	fn mac(&self, token: &[u8], who: &str) -> Option<Hmac<Sha256>> {
		let mut mac = Hmac::<Sha256>::new_from_slice(token).ok()?;
		mac.update(&self.statement(who));
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
