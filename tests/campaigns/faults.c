// Preloaded before libc: the n-th call that changes something below a folder fails. See fault_test.py.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHORT = -1, LONGEST = 1 << 16 };
static char folder[4096], made[LONGEST];
static long calls, nth;
static int code;

// Start to count, and let call number `number` (0: none) fail with `error`; an empty folder ends it.
void fault_arm(const char *below, long number, int error) {
    strncpy(folder, below, sizeof folder - 1);
    calls = 0;
    nth = number;
    code = error;
}

// One letter for each call since then.
const char *fault_calls(void) {
    made[calls < LONGEST ? calls : LONGEST - 1] = 0;
    return made;
}

static int below(const char *path) { return *folder && !strncmp(path, folder, strlen(folder)); }

static int below_fd(int fd) {
    char name[64], path[4096];
    if (!*folder) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static int fails(char letter) {
    if (calls < LONGEST - 1) made[calls] = letter;
    if (++calls != nth) return 0;
    errno = code;
    return 1;
}

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))
#define BY_FD(letter, type, name, fd, types, arguments) \
    type name types { \
        if (below_fd(fd) && fails(letter)) return -1; \
        return ((type(*) types)dlsym(RTLD_NEXT, #name))arguments; \
    }
#define BY_PATH(letter, name, types, arguments) \
    int name types { \
        if (below(path) && fails(letter)) return -1; \
        return ((int(*) types)dlsym(RTLD_NEXT, #name))arguments; \
    }

// Opening to write, what is unfinished, and the folder itself, which is synchronized.
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        int counts = (flags & O_ACCMODE) != O_RDONLY || strstr(path, ".part") || !strcmp(path, folder); \
        if (below(path) && counts && fails('o')) return -1; \
        return REAL(int, name, const char *, int, ...)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

// Half of it is written where a call is to be short.
#define WRITE(name, types, arguments) \
    ssize_t name types { \
        if (below_fd(fd) && fails('w')) { \
            if (code != SHORT) return -1; \
            size = (size + 1) / 2; \
        } \
        return ((ssize_t(*) types)dlsym(RTLD_NEXT, #name))arguments; \
    }
WRITE(write, (int fd, const void *data, size_t size), (fd, data, size))
WRITE(pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRITE(pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))

int close(int fd) {  // it closes all the same, as Linux does
    int failed = below_fd(fd) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY && fails('c');
    int ended = REAL(int, close, int)(fd);
    if (failed) errno = code;
    return failed ? -1 : ended;
}

BY_FD('s', int, fsync, fd, (int fd), (fd))
BY_FD('s', int, fdatasync, fd, (int fd), (fd))
BY_FD('t', int, ftruncate, fd, (int fd, off_t size), (fd, size))
BY_FD('t', int, ftruncate64, fd, (int fd, off64_t size), (fd, size))
BY_FD('u', int, unlinkat, fd, (int fd, const char *name, int flags), (fd, name, flags))
BY_PATH('r', rename, (const char *path, const char *target), (path, target))
BY_PATH('u', unlink, (const char *path), (path))
BY_PATH('u', rmdir, (const char *path), (path))
BY_PATH('m', mkdir, (const char *path, mode_t mode), (path, mode))
BY_PATH('p', chmod, (const char *path, mode_t mode), (path, mode))

int posix_fallocate64(int fd, off64_t start, off64_t size) {
    if (below_fd(fd) && fails('a')) return code;
    return REAL(int, posix_fallocate64, int, off64_t, off64_t)(fd, start, size);
}
int posix_fallocate(int fd, off_t start, off_t size) { return posix_fallocate64(fd, start, size); }
