/* The first versions of what glibc 2.34 gave a new one when libdl and libpthread became part of libc.
 * libfathom.so asks for these, so that it enters processes of older systems too: those of a container,
 * started by a Fathom from outside. The linker's --wrap brings our calls here (runtime/CMakeLists.txt). */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#define FIRST_DLADDR1 "GLIBC_2.3.3"
#else
#define FIRST "GLIBC_2.17"
#define FIRST_DLADDR1 FIRST
#endif

#define OLD(name, version) __asm__(".symver old_" #name ", " #name "@" version)

OLD(dladdr, FIRST);
OLD(dladdr1, FIRST_DLADDR1);
OLD(dlerror, FIRST);
OLD(dlopen, FIRST);
OLD(dlsym, FIRST);
OLD(pthread_key_create, FIRST);
OLD(pthread_setspecific, FIRST);

int old_dladdr(const void *address, Dl_info *info);
int old_dladdr1(const void *address, Dl_info *info, void **extra, int flags);
char *old_dlerror(void);
void *old_dlopen(const char *file, int mode);
void *old_dlsym(void *handle, const char *name);
int old_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int old_pthread_setspecific(pthread_key_t key, const void *value);

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
	return old_pthread_key_create(key, destructor);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	return old_pthread_setspecific(key, value);
}
