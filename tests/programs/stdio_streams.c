/* Thousands of random calls on one stream. The program keeps the file in memory besides, compares what it reads with
 * that, and writes for each call where it stood and how many bytes it got or gave: the account that Fathom must match.
 *	stdio_streams FILE ACCOUNT SEED [full|line|none SIZE] */
#include <string.h>

#include "must.h"

enum { ROOM = 1 << 20, CALLS = 4000 };

static struct {
	FILE *stream, *account;
	unsigned char bytes[ROOM];
	long length, at;
	unsigned state;
	int writes; /* since the last seek */
} file;

static unsigned draw(unsigned limit)
{
	file.state = file.state * 1103515245u + 12345u;
	return (file.state >> 8) % limit;
}

/* at -1: the call has no offset. */
static void say(const char *call, long at, long bytes)
{
	fprintf(file.account, "%s,%ld,%ld\n", call, at, bytes);
}

static long put(const void *bytes, long count)
{
	memcpy(file.bytes + file.at, bytes, (size_t)count);
	file.at += count;
	if (file.at > file.length)
		file.length = file.at;
	return count;
}

static long got(const void *bytes, long count)
{
	MUST(memcmp(file.bytes + file.at, bytes, (size_t)count) == 0);
	file.at += count;
	return count;
}

static void fill(char *text, long count)
{
	for (long i = 0; i < count; i++)
		text[i] = (char)(draw(12) ? 'a' + draw(26) : draw(3) ? '\n' : '7');
	text[count] = '\0';
}

static void write_some(char *text)
{
	long count = 1 + draw(draw(20) ? 200 : 9000), at = file.at;

	fill(text, count);
	switch (draw(7)) {
	case 0:
		MUST(fputs(text, file.stream) >= 0);
		say("fputs", at, put(text, count));
		break;
	case 1:
		MUST(fputc(text[0], file.stream) != EOF);
		say("putc", at, put(text, 1));
		break;
	case 2:
		MUST(fprintf(file.stream, "%s%d", text, 5) == count + 1);
		text[count] = '5';
		say("fprintf", at, put(text, count + 1));
		break;
	case 3:
		for (long i = 0; i < count; i++)
			MUST(putc_unlocked(text[i], file.stream) != EOF);
		put(text, count);
		break;
	case 4:
		MUST(fwrite(text, 3, (size_t)count / 3, file.stream) == (size_t)count / 3);
		say("fwrite", at, put(text, count / 3 * 3));
		break;
	default:
		MUST(fwrite(text, 1, (size_t)count, file.stream) == (size_t)count);
		say("fwrite", at, put(text, count));
	}
}

static long smaller(long a, long b)
{
	return a < b ? a : b;
}

static void read_line(char *text)
{
	static char *line;
	static size_t room;
	long at = file.at;

	if (draw(2)) {
		long n = getline(&line, &room, file.stream);

		say("getline", at, n < 0 ? 0 : got(line, n));
	} else {
		char *end = fgets(text, 100, file.stream);

		say("fgets", at, end ? got(text, (long)strlen(text)) : 0);
	}
}

static void read_character(void)
{
	long at = file.at;
	int c = getc(file.stream);

	MUST(c == (at < file.length ? file.bytes[at] : EOF));
	file.at += c != EOF;
	say("getc", at, c != EOF);
	if (c == EOF || draw(2))
		return;
	at = file.at;
	MUST(ungetc(c, file.stream) == c);
	say("ungetc", at, 0);
	file.at--;
	if (draw(2))
		read_character();
}

static void read_some(char *text)
{
	long count = 1 + draw(draw(20) ? 200 : 9000), at = file.at, left = file.length - file.at;

	switch (draw(6)) {
	case 0:
		read_line(text);
		break;
	case 1:
		read_character();
		break;
	case 2:
		for (long i = 0; i < smaller(count, left); i++)
			MUST(getc_unlocked(file.stream) == file.bytes[file.at++]);
		break;
	case 3: /* whole items: one that the end cuts would leave nobody knowing where */
		count = smaller(count, left) / 7;
		MUST(fread(text, 7, (size_t)count, file.stream) == (size_t)count);
		say("fread", at, got(text, 7 * count));
		break;
	default:
		MUST(fread(text, 1, (size_t)count, file.stream) == (size_t)smaller(count, left));
		say("fread", at, got(text, smaller(count, left)));
	}
}

static void seek(void)
{
	long to = draw(2) ? (long)draw((unsigned)file.length + 1) : file.at, at = file.at;
	static fpos_t place;
	static long marked = -1;

	switch (draw(6)) {
	case 0:
		MUST(fseek(file.stream, to, SEEK_SET) == 0);
		break;
	case 1:
		MUST(fseek(file.stream, to - file.at, SEEK_CUR) == 0);
		break;
	case 2:
		MUST(fseeko(file.stream, to - file.length, SEEK_END) == 0);
		break;
	case 3:
		if (marked >= 0 && marked <= file.length) {
			MUST(fsetpos(file.stream, &place) == 0);
			file.at = marked;
			say("fsetpos", -1, 0);
			return;
		}
		MUST(fgetpos(file.stream, &place) == 0);
		say("fgetpos", -1, 0);
		marked = file.at;
		/* fall through */
	case 4:
		MUST(fflush(file.stream) == 0);
		say("fflush", at, 0);
		MUST(fseek(file.stream, to, SEEK_SET) == 0);
		break;
	default:
		rewind(file.stream);
		file.at = 0;
		say("rewind", -1, 0);
		return;
	}
	file.at = to;
	say("fseek", -1, 0);
}

static void buffer(const char *mode, const char *size)
{
	const int how = mode[0] == 'f' ? _IOFBF : mode[0] == 'l' ? _IOLBF : _IONBF;
	static char room[65536];

	MUST(setvbuf(file.stream, room, how, (size_t)atol(size)) == 0);
	say("setvbuf", 0, 0);
}

int main(int count, char **words)
{
	static char text[20000];

	MUST(count > 3);
	file.state = (unsigned)atoi(words[3]);
	MUST((file.stream = fopen(words[1], "w+")) && (file.account = fopen(words[2], "w")));
	if (count > 5)
		buffer(words[4], words[5]);
	for (int i = 0; i < CALLS; i++) {
		const int wants_write = draw(2) || !file.length;

		if (wants_write != file.writes || draw(8) == 0) {
			seek(); /* the standard asks for one between reading and writing */
			file.writes = wants_write;
		}
		if (file.at > ROOM - 20000)
			rewind(file.stream), say("rewind", -1, 0), file.at = 0;
		(file.writes ? write_some : read_some)(text);
		if (draw(10) == 0) {
			MUST(ftell(file.stream) == file.at);
			say("ftell", -1, 0);
		}
	}
	MUST(fclose(file.stream) == 0 && fclose(file.account) == 0);
	return 0;
}
