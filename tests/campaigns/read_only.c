// Preloaded before libc: nothing can be written outside the folder OUTPUT. See ../test_read_only.py.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refused(int at, const char *path) {
    const char *output = getenv("OUTPUT");
    char here[4096];
    if (path[0] != '/' && at != AT_FDCWD) return 0;  // relative to a folder that is open: it was checked
    if (path[0] != '/') {
        if (!getcwd(here, sizeof here)) return 0;
        path = here;
    }
    if (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6)) return 0;
    if (output && !strncmp(path, output, strlen(output))) return 0;
    errno = EROFS;
    return 1;
}

#define WRITES(flags) (((flags) & O_ACCMODE) != O_RDONLY || ((flags) & (O_CREAT | O_TRUNC)))
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        if (WRITES(flags) && refused(AT_FDCWD, path)) return -1; \
        return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
    }
#define OPEN_AT(name) \
    int name(int at, const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        if (WRITES(flags) && refused(at, path)) return -1; \
        return ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name))(at, path, flags, mode); \
    }
#define BY_PATH(name, types, arguments) \
    int name types { \
        if (refused(AT_FDCWD, path)) return -1; \
        return ((int(*) types)dlsym(RTLD_NEXT, #name))arguments; \
    }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)
BY_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
BY_PATH(rename, (const char *path, const char *target), (path, target))
BY_PATH(unlink, (const char *path), (path))
BY_PATH(rmdir, (const char *path), (path))

int access(const char *path, int mode) {
    if ((mode & W_OK) && refused(AT_FDCWD, path)) return -1;
    return ((int (*)(const char *, int))dlsym(RTLD_NEXT, "access"))(path, mode);
}
