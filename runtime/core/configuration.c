/* What a traced process is told: by its environment, or by whoever attaches; and whether it is to be traced at all. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base.h"
#include "core/config.h"
#include "core/state.h"
#include "core/text.h"
#include "core/launchers.h"
#include "core/layers.h"
#include "core/levels.h"
#include "core/raw.h"

struct config config;

/* 0 is the first rank of its node. */
static const char *const local_rank_variables[] = {
	"MPI_LOCALRANKID",           "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_LOCAL_RANK",
	"MV2_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID",          "SLURM_LOCALID",
};

static const struct {
	const char *rank, *ranks;
} rank_variables[] = {
	{"PMI_RANK", "PMI_SIZE"},         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMIX_RANK", "PMIX_SIZE"},       {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
	{"SLURM_PROCID", "SLURM_NTASKS"},
};

/* What whoever attaches says, each as in an environment, an empty one behind them; NULL: the environment counts. */
static const char *given;

void config_given(const char *settings)
{
	given = settings;
}

static const char *given_value(const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = given; *at; at += strlen(at) + 1)
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return at + length + 1;
	return NULL;
}

/* An empty variable is an unset one. */
const char *config_text(const char *name)
{
	const char *value = given ? given_value(name) : getenv(name);

	return value && *value ? value : NULL;
}

static uint64_t parse_bytes(const char *text, uint64_t otherwise)
{
	char *end;
	unsigned long long value = text ? strtoull(text, &end, 10) : 0;

	return text && end != text && *end == '\0' ? value : otherwise;
}

/* `0`, `0-63`, `0-63:8`, comma-separated. */
static bool rank_selected(const char *list, uint32_t rank)
{
	while (list && *list) {
		if (range_has(list, rank))
			return true;
		list = strchr(list, ',');
		list = list ? list + 1 : NULL;
	}
	return false;
}

/* Slurm gives a rank's variables to its batch script and interactive shell as well: no steps, or with numbers from the top. */
static const char *launched(const char *name)
{
	const char *step = config_text("SLURM_STEP_ID");
	const bool task = step && strtoull(step, NULL, 10) < 0xfffffff0u;

	return task || strncmp(name, "SLURM_", 6) != 0 ? config_text(name) : NULL;
}

static void read_local_rank(void)
{
	const char *rank = NULL;

	for (size_t i = 0; !rank && i < sizeof(local_rank_variables) / sizeof(char *); i++)
		rank = launched(local_rank_variables[i]);
	config.first_on_node = rank && strcmp(rank, "0") == 0;
}

/* The rank the launcher says; MPI_Init confirms it later. */
static void read_rank(void)
{
	read_local_rank();
	for (size_t i = 0; i < sizeof(rank_variables) / sizeof(rank_variables[0]); i++) {
		const char *rank = launched(rank_variables[i].rank),
			   *ranks = launched(rank_variables[i].ranks);

		if (rank) {
			config.rank = (uint32_t)strtoul(rank, NULL, 10) + 1;
			config.ranks = ranks ? (uint32_t)strtoul(ranks, NULL, 10) : 0;
			return;
		}
	}
}

bool rank_is_traced(void)
{
	const char *ranks = config_text("FATHOM_RANKS");

	read_rank();
	return !ranks || !config.rank || rank_selected(ranks, config.rank - 1);
}

static bool in_list(const char *name, const char *list)
{
	while (list && *list) {
		size_t length = strcspn(list, ",");

		if (glob_match(list, length, name))
			return true;
		list += length + (list[length] == ',');
	}
	return false;
}

/* Its base name into config.program; false: it cannot be told. */
bool program_read(void)
{
	char path[PATH_BYTES];
	long length = raw4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path,
			   sizeof(path) - 1);
	const char *slash;

	if (length <= 0)
		return false;
	path[length] = '\0';
	slash = strrchr(path, '/');
	text_copy(config.program, sizeof(config.program), slash ? slash + 1 : path);
	return true;
}

bool program_is_traced(void)
{
	if (!program_read())
		return true;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (glob_match(launchers[i], strlen(launchers[i]), config.program))
			return false;
	return !in_list(config.program, config_text("FATHOM_SKIP"));
}

static uint64_t parse_gate(const char *layers, const char *level)
{
	static const char *const levels[] = {"off", "job", "file", "call"};
	uint64_t gate = 0, number = 3;

	layers = layers ? layers : LAYERS_DEFAULT;
	for (int i = 0; i < LAYERS; i++) {
		char counted[32];

		text_copy(counted + text_copy(counted, sizeof(counted), layer_names[i]), 16,
			  LAYER_COUNTED);
		if (in_list(layer_names[i], layers))
			gate |= 1ull << i;
		else if (in_list(counted, layers))
			gate |= 1ull << (COUNTED_LAYERS + i);
	}
	for (size_t i = 0; level && i < 4; i++)
		if (strcmp(level, levels[i]) == 0)
			number = i;
	return number ? gate | 1ull << LAYER_FATHOM | number << LEVEL_SHIFT : gate;
}

static void default_ring(const char *run)
{
	char name[64] = "fathom.", hash[17], uid[24];

	text_decimal(uid, (uint64_t)raw3(SYS_getuid, 0, 0, 0));
	text_hex(hash, text_hash(run, 0));
	text_copy(name + strlen(name), sizeof(name) - strlen(name), uid);
	text_copy(name + strlen(name), sizeof(name) - strlen(name), ".");
	text_copy(name + strlen(name), sizeof(name) - strlen(name), hash);
	join_path(config.ring, "/dev/shm", "/", name);
}

/* A program may overwrite its environment, to show a title. `before`: what was kept for another run. */
static const char *replace_copy(const char *before, const char *value)
{
	char *copy = value ? memory_get(strlen(value) + 1, false) : NULL;

	if (before)
		raw3(SYS_munmap, (long)before, (long)strlen(before) + 1, 0);
	return copy ? strcpy(copy, value) : NULL;
}

/* Whoever started this node's agent made the directory that it ships from. Where there is none, streams go to the run. */
static void choose_place(const char *run, const char *given)
{
	bool ships = given && given[0] == '/' && strlen(given) <= PATH_BYTES - 256 &&
		     raw3(SYS_faccessat, AT_FDCWD, (long)given, W_OK) == 0;

	text_copy(config.place, sizeof(config.place), ships ? given : run);
}

void config_read(const char *run)
{
	const char *ring = config_text("FATHOM_RING");

	text_copy(config.run, sizeof(config.run), run);
	choose_place(run, config_text("FATHOM_STREAMS"));
	if (ring && ring[0] == '/')
		text_copy(config.ring, sizeof(config.ring) - 64, ring);
	else
		default_ring(run);
	config.budget = parse_bytes(config_text("FATHOM_BUDGET"), 64 << 20);
	config.gate = parse_gate(config_text("FATHOM_LAYERS"), config_text("FATHOM_LEVEL"));
	config.layers = (uint32_t)(config.gate | config.gate >> COUNTED_LAYERS);
	config.files = replace_copy(config.files, config_text("FATHOM_FILES"));
	config.select = replace_copy(config.select, config_text("FATHOM_SELECT"));
	config.tuned = replace_copy(config.tuned, config_text("FATHOM_TUNED"));
	config.mmap_dirty =
		config_text("FATHOM_MMAP") && !strcmp(config_text("FATHOM_MMAP"), "dirty");
	config.paths = config_text("FATHOM_PATHS") != NULL;
}
