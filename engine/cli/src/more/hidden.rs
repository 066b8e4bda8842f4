//! `fathom-engine hidden`: a program's file and names in, what is to be written out.

use std::io::Read as _;
use std::path::Path;

use fathom_prologue::{plan, read};

pub fn hidden(program: &Path, output: &Path) -> Result<(), String> {
	let mut text = String::new();
	std::io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
	let wanted = read(&text).map_err(|error| error.to_string())?;
	let plan = plan(program, &wanted).map_err(|error| error.to_string())?;
	if !plan.bytes.is_empty() {
		std::fs::write(output, &plan.bytes)
			.map_err(|error| format!("{}: {error}", output.display()))?;
	}
	let refused: serde_json::Map<String, serde_json::Value> =
		plan.refused.into_iter().map(|refusal| (refusal.name, refusal.why.into())).collect();
	let libraries: serde_json::Map<String, serde_json::Value> =
		plan.groups.into_iter().map(|(name, count)| (name, count.into())).collect();
	let report = serde_json::json!({"libraries": libraries, "refused": refused});
	crate::print_line(&report.to_string())
}
