// The machine and its user.

const about = becket.host.call("system.about");
const memory = () => becket.host.call("system.memory");

const signals = {
    SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGIOT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9,
    SIGUSR1: 10, SIGSEGV: 11, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCHLD: 17, SIGSTKFLT: 16,
    SIGCONT: 18, SIGSTOP: 19, SIGTSTP: 20, SIGTTIN: 21, SIGTTOU: 22, SIGURG: 23, SIGXCPU: 24, SIGXFSZ: 25,
    SIGVTALRM: 26, SIGPROF: 27, SIGWINCH: 28, SIGIO: 29, SIGPOLL: 29, SIGPWR: 30, SIGSYS: 31,
};
if (about.platform === "darwin") {
    Object.assign(signals, { SIGBUS: 10, SIGUSR1: 30, SIGUSR2: 31, SIGCHLD: 20, SIGCONT: 19, SIGSTOP: 17, SIGTSTP: 18,
        SIGSYS: 12, SIGURG: 16, SIGIO: 23 });
}
const errno = {
    E2BIG: 7, EACCES: 13, EAGAIN: 11, EBADF: 9, EBUSY: 16, ECANCELED: 125, ECHILD: 10, ECONNREFUSED: 111,
    ECONNRESET: 104, EEXIST: 17, EFAULT: 14, EFBIG: 27, EINTR: 4, EINVAL: 22, EIO: 5, EISDIR: 21, ELOOP: 40, EMFILE: 24,
    EMLINK: 31, ENAMETOOLONG: 36, ENFILE: 23, ENOBUFS: 105, ENODEV: 19, ENOENT: 2, ENOEXEC: 8, ENOMEM: 12,
    ENOSPC: 28, ENOSYS: 38, ENOTDIR: 20, ENOTEMPTY: 39, ENOTSUP: 95, EPERM: 1, EPIPE: 32, EROFS: 30, ESPIPE: 29,
    ESRCH: 3, ETIMEDOUT: 110, ETXTBSY: 26, EXDEV: 18,
};
const environment = () => require("process").env;

function userInfo(options: any = {}) {
    const env = environment();
    const info: any = {
        uid: about.uid, gid: about.gid, username: env.USER ?? env.LOGNAME ?? (about.uid === 0 ? "root" : String(about.uid)),
        homedir: about.home, shell: env.SHELL ?? null,
    };
    if (options?.encoding === "buffer") {
        for (const name of ["username", "homedir", "shell"]) info[name] = info[name] && Buffer.from(info[name]);
    }
    return info;
}

module.exports = {
    EOL: "\n", devNull: "/dev/null", constants: {
        UV_UDP_REUSEADDR: 4, dlopen: {}, errno, signals,
        priority: { PRIORITY_LOW: 19, PRIORITY_BELOW_NORMAL: 10, PRIORITY_NORMAL: 0, PRIORITY_ABOVE_NORMAL: -7,
            PRIORITY_HIGH: -14, PRIORITY_HIGHEST: -20 },
    },
    arch: () => about.arch, platform: () => about.platform, type: () => about.system, release: () => about.release,
    version: () => about.version, machine: () => about.machine, hostname: () => about.hostname,
    endianness: () => about.endianness, homedir: () => environment().HOME ?? about.home,
    tmpdir: () => {
        const env = environment();
        const folder = env.TMPDIR || env.TMP || env.TEMP || "/tmp";
        return folder.length > 1 && folder.endsWith("/") ? folder.slice(0, -1) : folder;
    },
    uptime: () => memory().uptime, totalmem: () => memory().total, freemem: () => memory().free,
    loadavg: () => memory().load, availableParallelism: () => about.cpus,
    cpus: () => Array.from({ length: about.cpus }, () => ({
        model: "unknown", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 },
    })),
    networkInterfaces: () => ({}), userInfo, getPriority: () => 0, setPriority() {},
};
