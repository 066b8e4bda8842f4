//! Rows of the run's log, table `marks`.

#[derive(Debug, Default, Clone)]
pub struct MarkRow {
	pub process: Option<u32>,
	pub stream: Option<u32>,
	pub time: Option<i64>,
	pub kind: String,
	pub detail: String,
	pub value: i64,
}
