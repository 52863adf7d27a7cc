// The process: what an extension may see of becket, and an environment of its own.

const EventEmitter = require("events");
const { coded, argument } = require("internal/errors");

const about = becket.host.call("system.about");
const began = performance.now();

const process: any = new (EventEmitter as any)();

function refused(what: string): never {
    throw coded(Error, "ERR_ACCESS_DENIED", `an extension cannot end becket (${what})`);
}

/** Values of variables are text, as in the real environment. */
function environment(): any {
    const values = { ...about.environment };
    return new Proxy(values, {
        set(target, name, value) {
            if (typeof name === "symbol") throw argument("name", "of type string", name);
            target[name] = String(value);
            return true;
        },
        defineProperty(target, name, field) {
            return Reflect.defineProperty(target, name, "value" in field ? { ...field, value: String(field.value) } : field);
        },
    });
}

/** Lines for the reporter; what does not end with a line's end waits for it. */
function output(fd: number): any {
    const { Writable } = require("stream");
    let rest = "";
    const stream = new Writable({
        decodeStrings: false,
        write(chunk: any, _: string, done: () => void) {
            const lines = (rest + (typeof chunk === "string" ? chunk : Buffer.from(chunk).toString())).split("\n");
            rest = lines.pop()!;
            for (const line of lines) becket.native.print(fd === 2, line);
            done();
        },
        final(done: () => void) {
            if (rest !== "") becket.native.print(fd === 2, rest);
            rest = "";
            done();
        },
    });
    return Object.assign(stream, {
        fd, isTTY: false, columns: 80, rows: 24, getColorDepth: () => 1, hasColors: () => false, cursorTo: () => true,
        moveCursor: () => true, clearLine: () => true, clearScreenDown: () => true, getWindowSize: () => [80, 24],
    });
}

function input(): any {
    const { Readable } = require("stream");
    const stream = new Readable({ read() { this.push(null); } });
    return Object.assign(stream, { fd: 0, isTTY: false, setRawMode() { return this; }, ref() {}, unref() {} });
}

function lazily(name: string, make: () => unknown): void {
    const settle = (value: unknown) => {
        Object.defineProperty(process, name, { configurable: true, enumerable: true, writable: true, value });
        return value;
    };
    Object.defineProperty(process, name, {
        configurable: true, enumerable: true, get: () => settle(make()), set: settle,
    });
}

lazily("env", environment);
lazily("stdout", () => output(1));
lazily("stderr", () => output(2));
lazily("stdin", input);

const hrtime: any = (before?: [number, number]) => {
    const now = performance.now();
    let [seconds, rest] = [Math.floor(now / 1e3), Math.floor((now % 1e3) * 1e6)];
    if (before) {
        seconds -= before[0];
        rest -= before[1];
        if (rest < 0) { seconds--; rest += 1e9; }
    }
    return [seconds, rest];
};
hrtime.bigint = () => BigInt(Math.floor(performance.now() * 1e6));

const memory = () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 });

function emitWarning(warning: any, options: any = {}, code?: string): void {
    const type = typeof options === "string" ? options : options?.type ?? "Warning";
    const shown = typeof warning === "string" ? warning : warning.message;
    const name = typeof warning === "string" ? type : warning.name;
    const known = code ?? options?.code;
    becket.native.print(true, `${known ? `[${known}] ` : ""}${name}: ${shown}`);
    const error = typeof warning === "string" ? Object.assign(new Error(warning), { name: type, code: known }) : warning;
    process.emit("warning", error);
}

Object.assign(process, {
    title: "becket", version: "v20.20.2", pid: about.pid, ppid: about.parent, platform: about.platform, arch: about.arch,
    versions: { node: "20.20.2", v8: "11.3.244.8-node.38", uv: "1.46.0", modules: "115", quickjs: "0.16" },
    release: { name: "node", lts: "Iron" }, argv: [about.program, ""], argv0: "becket", execPath: about.program,
    execArgv: [], exitCode: undefined, config: { target_defaults: {}, variables: {} }, features: {}, debugPort: 0,
    cwd: () => becket.host.call("system.cwd"),
    chdir(path: string) {
        if (typeof path !== "string") throw argument("directory", "of type string", path);
        becket.host.call("system.chdir", { path });
    },
    exit: (code?: number) => refused(`process.exit(${code ?? ""})`),
    reallyExit: () => refused("process.reallyExit"),
    abort: () => refused("process.abort"),
    nextTick(run: any, ...values: any[]) {
        if (typeof run !== "function") throw argument("callback", "of type function", run);
        queueMicrotask(() => run(...values));
    },
    hrtime, uptime: () => (performance.now() - began) / 1e3, emitWarning,
    memoryUsage: Object.assign(memory, { rss: () => 0 }),
    resourceUsage: () => ({ userCPUTime: 0, systemCPUTime: 0, maxRSS: 0 }), cpuUsage: () => ({ user: 0, system: 0 }),
    kill(pid: number, signal: any = "SIGTERM") {
        if (typeof pid !== "number") throw argument("pid", "of type number", pid);
        return becket.host.call("process.signal", { pid, signal: require("child_process").signalNumber(signal) });
    },
    umask: () => 0o22, getuid: () => about.uid, getgid: () => about.gid, geteuid: () => about.euid,
    getegid: () => about.egid, getgroups: () => [about.gid], binding: (name: string) => {
        throw coded(Error, "ERR_INVALID_MODULE", `No such module: ${name}`);
    },
    getBuiltinModule: (name: string) => {
        const plain = name.replace(/^node:/, "");
        return becket.native.resolve("/", `node:${plain}`, true)[0] ? require(plain) : undefined;
    },
    allowedNodeEnvironmentFlags: new Set(), report: {}, setUncaughtExceptionCaptureCallback() {},
    moduleLoadList: [], domain: null, sourceMapsEnabled: false, getActiveResourcesInfo: () => [],
    availableMemory: () => becket.host.call("system.memory").free,
    assert: (...values: any[]) => require("assert")(...values),
    hasUncaughtExceptionCaptureCallback: () => false, setSourceMapsEnabled() {}, constrainedMemory: () => 0,
});
Object.defineProperty(process, Symbol.toStringTag, { configurable: true, value: "process" });
module.exports = process;
