/* Finds out which MPI the process has. An MPI is known by what it exports: no header of any is read. */
#include "handlers/mpi_abi.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/call.h"
#include "handlers/library.h"

static const struct mpi_facts mpich = {
	.name = "MPICH",
	.int_handles = true,
	.status_bytes = 20,
	.status_ignore = 1,
	.in_status = 17,
	.error_io = 32,
	.status_source = 8,
	.status_tag = 12,
	.status_error = 16,
	.in_place = (uintptr_t)-1,
	.any_source = -2,
	.proc_null = -1,
	.topology = {[1] = TOPOLOGY_GRAPH, [2] = TOPOLOGY_CARTESIAN, [3] = TOPOLOGY_DIST_GRAPH},
	.order_fortran = 57,
	.distribute_block = 121,
	.distribute_cyclic = 122,
	.default_argument = -49767,
	.combiner =
		{
			[1] = COMBINER_NAMED,
			[2] = COMBINER_DUP,
			[3] = COMBINER_CONTIGUOUS,
			[4] = COMBINER_VECTOR,
			[5] = COMBINER_HVECTOR,
			[6] = COMBINER_HVECTOR,
			[7] = COMBINER_INDEXED,
			[8] = COMBINER_HINDEXED,
			[9] = COMBINER_HINDEXED,
			[10] = COMBINER_INDEXED_BLOCK,
			[11] = COMBINER_STRUCT,
			[12] = COMBINER_STRUCT,
			[13] = COMBINER_SUBARRAY,
			[14] = COMBINER_DARRAY,
			[18] = COMBINER_RESIZED,
			[19] = COMBINER_HINDEXED_BLOCK,
		},
};

static const struct mpi_facts open_mpi = {
	.name = "Open MPI",
	.int_handles = false,
	.status_bytes = 24,
	.status_ignore = 0,
	.in_status = 18,
	.error_io = 35,
	.status_source = 0,
	.status_tag = 4,
	.status_error = 8,
	.in_place = 1,
	.any_source = -1,
	.proc_null = -2,
	.topology = {[1] = TOPOLOGY_CARTESIAN, [2] = TOPOLOGY_GRAPH, [3] = TOPOLOGY_DIST_GRAPH},
	.order_fortran = 1,
	.distribute_block = 0,
	.distribute_cyclic = 1,
	.default_argument = -1,
	.combiner =
		{
			[0] = COMBINER_NAMED,
			[1] = COMBINER_DUP,
			[2] = COMBINER_CONTIGUOUS,
			[3] = COMBINER_VECTOR,
			[4] = COMBINER_HVECTOR,
			[5] = COMBINER_HVECTOR,
			[6] = COMBINER_INDEXED,
			[7] = COMBINER_HINDEXED,
			[8] = COMBINER_HINDEXED,
			[9] = COMBINER_INDEXED_BLOCK,
			[10] = COMBINER_STRUCT,
			[11] = COMBINER_STRUCT,
			[12] = COMBINER_SUBARRAY,
			[13] = COMBINER_DARRAY,
			[17] = COMBINER_RESIZED,
			[18] = COMBINER_HINDEXED_BLOCK,
		},
};

/* Room for a third row: an MPI with the MPI-5 ABI exports MPI_Abi_get_version; its handles are
 * pointers, its constants small integers. */

enum { UNASKED, ASKING, KNOWN, REFUSED };

static struct {
	_Atomic int state; /* who moves it from UNASKED to ASKING fills the rest */
	struct mpi_abi abi;
} process;

static bool find_functions(struct mpi_abi *abi, void *library)
{
	const struct {
		void *slot;
		const char *name;
		bool may_miss;
	} wanted[] = {
		{&abi->initialized, "PMPI_Initialized", false},
		{&abi->comm_size, "PMPI_Comm_size", false},
		{&abi->comm_rank, "PMPI_Comm_rank", false},
		{&abi->comm_name, "PMPI_Comm_get_name", false},
		{&abi->comm_inter, "PMPI_Comm_test_inter", false},
		{&abi->comm_remote_size, "PMPI_Comm_remote_size", false},
		{&abi->topology, "PMPI_Topo_test", false},
		{&abi->cart_dimensions, "PMPI_Cartdim_get", false},
		{&abi->graph_neighbors, "PMPI_Graph_neighbors_count", false},
		{&abi->dist_graph_neighbors, "PMPI_Dist_graph_neighbors_count", false},
		{&abi->comm_group, "PMPI_Comm_group", false},
		{&abi->group_free, "PMPI_Group_free", false},
		{&abi->group_translate, "PMPI_Group_translate_ranks", false},
		{&abi->info_keys, "PMPI_Info_get_nkeys", false},
		{&abi->info_key, "PMPI_Info_get_nthkey", false},
		{&abi->info_get, "PMPI_Info_get", false},
		{&abi->info_free, "PMPI_Info_free", false},
		{&abi->info_create, "PMPI_Info_create", false},
		{&abi->info_dup, "PMPI_Info_dup", false},
		{&abi->info_set, "PMPI_Info_set", false},
		{&abi->file_info, "PMPI_File_get_info", false},
		{&abi->elements, "PMPI_Get_elements_x", false},
		{&abi->type_size, "PMPI_Type_size_x", false},
		{&abi->type_extent, "PMPI_Type_get_extent_x", false},
		{&abi->type_true_extent, "PMPI_Type_get_true_extent_x", false},
		{&abi->type_free, "PMPI_Type_free", false},
		{&abi->envelope, "PMPI_Type_get_envelope", false},
		{&abi->contents, "PMPI_Type_get_contents", false},
		{&abi->envelope_c, "PMPI_Type_get_envelope_c", true},
		{&abi->contents_c, "PMPI_Type_get_contents_c", true},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *symbol = library_function(library, wanted[i].name);

		if (!symbol && !wanted[i].may_miss) {
			note("this MPI has no %s: its calls are recorded without details",
			     wanted[i].name);
			return false;
		}
		memcpy(wanted[i].slot, &symbol, sizeof(symbol));
	}
	return true;
}

enum { SAYS = 8192 }; /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH; Open MPI's is 256 */

/* What it says of itself; nothing where it says nothing. */
static void ask_version(void *library, char text[SAYS])
{
	int (*version)(char *text, int *length);
	void *symbol = library_function(library, "PMPI_Get_library_version");
	int length = 0;

	text[0] = 0;
	memcpy(&version, &symbol, sizeof(symbol));
	if (version)
		version(text, &length);
}

/* The first number there that is no part of a name. */
static void find_version(struct mpi_abi *abi, const char *text)
{
	static const char digits[] = "0123456789.";
	const char *at = strpbrk(text, digits);

	while (at && at > text && !strchr(" \t:v", at[-1]))
		at = strpbrk(at + strspn(at, digits), digits);
	if (at)
		snprintf(abi->version, sizeof(abi->version), "%.*s", (int)strspn(at, digits), at);
}

static bool find_constants(struct mpi_abi *abi, void *library, const char *text)
{
	void *world = library_variable(library, "ompi_mpi_comm_world");

	if (world) {
		abi->facts = &open_mpi;
		abi->world = (uintptr_t)world;
		abi->comm_null = (uintptr_t)library_variable(library, "ompi_mpi_comm_null");
		abi->info_null = (uintptr_t)library_variable(library, "ompi_mpi_info_null");
		abi->request_null = (uintptr_t)library_variable(library, "ompi_request_null");
		abi->byte = (uintptr_t)library_variable(library, "ompi_mpi_byte");
		abi->datatype_null = (uintptr_t)library_variable(library, "ompi_mpi_datatype_null");
		return abi->byte && abi->request_null;
	}
	if (!strstr(text, "MPICH") && !strstr(text, "Intel") && !strstr(text, "MVAPICH")) {
		note("unknown MPI '%.60s': its calls are recorded without details", text);
		return false;
	}
	abi->facts = &mpich;
	abi->world = 0x44000000;
	abi->comm_null = 0x04000000;
	abi->info_null = 0x1c000000;
	abi->request_null = 0x2c000000;
	abi->byte = 0x4c00010d;
	abi->datatype_null = 0x0c000000;
	return true;
}

const struct mpi_abi *mpi_abi_known(void)
{
	if (atomic_load_explicit(&process.state, memory_order_acquire) == KNOWN)
		return &process.abi;
	return NULL;
}

const struct mpi_abi *mpi_abi(uint32_t wrapper)
{
	int unasked = UNASKED;

	if (atomic_load_explicit(&process.state, memory_order_acquire) == KNOWN)
		return &process.abi;
	if (!atomic_compare_exchange_strong(&process.state, &unasked, ASKING))
		return NULL;

	void *library = library_of(wrapper);
	char text[SAYS];

	ask_version(library, text);
	find_version(&process.abi, text);
	const bool known = find_constants(&process.abi, library, text) &&
			   find_functions(&process.abi, library);

	atomic_store_explicit(&process.state, known ? KNOWN : REFUSED, memory_order_release);
	return known ? &process.abi : NULL;
}
