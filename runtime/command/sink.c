/* `--trace-sink forward[=WORDS]`: the agent ships the node's streams into shared files (docs/trace-sink.md). */
#include "command.h"

#include <stdlib.h>
#include <string.h>

/* One of flush=WHEN, size=SIZE, mark=SIZE, nonblocking, plain. */
static void take_word(struct sink *sink, const char *word)
{
	if (strcmp(word, "flush=full") == 0 || strcmp(word, "flush=step") == 0 ||
	    strcmp(word, "flush=end") == 0)
		sink->flush = word + strlen("flush=");
	else if (strncmp(word, "size=", 5) == 0)
		sink->size = parse_size("--trace-sink: size", word + 5);
	else if (strncmp(word, "mark=", 5) == 0)
		sink->mark = parse_size("--trace-sink: mark", word + 5);
	else if (strcmp(word, "nonblocking") == 0)
		sink->nonblocking = true;
	else if (strcmp(word, "plain") == 0)
		sink->plain = true;
	else
		fail(EXIT_FATHOM,
		     "--trace-sink: '%s' is none of flush=full, flush=step, flush=end, size=SIZE, "
		     "mark=SIZE, nonblocking, plain",
		     word);
}

void sink_parse(struct options *options, const char *value)
{
	struct sink *sink = &options->sink;
	char *rest = format_text("%s", value), *word;

	*sink = (struct sink){.on = true, .flush = "full", .size = 1 << 20, .mark = 256 << 20};
	word = strsep(&rest, "=");
	if (strcmp(word, "forward"))
		fail(EXIT_FATHOM, "--trace-sink: '%s' is not known; write forward", word);
	while ((word = strsep(&rest, ",")))
		take_word(sink, word);
	if (sink->size < 4096 || sink->size > 32 << 20)
		fail(EXIT_FATHOM, "--trace-sink: size: from 4 KiB to 32 MiB");
}

void sink_check(const struct options *options)
{
	const char *servers = getenv("FATHOM_FORWARD_SERVERS");

	if (!options->sink.on)
		return;
	if (options->collect)
		fail(EXIT_FATHOM, "--trace-sink: the agent ships to servers or to a collector; "
				  "leave --collect out");
	if (options->forward_storage)
		fail(EXIT_FATHOM, "--trace-sink: its files belong beside the run; "
				  "leave --forward-storage out");
	if (!options->servers && !(servers && *servers))
		fail(EXIT_FATHOM,
		     "--trace-sink: no forwarding servers: add --forward, or start some and eval "
		     "what fathom forward up prints");
	if (!engine_find())
		fail(EXIT_FATHOM,
		     "--trace-sink: no fathom-engine beside %s/fathom; build it, or set "
		     "FATHOM_ENGINE",
		     command_directory());
}

size_t sink_words(const struct sink *sink, const char **words)
{
	size_t count = 0;

	if (!sink->on)
		return 0;
	words[count++] = "--sink";
	words[count++] = format_text("--sink-flush=%s", sink->flush);
	words[count++] = format_text("--sink-size=%llu", (unsigned long long)sink->size);
	words[count++] = format_text("--sink-mark=%llu", (unsigned long long)sink->mark);
	if (sink->nonblocking)
		words[count++] = "--sink-nonblocking";
	if (sink->plain)
		words[count++] = "--sink-plain";
	return count;
}

const char *sink_place(const struct run *run)
{
	return run->options.sink.on ? format_text("%s/sink", run->ring) : NULL;
}

void sink_json(struct text *out, const struct sink *sink)
{
	if (sink->on)
		text_add(out,
			 ", \"trace_sink\": {\"flush\": \"%s\", \"size\": %llu, \"mark\": %llu, "
			 "\"nonblocking\": %s, \"plain\": %s}",
			 sink->flush, (unsigned long long)sink->size,
			 (unsigned long long)sink->mark, sink->nonblocking ? "true" : "false",
			 sink->plain ? "true" : "false");
}
