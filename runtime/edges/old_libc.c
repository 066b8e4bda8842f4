/* The first versions of what glibc 2.34 gave a new one when libdl and libpthread became part of libc.
 * libfathom.so asks for these, so that it enters processes of older systems too: those of a container,
 * started by a Fathom from outside. The linker's --wrap brings our calls here (runtime/CMakeLists.txt).
 * Those of libpthread are weak: a process without it has no threads to end. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>

#if defined(__x86_64__)
#define FIRST         "GLIBC_2.2.5"
#define FIRST_DLADDR1 "GLIBC_2.3.3"
#else
#define FIRST         "GLIBC_2.17"
#define FIRST_DLADDR1 FIRST
#endif

#define OLD(type, name, version, ...)                                                              \
	type old_##name(__VA_ARGS__);                                                              \
	__asm__(".symver old_" #name ", " #name "@" version)

OLD(int, dladdr, FIRST, const void *address, Dl_info *info);
OLD(int, dladdr1, FIRST_DLADDR1, const void *address, Dl_info *info, void **extra, int flags);
OLD(char *, dlerror, FIRST, void);
OLD(void *, dlopen, FIRST, const char *file, int mode);
OLD(void *, dlsym, FIRST, void *handle, const char *name);
OLD(int, pthread_key_create, FIRST, pthread_key_t *key, void (*destructor)(void *));
OLD(int, pthread_setspecific, FIRST, pthread_key_t key, const void *value);

#pragma weak old_pthread_key_create
#pragma weak old_pthread_setspecific

int __wrap_dladdr(const void *address, Dl_info *info)
{
	return old_dladdr(address, info);
}

int __wrap_dladdr1(const void *address, Dl_info *info, void **extra, int flags)
{
	return old_dladdr1(address, info, extra, flags);
}

char *__wrap_dlerror(void)
{
	return old_dlerror();
}

void *__wrap_dlopen(const char *file, int mode)
{
	return old_dlopen(file, mode);
}

void *__wrap_dlsym(void *handle, const char *name)
{
	return old_dlsym(handle, name);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	return old_pthread_key_create ? old_pthread_key_create(key, destructor) : ENOSYS;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	return old_pthread_setspecific ? old_pthread_setspecific(key, value) : ENOSYS;
}
