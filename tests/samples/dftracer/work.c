#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char bytes[1 << 20];

static void *reader(void *path)
{
	int fd = open(path, O_RDONLY);

	for (int i = 0; i < 8; i++)
		pread(fd, bytes, 512, 1000 * i);
	close(fd);
	return 0;
}

static void positions(void)
{
	struct iovec two[2] = {{bytes, 10}, {bytes, 20}};
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0644);

	for (int i = 0; i < 5; i++)
		write(fd, bytes, 4096 + i);
	for (int i = 0; i < 3; i++)
		pwrite(fd, bytes, 1000, 100000 * i);
	lseek(fd, 100, SEEK_SET);
	for (int i = 0; i < 2; i++)
		read(fd, bytes, sizeof bytes);
	writev(fd, two, 2);
	fsync(fd);
	ftruncate(fd, 100);
	close(fd);
	fd = open("data", O_WRONLY | O_APPEND);
	write(fd, bytes, 11);
	close(fd);
	fd = open("data", O_RDONLY);
	write(fd, bytes, 10); /* fails */
	close(fd);
}

static void streams(void)
{
	FILE *text = fopen("text", "w");

	for (int i = 0; i < 3; i++)
		fprintf(text, "hello %d\n", i);
	fwrite(bytes, 10, 20, text);
	fclose(text);
	text = fopen("text", "r");
	fseek(text, 5, SEEK_SET);
	fread(bytes, 1, 100, text);
	fclose(text);
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	mkdir(argv[1], 0755);
	chdir(argv[1]);
	positions();
	streams();
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], 0, reader, "text");
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], 0);
	open("missing", O_RDONLY);
	rename("text", "texts");
	if (!fork()) {
		int fd = open("child", O_WRONLY | O_CREAT, 0644);

		for (int i = 0; i < 6; i++)
			write(fd, bytes, 7);
		close(fd);
		exit(0);
	}
	wait(0);
	return argc - 2;
}
