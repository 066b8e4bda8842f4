-- The program's own I/O calls that a query is about; `who` made them: its rank where there is MPI, else the process. The parts in braces are
-- made by segment.py. A part of other statements, after `with recursive`.
talk as (
	select file from files as f where $talk and not is_file(f.kind, f.path, f.file_system)
),
own as not materialized (from own_calls($regions, $talk)),
unit as not materialized (from latency_units({who}, {which}, $regions, $talk))
