/* CPython's frames, by the layout of its structures: a thread that waits for a file does not hold the interpreter's
 * lock, so nothing may be called that counts or allocates. What is called reads, and keeps a hash that it worked out. */
#include "core/hash.h"
#include "core/python.h"

#include <string.h>

#include "core/base.h"
#include "core/thread.h"

/* Offsets in bytes, of CPython 3.8 to 3.14 for 64-bit machines (Include/cpython/{pystate,code,frameobject}.h,
 * Include/internal/pycore_{frame,interpframe_structs}.h). NONE: there is no such thing. */
enum { NONE = 0xffff, FIRST_MINOR = 8, HASH = 24 };
struct layout {
	uint16_t frame,
		innermost; /* from PyThreadState to the innermost frame, by two words or one */
	uint16_t previous, code, at; /* in a frame */
	uint16_t instructions;       /* in a code object: where they begin, if `at` is an address */
	uint16_t file, name, first_number; /* in a code object */
	uint16_t unit;                     /* bytes of what `at` counts, if it is a number */
};
static const struct layout layouts[] = {
	{24, NONE, 24, 32, 104, NONE, 104, 112, 40, 1}, /* 3.8 */
	{24, NONE, 24, 32, 104, NONE, 104, 112, 40, 1}, /* 3.9 */
	{24, NONE, 24, 32, 96, NONE, 104, 112, 40, 2},  /* 3.10 */
	{56, 8, 48, 32, 56, 184, 112, 128, 72, 0},      /* 3.11 */
	{56, 0, 8, 0, 56, 192, 112, 128, 68, 0},        /* 3.12 */
	{72, NONE, 8, 0, 56, 200, 112, 128, 68, 0},     /* 3.13 */
	{72, NONE, 8, 0, 56, 208, 112, 128, 68, 0},     /* 3.14 */
};

static struct {
	const struct layout *layout; /* NULL: no interpreter, or one that is not known */
	int (*ends)(void); /* threads are taken down, and may still be where they need no lock */
	const char *(*thread)(void);
	int (*number)(const char *code, int at);
	ptrdiff_t (*length)(const char *text);
	uint32_t (*character)(const char *text, ptrdiff_t i);
	ptrdiff_t (*hash)(const char *object);
	const char *code_type;
} python;

/* "3.11.7 (main, …)". Builds without the interpreter's lock have other objects. */
static const struct layout *layout_of(const char *version)
{
	uint64_t minor = 0;

	if (strncmp(version, "3.", 2) != 0 || strstr(version, "free-threading"))
		return NULL;
	for (version += 2; *version >= '0' && *version <= '9'; version++)
		minor = 10 * minor + (uint64_t)(*version - '0');
	minor -= FIRST_MINOR;
	return minor < sizeof(layouts) / sizeof(*layouts) ? &layouts[minor] : NULL;
}

void python_begin(void *(*symbol)(const char *name))
{
	const char *(*version)(void);
	void *ends = symbol("Py_IsFinalizing"); /* the other before 3.13 */

	*(void **)&python.ends = ends ? ends : symbol("_Py_IsFinalizing");
	*(void **)&version = symbol("Py_GetVersion");
	*(void **)&python.thread = symbol("PyGILState_GetThisThreadState");
	*(void **)&python.number = symbol("PyCode_Addr2Line");
	*(void **)&python.length = symbol("PyUnicode_GetLength");
	*(void **)&python.character = symbol("PyUnicode_ReadChar");
	*(void **)&python.hash = symbol("PyObject_Hash");
	python.code_type = symbol("PyCode_Type");
	if (version && python.ends && python.thread && python.number && python.length &&
	    python.character && python.hash && python.code_type)
		python.layout = layout_of(version());
}

bool python_known(void)
{
	return python.layout != NULL;
}

const void *python_code(void)
{
	return (const void *)python.number;
}

static const char *word(const char *at, uint16_t offset)
{
	return *(const char *const *)(at + offset);
}

static uint32_t half(const char *at, uint16_t offset)
{
	return *(const uint32_t *)(at + offset);
}

static const char *innermost(const struct layout *l)
{
	const char *thread = python.ends() ? NULL : python.thread();
	const char *frame = thread ? word(thread, l->frame) : NULL;

	return frame && l->innermost != NONE ? word(frame, l->innermost) : frame;
}

/* NULL: a frame of the interpreter's own, with no code, or with something else. Low bits say who counts it. */
static const char *code_of(const struct layout *l, const char *frame)
{
	const char *code = (const char *)((uintptr_t)word(frame, l->code) & ~(uintptr_t)3);

	return code && word(code, sizeof(void *)) == python.code_type ? code : NULL;
}

/* Of text or bytes, computed once by whoever asks first. */
static uint64_t hash_of(const char *object)
{
	const uint64_t known = *(const uint64_t *)(object + HASH);

	return known == ~0ull ? (uint64_t)python.hash(object) : known;
}

/* By what the code says of itself: the memory of code that is gone is used again. */
static uint64_t key_of(const struct layout *l, const char *code)
{
	uint64_t key = hash_mix(half(code, l->first_number), hash_of(word(code, l->file)));

	key = hash_mix(key, hash_of(word(code, l->name)));
	return hash_mix(key,
			hash_of(word(code, l->name + sizeof(void *)))); /* its table of lines */
}

static size_t put_character(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Terminated; cut where there is no room. */
static size_t copy_text(const char *text, char *out, size_t size)
{
	const ptrdiff_t length = python.length(text);
	size_t used = 0;

	for (ptrdiff_t i = 0; i < length && used + 5 <= size; i++)
		used += put_character(out + used, python.character(text, i));
	out[used] = '\0';
	return used;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Whose code? By its file: of Python itself, of packages that were installed, of the user. */
enum { OF_PYTHON = 1, OF_A_PACKAGE, OF_THE_USER };
static unsigned whose(const char *file)
{
	if (*file == '<')
		return begins(file, "<string>") || begins(file, "<stdin>") ||
				       begins(file, "<ipython-input")
			       ? OF_THE_USER
			       : OF_PYTHON;
	if (strstr(file, "/site-packages/") || strstr(file, "/dist-packages/"))
		return OF_A_PACKAGE;
	return strstr(file, "/lib/python3") || strstr(file, "/lib64/python3") ? OF_PYTHON
									      : OF_THE_USER;
}

/* Asked once for each file and thread. */
static unsigned owner(struct thread *t, const char *file)
{
	const uint64_t key = hash_of(file) << 2;
	uint64_t *known = &t->file_owner[(key >> 2) % FILES];

	if (*known >> 2 << 2 != key || !*known) {
		copy_text(file, t->path, PATH_BYTES);
		*known = key | whose(t->path);
	}
	return *known & 3;
}

static int instruction(const struct layout *l, const char *frame, const char *code)
{
	if (l->instructions == NONE)
		return (int)(half(frame, l->at) * l->unit);
	return (int)(word(frame, l->at) - (code + l->instructions));
}

uint32_t python_lines(struct thread *t, struct python_line *lines, uint32_t most)
{
	const struct layout *l = python.layout;
	const char *frame = innermost(l), *file = NULL;
	unsigned best = 0, of = 0;
	uint32_t n = 0;

	for (int i = 0; frame && i < FRAMES && n < most; i++, frame = word(frame, l->previous)) {
		const char *code = code_of(l, frame);

		if (!code)
			continue;
		if (word(code, l->file) != file) {
			file = word(code, l->file);
			of = owner(t, file);
		}
		if (of < best || (of == best && best < OF_THE_USER))
			continue;
		if (of > best)
			n = 0;
		best = of;
		lines[n] = (struct python_line){.code = code, .at = instruction(l, frame, code)};
		lines[n].key = hash_mix(key_of(l, code), (uint64_t)lines[n].at);
		n++;
	}
	return n;
}

size_t python_file(const struct python_line *line, char *out, size_t size)
{
	return copy_text(word(line->code, python.layout->file), out, size);
}

size_t python_function(const struct python_line *line, char *out, size_t size)
{
	return copy_text(word(line->code, python.layout->name), out, size);
}

uint32_t python_number(const struct python_line *line)
{
	const int number = python.number(line->code, line->at);

	return number > 0 ? (uint32_t)number : 0;
}
