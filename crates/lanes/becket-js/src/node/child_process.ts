// Other programs. They end when the extension does.

const EventEmitter = require("events");
const { coded, argument, aborted, refusing } = require("internal/errors");
const { host, native } = becket;

const custom = Symbol.for("nodejs.util.promisify.custom");
const signals = () => require("os").constants.signals;

function signalNumber(signal: any): number {
    if (signal === undefined || signal === null) return 15;
    if (typeof signal === "number") return signal;
    const number = signals()[String(signal).toUpperCase()];
    if (number === undefined) throw coded(TypeError, "ERR_UNKNOWN_SIGNAL", `Unknown signal: ${signal}`);
    return number;
}

function signalName(number: number | null): string | null {
    return number === null ? null : Object.keys(signals()).find((name) => signals()[name] === number) ?? `SIG${number}`;
}

/** What Rust starts: a program and its words, the folder and the variables. */
function request(file: string, args: string[], options: any): any {
    if (typeof file !== "string") throw argument("file", "of type string", file);
    if (file === "") {
        throw coded(TypeError, "ERR_INVALID_ARG_VALUE", "The argument 'file' cannot be empty. Received ''");
    }
    let words = args.map(String);
    let program = file;
    if (options.shell) {
        words = ["-c", [file, ...words].join(" ")];
        program = typeof options.shell === "string" ? options.shell : "/bin/sh";
    }
    const env: any = {};
    const source = options.env ?? require("process").env;
    for (const name of Object.keys(source)) if (source[name] !== undefined) env[name] = String(source[name]);
    let cwd = options.cwd;
    if (cwd !== undefined && cwd !== null && typeof cwd !== "string") cwd = require("url").fileURLToPath(cwd);
    return { file: program, args: words, cwd: cwd ?? undefined, env };
}

/** What one of a program's streams is: its kind, or a file that the extension has open. */
type Stream = "pipe" | "ignore" | "inherit" | { fd: number };

function streamOf(wanted: any): Stream {
    if (wanted === undefined || wanted === null || wanted === "overlapped") return "pipe";
    if (wanted === "pipe" || wanted === "ignore" || wanted === "inherit") return wanted;
    const fd = typeof wanted === "object" ? wanted.fd : wanted;
    if (!Number.isInteger(fd) || fd < 0) {
        const shown = require("util").inspect(wanted, { depth: 0 });
        throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'stdio' is invalid. Received ${shown}`);
    }
    return fd <= 2 ? "inherit" : { fd };
}

function streamsOf(stdio: any): Stream[] {
    const all = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio];
    const more = all.findIndex((wanted, at) => at > 2 && wanted !== "ignore" && wanted !== undefined && wanted !== null);
    if (more > 2) refusing(`child_process.spawn with stdio[${more}]`)();
    return [0, 1, 2].map((at) => streamOf(all[at]));
}

function taken(parcel: any): any {
    if (!parcel) return null;
    const found = native.parcel(parcel.parcel);
    return require("buffer").Buffer.from(found.buffer, found.byteOffset, found.byteLength);
}

function textOrBytes(chunk: any): any {
    return typeof chunk === "string" ? chunk.toWellFormed() : { base64: chunk.toBase64() };
}

// ---------------------------------------------------------------- while the extension goes on

class ChildProcess extends (EventEmitter as any) {
    pid?: number;
    exitCode: number | null = null;
    signalCode: string | null = null;
    killed = false;
    connected = false;
    stdin: any = null;
    stdout: any = null;
    stderr: any = null;
    spawnfile = "";
    spawnargs: string[] = [];
    #id: any;

    /** Starts it. What cannot be started is told by an event, as if it had been. */
    start(file: string, args: string[], options: any): void {
        const wanted = request(file, args, options);
        const stdio = streamsOf(options.stdio);
        this.spawnfile = wanted.file;
        this.spawnargs = [options.argv0 ?? wanted.file, ...wanted.args];
        // What would go to becket's own output is told to the user instead, unless it is lent to the program.
        let started: any;
        try {
            started = host.call("process.spawn", { ...wanted, stdio });
        } catch (error: any) {
            if (error.code === "ERR_ACCESS_DENIED") throw error;
            this.#notStarted(error, stdio);
            return;
        }
        this.pid = started.pid;
        this.#id = started.id;
        if (stdio[0] === "pipe") this.stdin = this.#input();
        const written = [1, 2].filter((at) => stdio[at] === "pipe" || stdio[at] === "inherit");
        const outputs = written.map((at) => this.#output(at, stdio[at]));
        this.stdio = [this.stdin, this.stdout, this.stderr];
        queueMicrotask(() => this.emit("spawn"));
        this.#watch(outputs);
    }

    #notStarted(error: any, stdio: Stream[]): void {
        const { Readable, Writable } = require("stream");
        const empty = () => new Readable({ read() { this.push(null); } });
        if (stdio[0] === "pipe") this.stdin = new Writable({ write(_: any, __: any, done: any) { done(); } });
        if (stdio[1] === "pipe") this.stdout = empty();
        if (stdio[2] === "pipe") this.stderr = empty();
        this.stdio = [this.stdin, this.stdout, this.stderr];
        queueMicrotask(() => {
            this.exitCode = error.errno ?? -1;
            this.emit("error", error);
            this.emit("close", this.exitCode, null);
        });
    }

    #input(): any {
        const id = this.#id;
        const { Writable } = require("stream");
        return new Writable({
            decodeStrings: false,
            write(chunk: any, encoding: any, done: any) {
                const data = typeof chunk === "string" && !/^utf-?8$/i.test(encoding) ? Buffer.from(chunk, encoding) : chunk;
                host.callAsync("process.write", { id, data: textOrBytes(data) }).then(() => done(), done);
            },
            final(done: any) { host.callAsync("process.end", { id }).then(() => done(), () => done()); },
            destroy(error: any, done: any) {
                host.callAsync("process.end", { id }).then(() => done(error), () => done(error));
            },
        });
    }

    /** Gives back a promise of the end of what the program writes. */
    #output(at: number, kind: Stream): Promise<void> {
        const id = this.#id;
        if (kind === "inherit") return this.#passOn(at);
        const { Readable } = require("stream");
        const stream = new Readable({
            async read(this: any) {
                try {
                    this.push(taken(await host.callAsync("process.read", { id, stream: at })));
                } catch {
                    this.push(null);
                }
            },
        });
        if (at === 1) this.stdout = stream;
        else this.stderr = stream;
        return new Promise((done) => stream.once("close", () => done()));
    }

    async #passOn(at: number): Promise<void> {
        const stream = at === 1 ? require("process").stdout : require("process").stderr;
        for (;;) {
            const chunk = taken(await host.callAsync("process.read", { id: this.#id, stream: at }));
            if (chunk === null) return;
            stream.write(chunk);
        }
    }

    async #watch(outputs: Promise<void>[]): Promise<void> {
        const id = this.#id;
        const { code, signal }: any = await host.callAsync("process.wait", { id });
        this.exitCode = code;
        this.signalCode = signalName(signal);
        this.stdin?.destroy();
        this.emit("exit", this.exitCode, this.signalCode);
        for (const stream of [this.stdout, this.stderr]) {
            // Nobody reads it: let it run out, so that the end is seen.
            if (stream && stream.readableFlowing === null && stream.listenerCount("readable") === 0) stream.resume();
        }
        await Promise.all(outputs);
        host.call("process.forget", { id });
        this.emit("close", this.exitCode, this.signalCode);
    }

    kill(signal?: any): boolean {
        const number = signalNumber(signal);
        if (this.#id === undefined || this.exitCode !== null || this.signalCode !== null) return false;
        const sent = host.call("process.signal", { id: this.#id, signal: number }) as boolean;
        if (sent && number !== 0) this.killed = true;
        return sent;
    }

    ref() { return this; }
    unref() { return this; }
    disconnect() {}
    send() { throw coded(Error, "ERR_IPC_CHANNEL_CLOSED", "Channel closed"); }
    [Symbol.dispose ?? Symbol.for("dispose")]() { this.kill(); }
}

/** Arguments may be left out in the middle. */
function sorted(args: any, options: any): [string[], any] {
    if (Array.isArray(args)) return [args, options ?? {}];
    if (args !== undefined && args !== null && typeof args !== "object") throw argument("args", "of type object", args);
    return [[], args ?? options ?? {}];
}

function spawn(file: string, given?: any, more?: any): any {
    const [args, options] = sorted(given, more);
    const child: any = new ChildProcess();
    if (options.signal?.aborted) {
        child.start("/bin/true", [], { stdio: "ignore" });
        queueMicrotask(() => child.emit("error", aborted(options.signal)));
        return child;
    }
    child.start(file, args, options);
    limit(child, options);
    return child;
}

function limit(child: any, { signal, timeout, killSignal }: any): void {
    if (signal) {
        const stop = () => { if (child.kill(killSignal)) child.emit("error", aborted(signal)); };
        signal.addEventListener("abort", stop, { once: true });
        child.once("exit", () => signal.removeEventListener("abort", stop));
    }
    if (timeout > 0) {
        const timer = setTimeout(() => child.kill(killSignal), timeout);
        child.once("exit", () => clearTimeout(timer));
    }
}

function execFile(file: string, ...rest: any[]): any {
    const callback = typeof rest[rest.length - 1] === "function" ? rest.pop() : undefined;
    const [args, given] = sorted(rest[0], rest[1]);
    const options = { encoding: "utf8", maxBuffer: 1024 * 1024, ...given };
    const child: any = spawn(file, args, { ...options, stdio: "pipe", timeout: 0 });
    // What it has started may hold its output open for ever, so that is let go first.
    const stop = () => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        child.kill(options.killSignal);
    };
    const timer = options.timeout > 0 ? setTimeout(stop, options.timeout) : undefined;
    const line = options.shell ? options.line ?? [file, ...args].join(" ") : [file, ...args].join(" ");
    let problem: any;
    const collected = [child.stdout, child.stderr].map((stream: any, at) => {
        const chunks: any[] = [];
        let length = 0;
        stream?.on("data", (chunk: any) => {
            length += chunk.length;
            chunks.push(chunk.subarray(0, Math.max(chunk.length - Math.max(length - options.maxBuffer, 0), 0)));
            if (length > options.maxBuffer && !problem) {
                problem = coded(RangeError, "ERR_CHILD_PROCESS_STDIO_MAXBUFFER",
                    `${at === 0 ? "stdout" : "stderr"} maxBuffer length exceeded`);
                stop();
            }
        });
        return chunks;
    });
    let told = false;
    const finish = (code: number | null, signal: string | null) => {
        if (told) return;
        told = true;
        clearTimeout(timer);
        const [stdout, stderr] = collected.map((chunks) => {
            const all = Buffer.concat(chunks);
            return options.encoding && options.encoding !== "buffer" ? all.toString(options.encoding) : all;
        });
        if (!problem && (code !== 0 || signal !== null)) {
            problem = Object.assign(new Error(`Command failed: ${line}\n${stderr}`), {
                code: code ?? undefined, killed: child.killed, signal, cmd: line,
            });
            if (code === null) problem.code = null;
        }
        if (problem) Object.assign(problem, { stdout, stderr, cmd: problem.cmd ?? line });
        callback?.(problem ?? null, stdout, stderr);
    };
    child.on("error", (error: any) => { problem = problem ?? error; finish(null, null); });
    child.on("close", finish);
    return child;
}

function exec(command: string, options?: any, callback?: any): any {
    if (typeof command !== "string") throw argument("command", "of type string", command);
    if (typeof options === "function") [options, callback] = [{}, options];
    return execFile(command, [], { ...options, shell: options?.shell || true, line: command }, callback);
}

/** As a promise: output in an object, and the child on the promise itself. */
function promised(run: any): any {
    return (...values: any[]) => {
        let child: any;
        const promise: any = new Promise((resolve, reject) => {
            child = run(...values, (error: any, stdout: any, stderr: any) => (error ? reject(error) : resolve({ stdout, stderr })));
        });
        promise.child = child;
        return promise;
    };
}
Object.defineProperty(exec, custom, { value: promised(exec) });
Object.defineProperty(execFile, custom, { value: promised(execFile) });

// ---------------------------------------------------------------- while the extension stands still

function spawnSync(file: string, given?: any, more?: any): any {
    const [args, options] = sorted(given, more);
    const wanted = request(file, args, options);
    const stdio = streamsOf(options.stdio);
    const input = options.input === undefined || options.input === null ? "" : typeof options.input === "string"
        ? options.input.toWellFormed() : textOrBytes(Buffer.from(options.input.buffer ?? options.input));
    let done: any;
    try {
        done = host.call("process.spawnSync", {
            ...wanted, input, timeout: options.timeout, maxBuffer: finite(options.maxBuffer),
            killSignal: signalNumber(options.killSignal), stdio,
        });
    } catch (error: any) {
        if (error.code === "ERR_ACCESS_DENIED") throw error;
        const shown = Object.assign(error, { message: error.message.replace(/^spawn /, "spawnSync "),
            syscall: `spawnSync ${wanted.file}` });
        return { error: shown, status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
    }
    const outputs = [taken(done.stdout), taken(done.stderr)].map((found, at) => {
        if (found === null) return null;
        if (stdio[at + 1] === "inherit") {
            (at === 0 ? require("process").stdout : require("process").stderr).write(found);
            return null;
        }
        return options.encoding && options.encoding !== "buffer" ? found.toString(options.encoding) : found;
    });
    const result: any = {
        pid: done.pid, output: [null, ...outputs], stdout: outputs[0], stderr: outputs[1],
        status: done.problem && done.signal !== null ? null : done.code, signal: signalName(done.signal),
    };
    if (done.problem) {
        const words = done.message ?? done.problem;
        result.error = coded(Error, done.problem, `spawnSync ${wanted.file} ${words}`, {
            errno: -require("os").constants.errno[done.problem], syscall: `spawnSync ${wanted.file}`,
            path: wanted.file, spawnargs: wanted.args,
        });
    }
    return result;
}

function finite(most: any): number | undefined {
    return most === undefined ? undefined : Math.min(Number(most), 2 ** 31);
}

function checked(result: any, line: string): any {
    const bad = result.error ?? (result.status !== 0 ? new Error(
        `Command failed: ${line}${result.stderr?.length > 0 ? `\n${result.stderr.toString()}` : ""}`) : undefined);
    if (bad) throw Object.assign(bad, { ...result, error: undefined }, result.error ? { error: result.error } : {});
    return result.stdout;
}

function execFileSync(file: string, given?: any, more?: any): any {
    const [args, options] = sorted(given, more);
    const result = spawnSync(file, args, options);
    return pipedErrors(result, options) ?? checked(result, [file, ...args].join(" "));
}

/** Unless the script wants it, what a program writes to standard error is shown to the user. */
function pipedErrors(result: any, options: any): undefined {
    if (!options.stdio && result.stderr?.length > 0) require("process").stderr.write(result.stderr);
    return undefined;
}

function execSync(command: string, options: any = {}): any {
    if (typeof command !== "string") throw argument("command", "of type string", command);
    const result = spawnSync(command, [], { ...options, shell: options.shell || true });
    return pipedErrors(result, options) ?? checked(result, command);
}

module.exports = {
    ChildProcess, spawn, exec, execFile, spawnSync, execSync, execFileSync,
};
Object.defineProperty(module.exports, "signalNumber", { enumerable: false, value: signalNumber });
