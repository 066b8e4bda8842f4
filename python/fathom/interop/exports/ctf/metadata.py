"""The metadata of a CTF 1.8 trace, in its description language (TSDL)."""

from collections.abc import Iterable
from uuid import UUID

from fathom import __version__

HEADER = """/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := u8;
typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
typealias integer {{ size = 64; align = 8; signed = false; }} := u64;
typealias integer {{ size = 32; align = 8; signed = true; }} := i32;
typealias integer {{ size = 64; align = 8; signed = true; }} := i64;
trace {{
	major = 1; minor = 8; byte_order = le; uuid = "{uuid}";
	packet.header := struct {{ u32 magic; u8 uuid[16]; u32 stream_id; }};
}};
env {{
	tracer_name = "fathom"; fathom_version = "{version}"; run = {run};
}};
clock {{
	name = run; description = "time of day by the reference node's clock, from the run's start";
	freq = 1000000000; offset_s = {seconds}; offset = {rest};
}};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.run.value; }} := time;
enum file : u32 {{
{files}
}};
enum state : u8 {{ "done" = 0, "unfinished" = 1, "lost" = 2 }};
struct entry {{ u64 call; i64 parent; enum file file; i64 offset; i64 size; }};
struct exit {{ u64 call; i64 bytes; i32 error; enum state state; }};
stream {{
	id = 0;
	packet.context := struct {{
		time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size; u64 packet_seq_num;
		u32 node; u32 process; u32 pid; u32 tid; i32 rank;
	}};
	event.header := struct {{ u32 id; time timestamp; }};
}};
"""
EVENT = "event {{ name = {name}; id = {id}; stream_id = 0; fields := struct {form}; }};\n"


def literal(text: str) -> str:
    """A text as TSDL writes it; what is not printable ASCII as octal bytes of its UTF-8."""
    out = []
    for byte in text.encode("utf-8", "replace"):
        char = chr(byte)
        plain = 0x20 <= byte < 0x7F and char not in '"\\'
        out.append(char if plain else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def metadata(
    run: str, uuid: UUID, started: int, files: Iterable[tuple[int, str]], ops: Iterable[str]
) -> str:
    """All of it. Event 2n is the entry, 2n+1 the exit of the n-th op."""
    seconds, rest = divmod(started, 1_000_000_000)
    named = [f"\t{literal(path)} = {number}," for number, path in files]
    events = (
        EVENT.format(name=literal(f"{op}_{form}"), id=2 * number + at, form=form)
        for number, op in enumerate(ops)
        for at, form in enumerate(("entry", "exit"))
    )
    head = HEADER.format(
        uuid=uuid, version=__version__, run=literal(run), seconds=seconds, rest=rest,
        files="\n".join([*named, f'\t"" = {2**32 - 1}']),
    )  # fmt: skip
    return head + "".join(events)
