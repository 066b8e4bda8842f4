"""What holds in every run, whatever the program did."""

from __future__ import annotations

from typing import Any

#: Sentence -> a query that gives the rows which break it.
ALWAYS = {
    "every parent is a row": """
        select c.id, c.op, c.parent from calls c
        where c.parent is not null and not exists (select 1 from calls p where p.id = c.parent)""",
    "a call lies inside its parent": """
        select c.id, c.op, p.op, c.start - p.start, p.start + p.duration - c.start - c.duration
        from calls c join calls p on c.parent = p.id
        where c.start < p.start or c.start + c.duration > p.start + p.duration""",
    "a parent is of the same thread and one level up": """
        select c.id, c.op, p.op, c.depth, p.depth from calls c join calls p on c.parent = p.id
        where c.thread <> p.thread or c.process <> p.process
            or (c.stream = p.stream and c.depth <> p.depth + 1)""",
    "nested time is between 0 and the duration": """
        select id, op, nested, duration from calls where nested < 0 or nested > duration or duration < 0""",
    "ids are unique": "select id, count(*) from calls group by id having count(*) > 1",
    "counters and calls agree": """
        select events, counted, (select sum(recorded) from counters), (select sum(calls) from counters),
            (select count(*) from calls) from runs
        where events <> (select count(*) from calls)
            or events + counted <> (select coalesce(sum(calls), 0) from counters)
            or events <> (select coalesce(sum(recorded), 0) from counters)""",
    "every object is a row": """
        select c.id, c.op, c.object from calls c
        where c.object is not null and not exists (select 1 from objects o where o.object = c.object)""",
    "nothing was damaged": """
        select time, kind, detail from marks where kind in ('damage', 'missing chunks')""",
    "no call is lost": "select id, op from calls where state = 'lost'",
}

#: Of programs that came to their end.
FINISHED = {
    "no call is unfinished": "select id, op, start, duration from calls where state <> 'done'",
    "every process ended in order": "select pid, exe, ended from processes where ended <> 'clean'",
    "every stream is complete": "select path, tid, events from streams where not complete",
}

#: Of level `call` with nothing left out.
WHOLE = {
    "every call of a layer that is not only counted is recorded in full": """
        select layer, op, sum(calls), sum(recorded) from counters where layer not in ('mpi', 'threads')
        group by layer, op having sum(calls) <> sum(recorded)""",
    "all ranks of a collective are joined and agree": """
        select op, open_ordinal, ordinal, ranks_seen, ranks_expected, agreed from collectives
        where ranks_seen <> ranks_expected or not agreed""",
}


def broken(connection: Any, *, finished: bool, whole: bool) -> list[str]:
    """One line per sentence that does not hold, with the first rows that break it."""
    asked = {**ALWAYS, **(FINISHED if finished else {}), **(WHOLE if whole else {})}
    out = []
    for sentence, sql in asked.items():
        rows = connection.execute(sql).fetchall()
        if rows:
            out.append(f"not so: {sentence}: {len(rows)} rows, first {rows[:3]}")
    return out
