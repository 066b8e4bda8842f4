//! Surveys one process image: each of its streams once.

use std::collections::HashMap;

use fathom_stream::Decoder;

use crate::descriptors::{Descriptors, is_nameless};
use crate::error::PackError;
use crate::first_pass::{Pass, SideCall, is_side};
use crate::image::{Loaded, StreamChunks};
use crate::run::Image;
use crate::survey::{Damaged, Survey};

/// Surveys one image. `alive`: its process still runs. `most_below`: rows of [`Survey::below`] that are kept.
pub fn survey(image: &Image, alive: bool, most_below: usize) -> Result<Survey, PackError> {
	let loaded = Loaded::read(image)?;
	let content = loaded.content();
	let mut survey = Survey { chunks: content.chunks, alive, ..Survey::default() };
	let name = |file: usize| loaded.files[file].0.display().to_string();
	for (file, skip) in &content.skipped {
		survey.damage.push(Damaged {
			file: name(*file),
			byte: skip.offset,
			bytes: skip.bytes,
			reason: skip.reason.to_string(),
		});
	}
	if content.streams.is_empty() && content.skipped.is_empty() && !alive {
		survey.damage.push(Damaged {
			file: name(0),
			byte: 0,
			bytes: 0,
			reason: "empty: nothing of its process is left".into(),
		});
	}
	let mut decoder = Decoder::new();
	let mut side_calls: HashMap<u64, Vec<SideCall>> = HashMap::new();
	let mut descriptors = Descriptors::default();
	for (index, stream) in ordered(&content.streams).into_iter().enumerate() {
		let waiting = side_calls.remove(&stream.id);
		let mut pass = Pass::new(&mut survey, &mut descriptors, index as u32, stream, waiting);
		pass.most_below = most_below;
		pass.run(&mut decoder, stream, alive);
		let Pass { summary, walker, side_rows, .. } = pass;
		if is_side(stream) && summary.base_stream != 0 {
			side_calls.entry(summary.base_stream).or_default().extend(side_rows);
		}
		for damage in &walker.damage {
			let chunk = stream.chunks.iter().find(|chunk| chunk.header.number == damage.number);
			survey.damage.push(Damaged {
				file: name(stream.file),
				byte: chunk.map_or(0, |chunk| chunk.offset) + damage.byte as u64,
				bytes: chunk.map_or(0, |chunk| (chunk.bytes.len() - damage.byte) as u64),
				reason: damage.reason.to_string(),
			});
		}
		survey.streams.push(summary);
	}
	let objects = &survey.definitions.objects;
	let is_known =
		|object: &u32| objects.get(object).is_some_and(|one| is_nameless(one.name.as_bytes()));
	survey.nameless.retain(|(object, _)| is_known(object));
	number_collectives(&mut survey);
	forget_single_roots(&mut survey);
	Ok(survey)
}

/// The order in which [`survey`] numbers an image's streams: those of signal handlers before the ones that
/// they interrupted.
pub fn ordered<'c, 'a>(streams: &'c [StreamChunks<'a>]) -> Vec<&'c StreamChunks<'a>> {
	let mut order: Vec<_> = streams.iter().collect();
	order.sort_by_key(|stream| !is_side(stream));
	order
}

/// The n-th collective call on a handle, by start, in the whole image; calls of groups of one are none.
fn number_collectives(survey: &mut Survey) {
	let definitions = &survey.definitions;
	survey.collectives.retain_mut(|call| match definitions.group_of(call.object) {
		Some((holder, group)) if group.size > 1 => {
			call.holder = holder;
			true
		}
		_ => false,
	});
	survey.collectives.sort_by_key(|call| (call.holder, call.began, call.stream, call.seq));
	let mut before = (0, 0);
	for call in &mut survey.collectives {
		before =
			if before.0 == call.holder { (call.holder, before.1 + 1) } else { (call.holder, 0) };
		call.ordinal = before.1;
	}
}

/// Ordinals of a process with one stream need no merging.
fn forget_single_roots(survey: &mut Survey) {
	let mut streams_of: HashMap<u32, u32> = HashMap::new();
	for stream in survey.streams.iter().filter(|stream| !stream.roots.is_empty()) {
		*streams_of.entry(stream.pid).or_default() += 1;
	}
	for stream in &mut survey.streams {
		if streams_of.get(&stream.pid).copied().unwrap_or(0) < 2 {
			stream.roots = Vec::new();
		}
	}
}
