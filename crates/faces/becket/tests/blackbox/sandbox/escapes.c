/* Tries one way out of a sandbox by a system call, and prints ESCAPED if it was not refused.
 *
 * A call that fails for want of sense in its arguments, and not of permission, was let through too. A process that is
 * not there for this one is held as well. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static int is(const char *name, const char *wanted) { return strcmp(name, wanted) == 0; }

static long attempt(const char *name, const char *word, pid_t victim) {
    char bytes[4096] = {0};
    struct iovec here = {bytes, sizeof bytes}, there = {(void *)0x1000, 16};
    if (is(name, "ptrace")) return ptrace(PTRACE_ATTACH, victim, 0, 0);
    if (is(name, "process_vm_readv")) return syscall(SYS_process_vm_readv, victim, &here, 1, &there, 1, 0);
    if (is(name, "process_vm_writev")) return syscall(SYS_process_vm_writev, victim, &here, 1, &there, 1, 0);
    if (is(name, "pidfd_getfd")) return syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, victim, 0), 0, 0);
    if (is(name, "kill")) return kill(victim, SIGUSR1);
    if (is(name, "io_uring")) return syscall(SYS_io_uring_setup, 8, bytes);
    if (is(name, "mount")) return mount("tmpfs", "/mnt", "tmpfs", 0, 0);
    if (is(name, "remount")) return mount("none", "/", 0, MS_REMOUNT | MS_BIND, 0);
    if (is(name, "umount")) return umount2(word, MNT_DETACH);
    if (is(name, "open_tree")) return syscall(SYS_open_tree, AT_FDCWD, "/", 1);
    if (is(name, "fsopen")) return syscall(SYS_fsopen, "tmpfs", 0);
    if (is(name, "pivot_root")) return syscall(SYS_pivot_root, ".", ".");
    if (is(name, "chroot")) return chroot(".");
    if (is(name, "unshare_user")) return unshare(CLONE_NEWUSER);
    if (is(name, "clone_user")) return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (is(name, "setns")) return setns(open("/proc/1/ns/mnt", O_RDONLY), 0);
    if (is(name, "open_by_handle")) return syscall(SYS_open_by_handle_at, AT_FDCWD, bytes, O_RDONLY);
    if (is(name, "bpf")) return syscall(SYS_bpf, 0, bytes, 64);
    if (is(name, "perf")) return syscall(SYS_perf_event_open, bytes, 0, -1, -1, 0);
    if (is(name, "keyctl")) return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
    if (is(name, "userfaultfd")) return syscall(SYS_userfaultfd, 1);
    if (is(name, "socket_unix")) return socket(AF_UNIX, SOCK_STREAM, 0);
    if (is(name, "socket_vsock")) return socket(AF_VSOCK, SOCK_STREAM, 0);
    if (is(name, "socket_alg")) return socket(AF_ALG, SOCK_SEQPACKET, 0);
    if (is(name, "socket_packet")) return socket(AF_PACKET, SOCK_RAW, 0);
    if (is(name, "datagrams")) {
        int pair[2];
        return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair);
    }
    /* On Linux these are datagrams too. */
    if (is(name, "raw_datagrams")) {
        int pair[2];
        return socketpair(AF_UNIX, SOCK_RAW, 0, pair);
    }
    if (is(name, "socket_raw")) return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    if (is(name, "clone_mount")) return syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
    if (is(name, "clone3")) {
        struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
        return syscall(SYS_clone3, &arguments, sizeof arguments);
    }
    /* The program that has confined this one was started before. */
    if (is(name, "mode_of_first")) return fchmod(open("/proc/1/exe", O_RDONLY), 0755);
    if (is(name, "folder_of_first")) return open("/proc/1/cwd", O_RDONLY | O_DIRECTORY);
    if (is(name, "memory_of_first")) return open("/proc/1/mem", O_RDONLY);
    if (is(name, "files_of_first")) {
        for (int number = 0; number < 256; number++) {
            char file[64];
            snprintf(file, sizeof file, "/proc/1/fd/%d", number);
            if (open(file, O_RDONLY | O_NONBLOCK) != -1) return 0;
        }
        errno = EACCES;
        return -1;
    }
    if (is(name, "keys")) return syscall(SYS_add_key, "user", "name", "key", 3, KEY_SPEC_USER_KEYRING);
    if (is(name, "request_key")) return syscall(SYS_request_key, "user", "name", 0, KEY_SPEC_USER_KEYRING);
    if (is(name, "slow_down_user")) return setpriority(PRIO_USER, 0, 19);
    if (is(name, "limit_other")) {
        struct rlimit limit = {1, 1};
        return prlimit(victim, RLIMIT_CPU, &limit, 0);
    }
    if (is(name, "slow_down")) return setpriority(PRIO_PROCESS, victim, 19);
    if (is(name, "type")) return ioctl(0, TIOCSTI, "x");
    if (is(name, "descriptor")) return write(9, "ESCAPED", 7);
    if (is(name, "handle_of_parent")) return open(word, O_RDWR);
    if (is(name, "root")) return setuid(0) == 0 && getuid() != 0 ? 0 : mknod("disk", S_IFBLK | 0600, 0x800);
    if (is(name, "truncate")) return truncate(word, 0);
    if (is(name, "rename_exchange")) return syscall(SYS_renameat2, AT_FDCWD, word, AT_FDCWD, "mine", 2);
    if (is(name, "hard_link")) return link(word, "linked");
    if (is(name, "chmod")) return chmod(word, 0777);
    if (is(name, "chown")) return chown(word, getuid(), getgid());
    if (is(name, "utime")) return syscall(SYS_utimensat, AT_FDCWD, word, 0, 0);
    if (is(name, "xattr")) return syscall(SYS_setxattr, word, "user.x", "y", 1, 0);
#ifdef __x86_64__
    if (is(name, "x32")) return syscall(0x40000000 + 521, PTRACE_ATTACH, victim, 0, 0);
    if (is(name, "x32_clone3")) {
        struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
        return syscall(0x40000000 + SYS_clone3, &arguments, sizeof arguments);
    }
    /* The calls of 32 bits have other numbers: 20 is `getpid`. The kernel ends a program that makes one. */
    if (is(name, "i386")) {
        long result;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
        return result;
    }
    if (is(name, "x32_mount")) return syscall(0x40000000 + SYS_mount, "tmpfs", "/mnt", "tmpfs", 0, 0);
#endif
    fprintf(stderr, "no such attempt: %s\n", name);
    exit(9);
}

int main(int count, char **words) {
    const char *word = count > 2 ? words[2] : "";
    pid_t victim = count > 3 ? atoi(words[3]) : getppid();
    errno = 0;
    long result = attempt(words[1], word, victim);
    int refused = errno == EPERM || errno == EACCES || errno == EROFS || errno == ENOSYS || errno == EBADF ||
                  errno == EXDEV || errno == EBUSY || errno == ESRCH;
    printf("%s\n", result == -1 && refused ? "held" : "ESCAPED");
    if (result == -1) perror(words[1]);
    return 0;
}
