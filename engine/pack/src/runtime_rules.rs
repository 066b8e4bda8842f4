//! Which of a run is a run-time's, by `catalog/runtime-files.toml`.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::define::{Identity, last_name};
use crate::error::PackError;
use crate::files::FileRow;
use crate::merged::Merged;
use crate::runtime::Runtime;

const CATALOG: &str = include_str!("../../../catalog/runtime-files.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
	calls: Vec<String>,
	launchers: Vec<String>,
	shells: Vec<String>,
	#[serde(rename = "unrecorded")]
	_unrecorded: Vec<String>,
	files: Vec<Rule>,
	descriptors: Vec<Messages>,
}

/// Libraries that pass messages by descriptors of their own, in processes of these programs and libraries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Messages {
	#[serde(rename = "why")]
	_why: String,
	by: Vec<String>,
	of: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
	#[serde(rename = "why")]
	_why: String,
	/// Folders, with all that is below them.
	#[serde(default)]
	under: Vec<String>,
	#[serde(default)]
	except: Vec<String>,
	/// Names, anywhere in a path.
	#[serde(default)]
	inside: Vec<String>,
	/// Whole paths.
	#[serde(default)]
	named: Vec<String>,
	/// Programs, libraries and layers that have such files: where a run is of none of them, what copies the files is looked at.
	#[serde(default)]
	of: Vec<String>,
	/// What a process has on its command line, or where it works, is the program's.
	#[serde(default)]
	unless_named: bool,
}

impl Catalog {
	/// It is taken apart once.
	fn read() -> Result<&'static Catalog, PackError> {
		static READ: LazyLock<Result<Catalog, toml::de::Error>> =
			LazyLock::new(|| toml::from_str(CATALOG));
		READ.as_ref().map_err(|error| PackError::Data {
			path: "catalog/runtime-files.toml".into(),
			reason: error.to_string(),
		})
	}

	/// The rules of a run whose processes are of these programs, libraries and layers; none: it is not known of which.
	fn files_of(&self, names: Option<&BTreeSet<String>>, named: BTreeSet<String>) -> Files<'_> {
		let is_there = |rule: &&Rule| {
			let has = |names: &BTreeSet<String>| names.iter().any(|name| rule.is_of(name));
			rule.of.is_empty() || names.is_none_or(has)
		};
		Files { rules: self.files.iter().filter(is_there).collect(), named }
	}

	/// Patterns of the libraries whose descriptors are no program's here.
	fn messengers(&self, names: Option<&BTreeSet<String>>) -> Vec<&str> {
		let is_there = |one: &&Messages| {
			names.is_some_and(|names| names.iter().any(|name| any_fits(name, &one.of)))
		};
		let there = self.descriptors.iter().filter(is_there);
		there.flat_map(|one| one.by.iter().map(String::as_str)).collect()
	}

	fn has_launcher(&self, exe: &str) -> bool {
		any_fits(last_name(exe), &self.launchers) || self.has_shell(exe)
	}

	fn has_shell(&self, exe: &str) -> bool {
		any_fits(last_name(exe), &self.shells)
	}
}

/// Does the program run scripts?
pub fn is_shell(program: &str) -> Result<bool, PackError> {
	Ok(Catalog::read()?.has_shell(program))
}

/// Rules of a run.
struct Files<'c> {
	rules: Vec<&'c Rule>,
	/// What processes have on their command lines, and where they work.
	named: BTreeSet<String>,
}

impl Files<'_> {
	fn has(&self, path: &str) -> bool {
		self.rules
			.iter()
			.any(|rule| rule.holds(path) && !(rule.unless_named && self.names(rule, path)))
	}

	/// Is it, or a folder around it that this rule holds, named?
	fn names(&self, rule: &Rule, path: &str) -> bool {
		let around = Path::new(path).ancestors().filter_map(Path::to_str);
		around.take_while(|one| rule.holds(one)).any(|one| self.named.contains(one))
	}
}

/// Where a process works, and what words of its command name: paths, also behind a `=`, but no options.
fn named_by(who: &Identity) -> impl Iterator<Item = String> {
	let base = Path::new(who.cwd.as_deref().unwrap_or("/"));
	let words = who.command.iter().skip(1).filter(|word| !word.starts_with('-'));
	let values = words.map(|word| word.split_once('=').map_or(word.as_str(), |(_, value)| value));
	let paths = values.map(move |value| base.join(value));
	paths.chain([base.to_owned()]).map(|path| without_dots(&path))
}

fn without_dots(path: &Path) -> String {
	let mut kept = PathBuf::new();
	for part in path.components() {
		match part {
			Component::ParentDir => {
				kept.pop();
			}
			Component::CurDir => {}
			_ => kept.push(part),
		}
	}
	kept.to_string_lossy().into_owned()
}

/// Of the executables of a run's processes, the modules that called, and the layers; none: one of them has no executable that is known.
fn names(merged: &Merged) -> Option<BTreeSet<String>> {
	let mut names = BTreeSet::new();
	for row in &merged.processes {
		let exe = merged.images[row.image].identity(row.key.1).exe?;
		names.insert(last_name(&exe).to_owned());
	}
	let modules = merged.images.iter().flat_map(|image| image.survey.definitions.modules.values());
	names.extend(modules.map(|module| last_name(&module.path).to_owned()));
	names.extend(merged.layers().map(str::to_owned));
	Some(names)
}

/// Files without a name that only modules of these patterns use.
fn messages(merged: &Merged, messengers: &[&str]) -> BTreeSet<u32> {
	let (mut theirs, mut others) = (BTreeSet::new(), BTreeSet::new());
	for image in &merged.images {
		for (object, name) in image.survey.users() {
			let Some(file) = image.file(object) else { continue };
			let is_theirs = any_fits(name, messengers);
			if is_theirs { &mut theirs } else { &mut others }.insert(file);
		}
	}
	theirs.retain(|file| !others.contains(file));
	theirs
}

impl Rule {
	fn is_of(&self, name: &str) -> bool {
		any_fits(name, &self.of)
	}

	fn holds(&self, path: &str) -> bool {
		let below = |folders: &[String]| folders.iter().any(|folder| is_below(path, folder));
		(below(&self.under) && !below(&self.except))
			|| self.named.iter().any(|name| fits(path, name))
			|| self.inside.iter().any(|name| path.split('/').any(|one| fits(one, name)))
	}
}

fn is_below(path: &str, folder: &str) -> bool {
	path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn any_fits(text: &str, patterns: &[impl AsRef<str>]) -> bool {
	patterns.iter().any(|pattern| fits(text, pattern.as_ref()))
}

/// `*` in the pattern stands for any letters.
fn fits(text: &str, pattern: &str) -> bool {
	let Some((head, rest)) = pattern.split_once('*') else { return text == pattern };
	let Some(text) = text.strip_prefix(head) else { return false };
	if rest.is_empty() {
		return true;
	}
	(0..=text.len()).any(|at| text.is_char_boundary(at) && fits(&text[at..], rest))
}

pub fn of(merged: &Merged) -> Result<Runtime, PackError> {
	let catalog = Catalog::read()?;
	let most = merged.processes.last().map_or(0, |row| row.process as usize + 1);
	let mut processes = vec![false; most];
	let mut others = false;
	let mut named = BTreeSet::new();
	for row in &merged.processes {
		let who = merged.images[row.image].identity(row.key.1);
		let starts =
			who.rank.is_none() && who.exe.as_deref().is_some_and(|exe| catalog.has_launcher(exe));
		processes[row.process as usize] = starts;
		others |= !starts;
		if !starts {
			named.extend(named_by(&who));
		}
	}
	if !others {
		processes.clear();
	}
	let names = names(merged);
	let files = catalog.files_of(names.as_ref(), named);
	let messages = messages(merged, &catalog.messengers(names.as_ref()));
	let is_runtime = |(file, row): (u32, &FileRow)| {
		let is_disk = row.kind() == "block"; // whoever reads it does not look for his libraries
		messages.contains(&file) || !is_disk && row.paths.last().is_some_and(|path| files.has(path))
	};
	Ok(Runtime {
		files: (0..).zip(&merged.files.rows).map(is_runtime).collect(),
		ops: merged.ops.iter().map(|op| catalog.calls.contains(&op.name)).collect(),
		processes,
	})
}

#[cfg(test)]
mod tests {
	use super::*;

	fn is_runtime(path: &str) -> bool {
		Catalog::read().is_ok_and(|catalog| catalog.files_of(None, BTreeSet::new()).has(path))
	}

	#[test]
	fn modules_that_no_interpreter_reads_are_the_programs() {
		let catalog = Catalog::read().unwrap_or_else(|error| unreachable!("{error}"));
		for (program, module) in [
			("tar", false),
			("python3.11", true),
			("libpython3.12.so.1.0", true),
			("libmpi.so", false),
		] {
			let files =
				catalog.files_of(Some(&BTreeSet::from([program.to_owned()])), BTreeSet::new());
			assert_eq!(files.has("/venv/lib/site-packages/numpy/x.py"), module, "{program}");
			assert!(files.has("/opt/lib/libfftw3.so.3"), "{program}");
			assert!(files.has("/usr/lib/locale/C.utf8/LC_CTYPE"), "{program}");
		}
	}

	#[test]
	fn messages_are_an_mpi_librarys_where_there_is_one() {
		let catalog = Catalog::read().unwrap_or_else(|error| unreachable!("{error}"));
		for (of, by, expected) in [
			("libpmix.so.2", "libevent-2.1.so.7", true),
			("libmpich.so.12", "libmpich.so.12", true),
			("mpiio", "libucs.so.0", true),
			("libpmix.so.2", "libpython3.11.so.1.0", false),
			("libevent-2.1.so.7", "libevent-2.1.so.7", false),
		] {
			let names = BTreeSet::from([of.to_owned()]);
			let messengers = catalog.messengers(Some(&names));
			assert_eq!(any_fits(by, &messengers), expected, "{of} {by}");
		}
		assert!(catalog.messengers(None).is_empty());
	}

	#[test]
	fn what_a_library_keeps_beside_a_file_is_its_own() {
		let catalog = Catalog::read().unwrap_or_else(|error| unreachable!("{error}"));
		for (of, path, expected) in [
			("mpiio", "/scratch/.out.shfp.500495048.28781", true),
			("mpiio", "/scratch/out.locktest.0", true),
			("tar", "/scratch/.out.shfp.500495048.28781", false),
			("mpiio", "/scratch/out", false),
		] {
			let files = catalog.files_of(Some(&BTreeSet::from([of.to_owned()])), BTreeSet::new());
			assert_eq!(files.has(path), expected, "{of} {path}");
		}
	}

	#[test]
	fn files_of_run_times_are_known_by_their_paths() {
		let theirs = [
			"/proc/self/status",
			"/dev/null",
			"/dev/shm/ucx_shm_posix_4",
			"/sys",
			"/opt/conda/lib/python3.11/json/__init__.py",
			"/home/me/venv/lib/site-packages/numpy/x.npy",
			"/opt/mpi/lib/libmpi.so.40",
			"/etc/hosts",
		];
		assert_eq!(theirs.into_iter().filter(|path| !is_runtime(path)).count(), 0);
		let programs = [
			"/dev/shm/mine",
			"/scratch/out.h5",
			"/process/data",
			"/home/me/python/x",
			"/data/etc/x",
			"/run/media/me/disk/x",
			"a.solution",
		];
		assert_eq!(programs.into_iter().filter(|path| is_runtime(path)).count(), 0);
	}

	#[test]
	fn what_a_command_names_and_where_it_works_is_the_programs() {
		let catalog = Catalog::read().unwrap_or_else(|error| unreachable!("{error}"));
		let who = |cwd: &str, command: &str| Identity {
			cwd: Some(cwd.to_owned()),
			command: command.split(' ').map(str::to_owned).collect(),
			..Identity::default()
		};
		for (cwd, command, path, expected) in [
			("/home/me", "tar -cf u.tar /usr/include/", "/usr/include/stdio.h", false),
			("/usr", "grep -r x ./include", "/usr/include/stdio.h", false),
			("/usr/lib", "du ../share", "/usr/share/doc/x", false),
			("/usr/src/app", "node serve.js", "/usr/src/app/data/x", false),
			("/home/me", "dd if=/etc/services of=x", "/etc/services", false),
			("/home/me", "cc -I/usr/include --sysroot=/usr x.c", "/usr/include/stdio.h", true),
			("/", "/usr/bin/x", "/usr/bin/x", true),
			("/home/me", "tar -cf u.tar /usr/include", "/usr/includes", true),
			("/home/me", "cat /proc/self/io", "/proc/self/io", true),
			("/usr/src/app", "x", "/usr/src/app/libx.so", true),
		] {
			let files = catalog.files_of(None, named_by(&who(cwd, command)).collect());
			assert_eq!(files.has(path), expected, "{cwd} {command} {path}");
		}
	}

	#[test]
	fn a_star_stands_for_any_letters() {
		for (text, pattern, expected) in [
			("libmpi.so.40", "*.so.*", true),
			("libmpi.so", "*.so.*", false),
			("mpiexec", "mpiexec", true),
			("é", "*", true),
			("éa", "*a", true),
			("", "*", true),
		] {
			assert_eq!(fits(text, pattern), expected, "{text} {pattern}");
		}
	}
}
