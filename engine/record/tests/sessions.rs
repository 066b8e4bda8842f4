//! Recording begins and ends, again and again, while threads work.

use std::sync::Arc;

use fathom_record::{
	Caller, Changed, Purpose, attach, detach, is_on, now, works_for, works_for_what,
};

fn purpose() -> Purpose {
	let caller = Caller { stream: 1, seq: 2, bytes: 3 };
	Purpose::of(caller, Some(Arc::from(c"/f")))
}

#[test]
fn what_a_thread_was_told_in_another_session_is_not_what_it_works_for() {
	let run = std::env::temp_dir().join(format!("fathom.sessions.{}", std::process::id()));
	let settings = format!("FATHOM_RUN={}\0\0", run.display());
	assert_eq!(attach(b"\0"), (Changed::LeftOut, String::new()));
	assert_eq!(
		attach(settings.trim_end_matches('\0').as_bytes()),
		(Changed::LeftOut, String::new())
	);
	let mut moments = vec![now()];
	for _ in 0..2 {
		assert_eq!(works_for_what(), Purpose::default());
		works_for(purpose());
		assert_eq!(attach(settings.as_bytes()), (Changed::Done, run.display().to_string()));
		assert_eq!(attach(settings.as_bytes()).0, Changed::RecordedAlready);
		assert_eq!(works_for_what(), Purpose::default());
		works_for(purpose());
		assert_eq!(works_for_what(), purpose());
		moments.push(now());
		assert_eq!(detach(), (Changed::Done, run.display().to_string()));
		assert_eq!(detach().0, Changed::NotRecorded);
		assert!(!is_on());
	}
	assert_ne!(moments[1], moments[2]);
	let _ = std::fs::remove_dir_all(run);
}
