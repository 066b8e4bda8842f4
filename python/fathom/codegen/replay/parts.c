/* What a replay's statements stand on. A program has of it what it uses: parts are divided by empty lines,
 * and `prepare`, `start`, `replay` in comments are where its own lines go. */

static int64_t rank;      /* in MPI_COMM_WORLD */
static char *memory;      /* what is written */
static char *sink;        /* where reads go */
static const char *below; /* the directory of all files */
static int64_t other;     /* calls that ended otherwise than in the recorded run */

static int fd[DESCRIPTORS];

static MPI_File fh[MPI_FILES];

static MPI_Request request[REQUESTS];

static MPI_Status statuses[REQUESTS];

static MPI_Comm communicator[COMMUNICATORS];

static MPI_Status status;

static MPI_Offset length;

static struct stat attributes;

static struct statx attributes_x;

static struct statfs file_system;

static struct statvfs volume;

/* The full name of a file. */
static const char *path_in(char *buffer, int64_t number)
{
	if (snprintf(buffer, PATH_MAX, "%s/%s", below, name[number]) >= PATH_MAX)
		errno = ENAMETOOLONG;
	return buffer;
}

static const char *path(int64_t number)
{
	static char buffer[PATH_MAX];

	return path_in(buffer, number);
}

static const char *other_path(int64_t number)
{
	static char buffer[PATH_MAX];

	return path_in(buffer, number);
}

/* Bytes for a write at this offset: as aligned as the offset is. */
static char *data(int64_t offset)
{
	return memory + offset % PAGE;
}

static void must(int64_t result)
{
	if (result != 0)
		other++;
}

static void fails(int64_t result)
{
	if (result == 0)
		other++;
}

/* Results below 0 are failures, all others are not. */
static void holds(int64_t result)
{
	if (result < 0)
		other++;
}

static void refused(int64_t result)
{
	if (result >= 0)
		other++;
}

static void moved(int64_t bytes, int64_t expected)
{
	if (bytes != expected)
		other++;
}

/* A read or write of MPI moved this. */
static void did(int result, int64_t expected)
{
	int bytes = -1;

	if (result == MPI_SUCCESS)
		MPI_Get_count(&status, MPI_BYTE, &bytes);
	moved(bytes, expected);
}

static int opened(int descriptor)
{
	if (descriptor < 0)
		other++;
	return descriptor;
}

/* Memory in so many pieces. */
static const struct iovec *pieces(char *start, int64_t size, int64_t count)
{
	static struct iovec piece[IOV_MAX];
	int64_t each = size / count;

	for (int64_t i = 0; i < count; i++) {
		piece[i].iov_base = start + i * each;
		piece[i].iov_len = (size_t)(i + 1 < count ? each : size - i * each);
	}
	return piece;
}

static int locked(int file, int command, short type, short whence, int64_t start, int64_t bytes)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = whence,
		.l_start = start,
		.l_len = bytes,
	};

	return fcntl(file, command, &lock);
}

static void think(int64_t nanoseconds)
{
	struct timespec left = {nanoseconds / 1000000000, nanoseconds % 1000000000};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		continue;
}

/* Hints as "key=value" lines. */
static MPI_Info hints(const char *lines)
{
	static MPI_Info info = MPI_INFO_NULL;
	char copy[HINTS], *rest = copy, *line;

	if (info != MPI_INFO_NULL)
		MPI_Info_free(&info);
	MPI_Info_create(&info);
	snprintf(copy, sizeof(copy), "%s", lines);
	while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
		char *value = strchr(line, '=');

		*value = '\0';
		MPI_Info_set(info, line, value + 1);
	}
	return info;
}

static int ask_hints(MPI_File file)
{
	MPI_Info info;
	int result = MPI_File_get_info(file, &info);

	if (result == MPI_SUCCESS)
		MPI_Info_free(&info);
	return result;
}

/* A part of a view: its first byte, the bytes of a run, its levels, and of each, the innermost first, copies and the
 * bytes from one to the next. Gives where the next part begins. */
static const int64_t *strides(const int64_t *part, MPI_Datatype *type)
{
	const int64_t *level = part + 3;
	MPI_Datatype next;

	MPI_Type_contiguous((int)part[1], MPI_BYTE, type);
	for (int64_t i = 0; i < part[2]; i++, level += 2) {
		MPI_Type_create_hvector((int)level[0], 1, level[1], *type, &next);
		MPI_Type_free(type);
		*type = next;
	}
	return level;
}

/* 0: as its parts give it, from its first byte on. */
static MPI_Datatype resized(MPI_Datatype type, int64_t extent)
{
	MPI_Datatype whole;

	if (extent == 0)
		return type;
	MPI_Type_create_resized(type, 0, extent, &whole);
	MPI_Type_free(&type);
	return whole;
}

static MPI_Datatype strided(int64_t extent, int parts, const int64_t *part)
{
	MPI_Datatype type[PARTS], packed, whole;
	MPI_Aint start[PARTS];
	int one[PARTS];

	for (int i = 0; i < parts; i++) {
		one[i] = 1;
		start[i] = part[0];
		part = strides(part, &type[i]);
	}
	MPI_Type_create_struct(parts, one, start, type, &packed);
	whole = resized(packed, extent);
	for (int i = 0; i < parts; i++)
		MPI_Type_free(&type[i]);
	return whole;
}

/* Runs of bytes from the list: first byte and bytes of each. */
static MPI_Datatype listed(int64_t first, int64_t count, int64_t extent)
{
	MPI_Datatype next;
	int sizes[BLOCKS];
	MPI_Aint starts[BLOCKS];

	for (int64_t i = 0; i < count; i++) {
		starts[i] = block[first + i][0];
		sizes[i] = (int)block[first + i][1];
	}
	MPI_Type_create_hindexed((int)count, sizes, starts, MPI_BYTE, &next);
	return resized(next, extent);
}

static void see(MPI_File file, int64_t displacement, MPI_Datatype type)
{
	if (type != MPI_BYTE)
		MPI_Type_commit(&type);
	must(MPI_File_set_view(file, displacement, MPI_BYTE, type, "native", MPI_INFO_NULL));
	if (type != MPI_BYTE)
		MPI_Type_free(&type);
}

static hid_t id[IDS];

static hid_t had(hid_t one)
{
	if (one < 0)
		other++;
	return one;
}

/* Types and lists of properties that were made, closed when the next call has used them. */
static hid_t close_later(hid_t list)
{
	static hid_t before[8];
	static int turn;

	if (before[turn] > 0)
		H5Idec_ref(before[turn]);
	before[turn] = list;
	turn = (turn + 1) % 8;
	return list;
}

static hid_t file_access(hsize_t least, hsize_t step, hsize_t meta_block, H5F_libver_t low)
{
	hid_t list = close_later(H5Pcreate(H5P_FILE_ACCESS));

	H5Pset_alignment(list, least, step);
	H5Pset_meta_block_size(list, meta_block);
	H5Pset_libver_bounds(list, low, H5F_LIBVER_LATEST);
	return list;
}

static hid_t parallel(MPI_Comm comm, MPI_Info info, int reads, int writes, hid_t list)
{
	H5Pset_fapl_mpio(list, comm, info);
	H5Pset_all_coll_metadata_ops(list, reads);
	H5Pset_coll_metadata_write(list, writes);
	return list;
}

static hid_t string_of(size_t bytes)
{
	hid_t type = close_later(H5Tcopy(H5T_C_S1));

	H5Tset_size(type, bytes);
	return type;
}

/* How a dataset lies in its file; no chunks where their rank is 0, not compressed where the level is below 0. */
static hid_t layout(int chunked, const hsize_t *chunk, int shuffled, int level, int unfilled,
		    int early)
{
	hid_t list = close_later(H5Pcreate(H5P_DATASET_CREATE));

	if (chunked > 0)
		H5Pset_chunk(list, chunked, chunk);
	if (shuffled)
		H5Pset_shuffle(list);
	if (level >= 0)
		H5Pset_deflate(list, (unsigned)level);
	if (unfilled)
		H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
	if (early)
		H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
	return list;
}

static hid_t space_of(int dimensions, const hsize_t *extent)
{
	return dimensions > 0 ? H5Screate_simple(dimensions, extent, NULL) : H5Screate(H5S_SCALAR);
}

static hid_t create_dataset(hid_t in, const char *called, hid_t type, int dimensions,
			    const hsize_t *extent, hid_t list)
{
	hid_t space = space_of(dimensions, extent);
	hid_t dataset = H5Dcreate2(in, called, type, space, H5P_DEFAULT, list, H5P_DEFAULT);

	H5Sclose(space);
	return dataset;
}

static hid_t create_attribute(hid_t of, const char *called, hid_t type, int dimensions,
			      const hsize_t *extent)
{
	hid_t space = space_of(dimensions, extent);
	hid_t attribute = H5Acreate2(of, called, type, space, H5P_DEFAULT, H5P_DEFAULT);

	H5Sclose(space);
	return attribute;
}

/* A hyperslab: start, stride, count and block of each dimension, `whole`: dimensions are -1; none of it: 0. */
static void select_part(hid_t dataset, int dimensions, const hsize_t *part, hid_t *file_space,
			hid_t *memory_space)
{
	hsize_t elements = 1;

	*file_space = *memory_space = H5S_ALL;
	if (dimensions < 0)
		return;
	*file_space = H5Dget_space(dataset);
	for (int d = 0; d < dimensions; d++)
		elements *= part[2 * dimensions + d] * part[3 * dimensions + d];
	*memory_space = H5Screate_simple(1, &elements, NULL);
	if (dimensions > 0) {
		H5Sselect_hyperslab(*file_space, H5S_SELECT_SET, part, part + dimensions,
				    part + 2 * dimensions, part + 3 * dimensions);
	} else {
		H5Sselect_none(*file_space);
		H5Sselect_none(*memory_space);
	}
}

static hid_t transfer(H5FD_mpio_xfer_t how)
{
	hid_t list;

	if (how == H5FD_MPIO_INDEPENDENT)
		return H5P_DEFAULT;
	list = close_later(H5Pcreate(H5P_DATASET_XFER));
	H5Pset_dxpl_mpio(list, how);
	return list;
}

static void close_part(hid_t file_space, hid_t memory_space)
{
	if (file_space == H5S_ALL)
		return;
	H5Sclose(file_space);
	H5Sclose(memory_space);
}

static herr_t write_part(hid_t dataset, hid_t type, H5FD_mpio_xfer_t how, int dimensions,
			 const hsize_t *part)
{
	hid_t in_file, in_memory;
	herr_t result;

	select_part(dataset, dimensions, part, &in_file, &in_memory);
	result = H5Dwrite(dataset, type, in_memory, in_file, transfer(how), data(0));
	close_part(in_file, in_memory);
	return result;
}

static herr_t read_part(hid_t dataset, hid_t type, H5FD_mpio_xfer_t how, int dimensions,
			const hsize_t *part)
{
	hid_t in_file, in_memory;
	herr_t result;

	select_part(dataset, dimensions, part, &in_file, &in_memory);
	result = H5Dread(dataset, type, in_memory, in_file, transfer(how), sink);
	close_part(in_file, in_memory);
	return result;
}

/* The groups of ranks that opened files. */
static void make_communicators(void)
{
	MPI_Group world, group;
	int at = 0;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	for (int i = 0; i < COMMUNICATORS; at += members[i++]) {
		MPI_Group_incl(world, members[i], &member[at], &group);
		for (int j = 0; j < members[i]; j++)
			if (member[at + j] == rank)
				MPI_Comm_create_group(MPI_COMM_WORLD, group, i, &communicator[i]);
		MPI_Group_free(&group);
	}
	MPI_Group_free(&world);
}

/* Rows of calls that follow no rule, in the file beside this program that is named like it. */
static const int64_t *table;

static int find_table(void)
{
	char file[PATH_MAX];
	struct stat of_table;
	ssize_t size = readlink("/proc/self/exe", file, sizeof(file) - 7);
	int descriptor;

	if (size < 0)
		return 1;
	snprintf(file + size, sizeof(file) - (size_t)size, ".table");
	descriptor = open(file, O_RDONLY);
	if (descriptor >= 0 && fstat(descriptor, &of_table) == 0 && of_table.st_size == TABLE)
		table = mmap(NULL, TABLE, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (table && table != MAP_FAILED)
		return 0;
	fprintf(stderr, "%s: not there, or not this program's\n", file);
	return 1;
}

/* A file that was there before the run. */
static int make_file(int64_t number, int64_t size)
{
	int file = open(path(number), O_WRONLY | O_CREAT | O_EXCL, 0644);
	int64_t done = 0;

	while (file >= 0 && done < size) {
		int64_t most = size - done < ROOM ? size - done : ROOM;
		ssize_t now = write(file, memory, (size_t)most);

		if (now <= 0)
			return 1;
		done += now;
	}
	return file < 0 || close(file) != 0;
}

/* A name that is none below a directory: from the root on, or by way of `..`. */
static int leads_out(const char *file)
{
	const char *word = file;

	while (word) {
		if (strncmp(word, "..", 2) == 0 && (word[2] == '\0' || word[2] == '/'))
			return 1;
		word = strchr(word, '/');
		word += word != NULL;
	}
	return *file == '/';
}

/* No call is made on what does not lie below the directory. */
static int check_names(void)
{
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		if (leads_out(name[i])) {
			if (rank == 0)
				fprintf(stderr, "replay: %s: leads out of the directory\n",
					name[i]);
			return 1;
		}
	}
	return 0;
}

static int make_directory(const char *name_below)
{
	char whole[PATH_MAX];

	if (leads_out(name_below))
		return 1;
	if (snprintf(whole, sizeof(whole), "%s/%s", below, name_below) >= PATH_MAX)
		return 1;
	return mkdir(whole, 0755) != 0 && errno != EEXIST;
}

/* Only into a directory that is empty: nothing is written over. */
static int is_empty(void)
{
	DIR *directory;
	struct dirent *entry;
	int entries = 0;

	if (mkdir(below, 0755) != 0 && errno != EEXIST)
		return 0;
	directory = opendir(below);
	if (!directory)
		return 0;
	while ((entry = readdir(directory)) != NULL)
		entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(directory);
	errno = entries ? ENOTEMPTY : 0;
	return entries == 0;
}

/* Rank 0 makes what was there before the run. */
static int prepare(void)
{
	int wrong = 0;

	if (rank == 0) {
		wrong = !is_empty();
		/* prepare */
		if (wrong)
			fprintf(stderr, "replay: %s: %s%s\n", below, strerror(errno),
				errno == ENOTEMPTY ? "; name an empty one" : "");
	}
	MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return wrong;
}

static int start(int argc, char **argv)
{
	uint64_t word = 0x9E3779B97F4A7C15;
	int me, ranks;

	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	rank = me;
	if (argc != 2 || ranks != RANKS) {
		if (me == 0)
			fprintf(stderr, "usage: mpiexec -n %d %s DIRECTORY\n", RANKS, argv[0]);
		return 2;
	}
	below = argv[1];
	if (check_names() != 0)
		return 1;
	if (posix_memalign((void **)&memory, PAGE, ROOM) != 0 ||
	    posix_memalign((void **)&sink, PAGE, ROOM) != 0) {
		fprintf(stderr, "no memory for twice %lld bytes\n", (long long)ROOM);
		return 1;
	}
	word += (uint64_t)rank;
	for (size_t i = 0; i < ROOM / sizeof(word); i++) {
		word ^= word << 13, word ^= word >> 7, word ^= word << 17;
		memcpy(memory + i * sizeof(word), &word, sizeof(word));
	}
	return 0;
}

static void report(double seconds)
{
	int64_t all = 0;

	MPI_Reduce(&other, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	other = all;
	if (rank == 0)
		printf("%d ranks, %.6f s, %lld calls ended otherwise than in the recorded run\n",
		       RANKS, seconds, (long long)all);
}

int main(int argc, char **argv)
{
	double began;
	int wrong;

	MPI_Init(&argc, &argv);
	wrong = start(argc, argv);
	/* start */
	if (wrong == 0)
		wrong = prepare();
	if (wrong == 0) {
		MPI_Barrier(MPI_COMM_WORLD);
		began = MPI_Wtime();
		/* replay */
		MPI_Barrier(MPI_COMM_WORLD);
		report(MPI_Wtime() - began);
	}
	MPI_Finalize();
	return wrong || other != 0;
}
