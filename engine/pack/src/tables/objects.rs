//! Tables of what calls are about: `files`, `objects`, `selections`, `hints_in_force`, `sites`.

use fathom_stream::{descriptor_flag, hint_source, object_class, selection_form};

use super::Tables;
use crate::define::ObjectDef;
use crate::error::PackError;
use crate::files::class_name;
use crate::merged::ImageState;
use crate::output::Table;
use crate::sites::{Frames, Modules};

impl<'r> Tables<'r> {
	pub fn files(&self) -> Result<(), PackError> {
		let rows = &self.merged.files.rows;
		let latest = |paths: &'r [String]| paths.last().map_or("", |path| path);
		Table::default()
			.u32("file", (0..rows.len() as u32).collect())
			.text("key", rows.iter().map(|row| &row.key).collect())
			.u64_or("inode", rows.iter().map(|row| row.inode).collect())
			.i64_or("birth", rows.iter().map(|row| row.birth).collect())
			.text("path", rows.iter().map(|row| latest(&row.paths)).collect())
			.texts("paths", rows.iter().map(|row| &row.paths[..]))
			.text("kind", rows.iter().map(|row| row.kind()).collect())
			.text_or("file_system", rows.iter().map(|row| row.file_system.as_deref()).collect())
			.text_or("mount", rows.iter().map(|row| row.mount.as_deref()).collect())
			.bool("runtime", self.merged.runtime.files.clone())
			.write(self.folder, "files")
	}

	pub fn objects(&self) -> Result<(), PackError> {
		let mut rows: Vec<(&ImageState, u32, &ObjectDef)> = Vec::new();
		for state in &self.merged.images {
			let definitions = &state.survey.definitions;
			rows.extend(state.objects.iter().map(|(n, _)| (state, *n, &definitions.objects[n])));
		}
		let group = |state: &'r ImageState, n: u32| state.survey.definitions.groups.get(&n);
		let groups: Vec<_> = rows.iter().map(|(state, n, _)| group(state, *n)).collect();
		let number = |def: &ObjectDef, classes: &[u32], i: usize| {
			classes.contains(&def.class).then(|| def.numbers.get(i).copied()).flatten()
		};
		let small = |value: Option<u64>| value.and_then(|value| u32::try_from(value).ok());
		let flags = |def: &ObjectDef| {
			number(def, &object_class::WITH_DESCRIPTOR, 7).or(number(
				def,
				&object_class::WITH_OPENED,
				0,
			))
		};
		let communicator = |def: &ObjectDef| {
			number(def, &object_class::WITH_OPENED, 1).or(number(
				def,
				&object_class::WITH_COMMUNICATOR,
				0,
			))
		};
		let extents = |def: &'r ObjectDef| {
			if object_class::WITH_ARRAY.contains(&def.class) {
				def.numbers.get(1..).unwrap_or(&[])
			} else {
				&[]
			}
		};
		let members = groups.iter().map(|group| group.map_or(&[][..], |g| &g.members));
		let process = |state: &ImageState, def: &ObjectDef| {
			state.stream_of(def.stream).map_or(0, |i| state.processes[i])
		};
		let maker = |state: &ImageState, def: &ObjectDef| {
			let known = def.created_by != fathom_stream::NO_SEQ;
			let stream = state.streams[state.stream_of(def.stream).filter(|_| known)?];
			Some(u64::from(stream) << 40 | def.created_by)
		};
		let object_defs = || rows.iter().map(|(_, _, def)| *def);
		Table::default()
			.u32("object", (0..rows.len() as u32).collect())
			.u32("process", rows.iter().map(|(state, _, def)| process(state, def)).collect())
			.u32("number", rows.iter().map(|(_, n, _)| *n).collect())
			.text("class", object_defs().map(|def| class_name(def.class)).collect())
			.text("name", object_defs().map(|def| &def.name).collect())
			.u32_or("file", rows.iter().map(|(state, n, _)| state.file(*n)).collect())
			.u32_or("parent", rows.iter().map(|(state, _, def)| state.object(def.parent)).collect())
			.u64_or("created_by", rows.iter().map(|(state, _, def)| maker(state, def)).collect())
			.i32_or(
				"descriptor",
				object_defs()
					.map(|d| number(d, &object_class::WITH_DESCRIPTOR, 0).map(|n| n as i32))
					.collect(),
			)
			.u32_or(
				"mode",
				object_defs()
					.map(|d| small(number(d, &object_class::WITH_DESCRIPTOR, 1)))
					.collect(),
			)
			.u32_or("flags", object_defs().map(|d| small(flags(d))).collect())
			.bool_or(
				"inherited",
				object_defs()
					.map(|d| {
						number(d, &object_class::WITH_DESCRIPTOR, 9)
							.map(|n| n & descriptor_flag::INHERITED != 0)
					})
					.collect(),
			)
			.u32_or("communicator_size", object_defs().map(|d| small(communicator(d))).collect())
			.u64_or("group_hash", groups.iter().map(|g| g.map(|g| g.hash)).collect())
			.u32_or("group_ordinal", groups.iter().map(|g| g.map(|g| g.ordinal)).collect())
			.u32_or("group_rank", groups.iter().map(|g| g.map(|g| g.own)).collect())
			.u32s("group_members", members)
			.u64_or(
				"element_bytes",
				object_defs().map(|d| number(d, &object_class::WITH_ARRAY, 0)).collect(),
			)
			.u64s("extents", rows.iter().map(|(_, _, def)| extents(def)))
			.u64_or(
				"address",
				object_defs().map(|d| number(d, &object_class::WITH_MAPPING, 0)).collect(),
			)
			.u64_or(
				"length",
				object_defs().map(|d| number(d, &object_class::WITH_MAPPING, 1)).collect(),
			)
			.write(self.folder, "objects")
	}

	pub fn selections(&self) -> Result<(), PackError> {
		let mut rows: Vec<(u32, u32, &fathom_stream::Selection)> = Vec::new();
		for state in &self.merged.images {
			let process = state.processes.first().copied().unwrap_or(0);
			let definitions = &state.survey.definitions;
			rows.extend(state.selections.iter().map(|n| (process, *n, &definitions.selections[n])));
		}
		let every_other = |list: &[u64], from: usize| -> Vec<u64> {
			list.iter().skip(from).step_by(2).copied().collect()
		};
		let split = |get: fn(&fathom_stream::Selection) -> &[u64], from: usize| -> Vec<Vec<u64>> {
			rows.iter().map(|(_, _, s)| every_other(get(s), from)).collect()
		};
		let (box_start, box_count) = (split(|s| &s.bounds, 0), split(|s| &s.bounds, 1));
		let (block_start, block_count) = (split(|s| &s.block, 0), split(|s| &s.block, 1));
		let parts = |get: fn(&fathom_stream::Repeated) -> Vec<u64>| -> Vec<Vec<u64>> {
			rows.iter().map(|(_, _, s)| s.parts.iter().flat_map(get).collect()).collect()
		};
		let (part_start, part_bytes) =
			(parts(|part| vec![part.start]), parts(|part| vec![part.bytes]));
		let part_levels = parts(|part| vec![part.levels.len() as u64]);
		let part_count = parts(|part| part.levels.iter().map(|level| level.0).collect());
		let part_stride = parts(|part| part.levels.iter().map(|level| level.1).collect());
		let form = |s: &fathom_stream::Selection| {
			if s.form == selection_form::BYTES { "bytes" } else { "elements" }
		};
		let selection_defs = || rows.iter().map(|(_, _, selection)| *selection);
		Table::default()
			.u32("selection", (0..rows.len() as u32).collect())
			.u32("process", rows.iter().map(|row| row.0).collect())
			.u32("number", rows.iter().map(|row| row.1).collect())
			.text("form", selection_defs().map(form).collect())
			.bool("exact", selection_defs().map(|s| s.exact).collect())
			.u32("rank", selection_defs().map(|s| s.rank).collect())
			.i64("displacement", selection_defs().map(|s| s.displacement).collect())
			.u64("unit", selection_defs().map(|s| s.unit).collect())
			.u64("period", selection_defs().map(|s| s.period).collect())
			.u64("total", selection_defs().map(|s| s.total).collect())
			.u64s("box_start", box_start.iter().map(|list| &list[..]))
			.u64s("box_count", box_count.iter().map(|list| &list[..]))
			.u64("hash", selection_defs().map(|s| s.hash).collect())
			.u64("blocks", selection_defs().map(|s| s.blocks).collect())
			.u64s("block_start", block_start.iter().map(|list| &list[..]))
			.u64s("block_count", block_count.iter().map(|list| &list[..]))
			.u64s("part_start", part_start.iter().map(|list| &list[..]))
			.u64s("part_bytes", part_bytes.iter().map(|list| &list[..]))
			.u64s("part_levels", part_levels.iter().map(|list| &list[..]))
			.u64s("part_count", part_count.iter().map(|list| &list[..]))
			.u64s("part_stride", part_stride.iter().map(|list| &list[..]))
			.write(self.folder, "selections")
	}

	pub fn hints(&self) -> Result<(), PackError> {
		let mut rows = Vec::new();
		for state in &self.merged.images {
			let process = state.processes.first().copied().unwrap_or(0);
			rows.extend(state.survey.definitions.hints.iter().map(|hint| (state, process, hint)));
		}
		let source =
			|source: u32| if source == hint_source::IN_FORCE { "in force" } else { "asked" };
		Table::default()
			.u32("process", rows.iter().map(|row| row.1).collect())
			.u32_or("object", rows.iter().map(|row| row.0.object(row.2.object)).collect())
			.u32_or("file", rows.iter().map(|row| row.0.file(row.2.object)).collect())
			.text("source", rows.iter().map(|row| source(row.2.source)).collect())
			.text("key", rows.iter().map(|row| &row.2.key).collect())
			.text("value", rows.iter().map(|row| &row.2.value).collect())
			.write(self.folder, "hints_in_force")
	}

	/// Returns what is to be said of the modules that they are in.
	pub fn sites(&self) -> Result<Modules, PackError> {
		let rows = &self.merged.sites.rows;
		let mut frames = Frames::new(self.run.skipped());
		frames.look_up(&self.merged.sites);
		let numbers = 0..rows.len() as u32;
		let sites = &self.merged.sites;
		let own: Vec<_> = numbers.clone().map(|number| frames.users(sites, number)).collect();
		let above: Vec<_> =
			numbers.clone().map(|number| frames.users_caller(sites, number)).collect();
		let innermost_rows: Vec<_> =
			numbers.clone().map(|number| frames.innermost(number)).collect();
		let hex = |bytes: &[u8]| -> Option<String> {
			(!bytes.is_empty()).then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
		};
		let other_module = |number: u32| {
			let module = frames.users_module(sites, number);
			(module != rows[number as usize].module).then_some(module)
		};
		let known = |text: &'r str| (!text.is_empty()).then_some(text);
		Table::default()
			.u32("site", numbers.clone().collect())
			.text("module", rows.iter().map(|row| &row.module).collect())
			.text_or("build_id", rows.iter().map(|row| hex(&row.build_id)).collect())
			.u64("address", rows.iter().map(|row| row.offset).collect())
			.text_or("function", own.iter().map(|row| row.function.as_deref()).collect())
			.text_or("source", own.iter().map(|row| row.source.as_deref()).collect())
			.u32_or("line", own.iter().map(|row| row.line).collect())
			.text_or("users_module", numbers.clone().map(other_module).collect())
			.bool("in_library", numbers.map(|number| frames.in_library(sites, number)).collect())
			.text_or("caller_function", above.iter().map(|row| row.function.as_deref()).collect())
			.text_or("caller_source", above.iter().map(|row| row.source.as_deref()).collect())
			.u32_or("caller_line", above.iter().map(|row| row.line).collect())
			.text_or(
				"frame_function",
				innermost_rows.iter().map(|row| row.function.as_deref()).collect(),
			)
			.text_or(
				"frame_source",
				innermost_rows.iter().map(|row| row.source.as_deref()).collect(),
			)
			.u32_or("frame_line", innermost_rows.iter().map(|row| row.line).collect())
			.u32_or("caller", rows.iter().map(|row| row.caller).collect())
			.text_or("entry", rows.iter().map(|row| known(&row.entry)).collect())
			.write(self.folder, "sites")?;
		Ok(frames.modules().clone())
	}
}
