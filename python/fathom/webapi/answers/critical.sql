-- Whom agents found critical when: a row for each process and server of each phase, with its lane.
with {lane},
phases as (
	{critical_phases}
)
select
	lane.lane, phases.phase, (phases.start_seconds * 1e9)::bigint as start, ((phases.start_seconds + phases.seconds) * 1e9)::bigint as stop,
	case when lane.process = phases.process then phases.share end as share, phases.why
from phases join lane on lane.process in (phases.process, phases.server_process)
order by phases.phase, lane.lane
