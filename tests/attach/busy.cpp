// A program that notices what attaching might spoil. Its threads allocate, throw exceptions, fork, wait in epoll, in nanosleep
// and in poll, and hold patterns in all vector registers (AVX-512, AVX; AMX's tiles where they are to be had). Says for each
// byte on standard input how many rounds they have made; a line on standard error and status 99 when something is wrong.
// Exits with 7 at the end of its input.
// usage: busy [EINTR]    with EINTR system calls that wait may say so
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "registers.h"

static std::atomic<bool> over;
static bool interruptible;
static std::atomic<long> rounds;

static void must(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "busy: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static void allocate()
{
	unsigned seed = 1;

	while (!over) {
		std::vector<std::string> blocks;
		for (int i = 0; i < 100; i++)
			blocks.emplace_back(rand_r(&seed) % 5000, char('a' + i % 26));
		for (int i = 0; i < 100; i++)
			must(blocks[i].empty() || blocks[i].back() == 'a' + i % 26,
			     "a block of memory");
		rounds++;
	}
}

__attribute__((noinline)) static int deeper(int left)
{
	if (left == 0)
		throw std::runtime_error("thrown");
	return deeper(left - 1) + 1;
}

static void throw_and_catch()
{
	while (!over) {
		bool caught = false;
		try {
			deeper(20);
		} catch (const std::runtime_error &error) {
			caught = strcmp(error.what(), "thrown") == 0;
		}
		must(caught, "an exception");
		rounds++;
	}
}

static void fork_and_wait()
{
	while (!over) {
		int status = 0;
		const pid_t child = fork();
		if (child == 0)
			_exit(23);
		must(child > 0 && waitpid(child, &status, 0) == child, "a child");
		must(WIFEXITED(status) && WEXITSTATUS(status) == 23, "a child's status");
		rounds++;
	}
}

// Waits for 3 ms, and finds out whether that ended too soon.
static void wait_for(int (*wait)(), const char *name)
{
	while (!over) {
		timespec before{}, after{};
		clock_gettime(CLOCK_MONOTONIC, &before);
		const int result = wait();
		clock_gettime(CLOCK_MONOTONIC, &after);
		const long ns = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec -
				before.tv_nsec;
		const bool interrupted = interruptible && result < 0 && errno == EINTR;
		const bool whole = result == 0 && ns >= 2900000;
		if (!interrupted && !whole)
			fprintf(stderr, "busy: %s: result %d after %ld ns\n", name, result, ns);
		must(interrupted || whole, name);
		rounds++;
	}
}

static int in_nanosleep()
{
	const timespec time{0, 3000000};
	return nanosleep(&time, nullptr);
}

static int in_poll()
{
	return poll(nullptr, 0, 3);
}

static int queue;

static int in_epoll()
{
	epoll_event event{};
	return epoll_wait(queue, &event, 1, 3);
}

static void hold_registers()
{
	while (!over) {
		must(registers_hold(interruptible), "vector registers");
		rounds++;
	}
}

int main(int count, char **)
{
	char byte;

	interruptible = count > 1;
	queue = epoll_create1(0);
	must(queue >= 0, "epoll_create1");
	std::vector<std::thread> threads;
	threads.emplace_back(allocate);
	threads.emplace_back(throw_and_catch);
	threads.emplace_back(fork_and_wait);
	threads.emplace_back(wait_for, in_nanosleep, "nanosleep");
	threads.emplace_back(wait_for, in_poll, "poll");
	threads.emplace_back(wait_for, in_epoll, "epoll_wait");
	threads.emplace_back(hold_registers);
	while (read(0, &byte, 1) == 1) {
		printf("%ld\n", rounds.load());
		fflush(stdout);
	}
	over = true;
	for (auto &thread : threads)
		thread.join();
	return 7;
}
