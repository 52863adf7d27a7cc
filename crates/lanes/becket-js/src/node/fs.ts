// Files. Each operation is written once and exists three times: at once, with a callback, and as a promise.

const { coded, argument, aborted } = require("internal/errors");
const { host, native } = becket;

const bytes = () => require("buffer").Buffer;

const constants = {
    F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4, O_RDONLY: 0,
    O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_SYNC: 1052672, O_NONBLOCK: 2048,
    O_DIRECTORY: 65536, O_NOFOLLOW: 131072, S_IFMT: 61440, S_IFREG: 32768, S_IFDIR: 16384, S_IFCHR: 8192, S_IFBLK: 24576,
    S_IFIFO: 4096, S_IFLNK: 40960, S_IFSOCK: 49152, S_IRWXU: 448, S_IRUSR: 256, S_IWUSR: 128, S_IXUSR: 64, S_IRWXG: 56,
    S_IRGRP: 32, S_IWGRP: 16, S_IXGRP: 8, S_IRWXO: 7, S_IROTH: 4, S_IWOTH: 2, S_IXOTH: 1,
};

// ---------------------------------------------------------------- arguments

function pathOf(value: any, name = "path"): string {
    let path = value;
    if (value instanceof Uint8Array) path = bytes().from(value).toString();
    else if (value !== null && typeof value === "object" && typeof value.href === "string") {
        path = require("url").fileURLToPath(value);
    }
    if (typeof path !== "string") throw argument(name, "of type string or an instance of Buffer or URL", value);
    if (path.includes("\0")) {
        throw coded(TypeError, "ERR_INVALID_ARG_VALUE",
            `The argument '${name}' must be a string, Uint8Array, or URL without null bytes. Received '${path}'`);
    }
    return path;
}

function optionsOf(options: any): any {
    return typeof options === "string" ? { encoding: options } : options ?? {};
}

function modeOf(mode: any): number | undefined {
    return typeof mode === "string" ? Number.parseInt(mode, 8) : mode;
}

function seconds(time: any): number {
    if (time instanceof Date) return time.getTime() / 1e3;
    return Number(time);
}

/** What Rust reads as bytes. */
function dataOf(data: any, encoding?: any): any {
    if (typeof data === "string") {
        const isText = encoding === undefined || encoding === null || /^utf-?8$/i.test(encoding);
        return isText ? data.isWellFormed() ? data : data.toWellFormed() : { base64: bytes().from(data, encoding).toBase64() };
    }
    if (ArrayBuffer.isView(data)) {
        return { base64: (new Uint8Array(data.buffer as any, data.byteOffset, data.byteLength) as any).toBase64() };
    }
    throw argument("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
}

function flagsOf(flags: any, fallback: string): string {
    if (flags === undefined || flags === null) return fallback;
    if (typeof flags === "string") return flags;
    const writes = flags & 3;
    const created = flags & constants.O_CREAT;
    if (flags & constants.O_APPEND) return `a${flags & constants.O_EXCL ? "x" : ""}${writes === 2 ? "+" : ""}`;
    if (writes === 0) return "r";
    if (created || flags & constants.O_TRUNC) {
        return `w${flags & constants.O_EXCL ? "x" : ""}${writes === 2 ? "+" : ""}`;
    }
    return "r+";
}

function taken(parcel: { parcel: number }): any {
    const found = native.parcel(parcel.parcel);
    return bytes().from(found.buffer, found.byteOffset, found.byteLength);
}

// ---------------------------------------------------------------- what is found

const times = ["atime", "mtime", "ctime", "birthtime"];

class Stats {
    constructor(fields: any, bigint = false) {
        for (const [name, value] of Object.entries<any>(fields)) {
            (this as any)[name] = bigint ? BigInt(Math.floor(value)) : value;
        }
        for (const name of times) {
            (this as any)[name] = new Date(Math.round(fields[`${name}Ms`]));
            if (bigint) (this as any)[`${name}Ns`] = BigInt(Math.round(fields[`${name}Ms`] * 1e6));
        }
    }
    #is(kind: number) { return (Number((this as any).mode) & constants.S_IFMT) === kind; }
    isFile() { return this.#is(constants.S_IFREG); }
    isDirectory() { return this.#is(constants.S_IFDIR); }
    isSymbolicLink() { return this.#is(constants.S_IFLNK); }
    isFIFO() { return this.#is(constants.S_IFIFO); }
    isSocket() { return this.#is(constants.S_IFSOCK); }
    isBlockDevice() { return this.#is(constants.S_IFBLK); }
    isCharacterDevice() { return this.#is(constants.S_IFCHR); }
}

class Dirent {
    #kind: string;
    constructor(public name: any, public parentPath: string, kind: string) {
        this.#kind = kind;
        Object.defineProperty(this, "path", { enumerable: true, configurable: true, writable: true, value: parentPath });
    }
    isFile() { return this.#kind === "file"; }
    isDirectory() { return this.#kind === "folder"; }
    isSymbolicLink() { return this.#kind === "link"; }
    isFIFO() { return this.#kind === "fifo"; }
    isSocket() { return this.#kind === "socket"; }
    isBlockDevice() { return this.#kind === "block"; }
    isCharacterDevice() { return this.#kind === "character"; }
}

function entries(found: [string, string][], path: string, options: any): any[] {
    const { basename, dirname, join } = require("path");
    const shown = (name: string) => (options.encoding === "buffer" ? bytes().from(name) : name);
    if (!options.withFileTypes) return found.map(([name]) => shown(name));
    return found.map(([name, kind]) => new Dirent(shown(basename(name)),
        name.includes("/") ? join(path, dirname(name)) : path, kind));
}

// ---------------------------------------------------------------- operations

/** The request for Rust, and what its answer means. */
type Operation = (...values: any[]) => [name: string, request: any, read?: (answer: any) => any];

const nothing = () => undefined;

const stat = (name: string): Operation => (path, options) =>
    [name, { path: pathOf(path) }, (answer) => new Stats(answer, options?.bigint)];

const named = (name: string): Operation => (path, options) => [name, { path: pathOf(path) }, (answer) =>
    (optionsOf(options).encoding === "buffer" ? bytes().from(answer) : answer)];

const operations: Record<string, Operation> = {
    readFile(path, options) {
        const { encoding, flag } = optionsOf(options);
        if (typeof path === "number" || typeof path?.fd === "number") return readOpen(path?.fd ?? path, encoding);
        const request = { path: pathOf(path), flag: flagsOf(flag, "r") };
        if (/^utf-?8$/i.test(encoding ?? "")) {
            return ["readText", request, (answer) => (typeof answer === "string" ? answer : native.text(answer.parcel))];
        }
        return ["readFile", request, (answer) => {
            const found = taken(answer);
            return encoding && encoding !== "buffer" ? found.toString(encoding) : found;
        }];
    },
    writeFile: (path, data, options) => writing(path, data, options, "w"),
    appendFile: (path, data, options) => writing(path, data, options, "a"),
    stat: stat("stat"),
    lstat: stat("lstat"),
    fstat: (fd, options) => ["fstat", { fd }, (answer) => new Stats(answer, options?.bigint)],
    access: (path, mode = 0) => ["access", { path: pathOf(path), mode }, nothing],
    readdir(path, options) {
        const settings = optionsOf(options);
        const text = pathOf(path);
        return ["readdir", { path: text, recursive: !!settings.recursive }, (found) => entries(found, text, settings)];
    },
    mkdir(path, options) {
        const settings = typeof options === "object" && options !== null ? options : { mode: options };
        return ["mkdir", { path: pathOf(path), recursive: !!settings.recursive, mode: modeOf(settings.mode) },
            (made) => made ?? undefined];
    },
    mkdtemp: (prefix) => ["mkdtemp", { path: pathOf(prefix, "prefix") }],
    rmdir: (path, options) => [options?.recursive ? "rm" : "rmdir",
        { path: pathOf(path), recursive: !!options?.recursive }, nothing],
    rm: (path, options) => ["rm",
        { path: pathOf(path), recursive: !!options?.recursive, force: !!options?.force }, nothing],
    unlink: (path) => ["unlink", { path: pathOf(path) }, nothing],
    rename: (from, to) => ["rename", { path: pathOf(from, "oldPath"), dest: pathOf(to, "newPath") }, nothing],
    copyFile: (from, to, mode = 0) => ["copyFile",
        { path: pathOf(from, "src"), dest: pathOf(to, "dest"), exclusive: (mode & 1) === 1 }, nothing],
    cp(from, to, options = {}) {
        const { recursive, force = true, errorOnExist, dereference, preserveTimestamps, filter } = options;
        if (filter) throw coded(Error, "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
            "the option filter of fs.cp is not served by the embedded engine");
        return ["cp", { path: pathOf(from, "src"), dest: pathOf(to, "dest"), recursive: !!recursive, force,
            errorOnExist, dereference, preserveTimestamps }, nothing];
    },
    symlink: (target, path) => ["symlink", { path: pathOf(target, "target"), dest: pathOf(path) }, nothing],
    link: (from, to) => ["link", { path: pathOf(from, "existingPath"), dest: pathOf(to, "newPath") }, nothing],
    readlink: named("readlink"),
    realpath: named("realpath"),
    chmod: (path, mode) => ["chmod", { path: pathOf(path), mode: modeOf(mode) }, nothing],
    lchmod: (path, mode) => ["chmod", { path: pathOf(path), mode: modeOf(mode) }, nothing],
    chown: (path, uid, gid) => ["chown", { path: pathOf(path), uid, gid }, nothing],
    lchown: (path, uid, gid) => ["chown", { path: pathOf(path), uid, gid }, nothing],
    utimes: (path, atime, mtime) => ["utimes",
        { path: pathOf(path), atime: seconds(atime), mtime: seconds(mtime) }, nothing],
    lutimes: (path, atime, mtime) => ["utimes",
        { path: pathOf(path), atime: seconds(atime), mtime: seconds(mtime) }, nothing],
    truncate: (path, length = 0) => ["truncate", { path: pathOf(path), length }, nothing],
    open: (path, flags, mode) => ["open",
        { path: pathOf(path), flag: flagsOf(flags, "r"), mode: modeOf(mode) }],
    close: (fd) => ["close", { fd }, nothing],
    ftruncate: (fd, length = 0) => ["ftruncate", { fd, length }, nothing],
    fsync: (fd) => ["fsync", { fd }, nothing],
    fdatasync: (fd) => ["fsync", { fd }, nothing],
    fchmod: (fd, mode) => ["fchmod", { fd, mode: modeOf(mode) }, nothing],
    futimes: (fd, atime, mtime) => ["futimes", { fd, atime: seconds(atime), mtime: seconds(mtime) }, nothing],
};

function writing(path: any, data: any, options: any, fallback: string): ReturnType<Operation> {
    const { encoding, flag, mode } = optionsOf(options);
    const fd = typeof path === "number" ? path : path?.fd;
    if (typeof fd === "number") return ["write", { fd, data: dataOf(data, encoding) }, nothing];
    const request = { path: pathOf(path), data: dataOf(data, encoding), flag: flagsOf(flag, fallback), mode: modeOf(mode) };
    return ["writeFile", request, nothing];
}

function readOpen(fd: number, encoding: any): ReturnType<Operation> {
    return ["read", { fd, length: 64 << 20 }, (answer) => {
        const found = taken(answer);
        return encoding && encoding !== "buffer" ? found.toString(encoding) : found;
    }];
}

function now(operation: Operation, values: any[]): any {
    const [name, request, read] = operation(...values);
    const answer = host.call(`fs.${name}`, request);
    return read ? read(answer) : answer;
}

async function soon(operation: Operation, values: any[]): Promise<any> {
    const [name, request, read] = operation(...values);
    const { signal } = values[values.length - 1] ?? {};
    if (signal?.aborted) throw aborted(signal);
    const answer = await host.callAsync(`fs.${name}`, request);
    // What was brought is taken even if nobody wants it any more, or it would lie there for ever.
    const result = read ? read(answer) : answer;
    if (signal?.aborted) throw aborted(signal);
    return result;
}

const fs: any = exports;
const promises: any = {};

function callbackOf(values: any[]): any {
    const callback = values.pop();
    if (typeof callback !== "function") throw argument("cb", "of type function", callback);
    return callback;
}

function answerTo(callback: any, work: Promise<any>): void {
    // The callback is called outside of the promise: what it throws is its own.
    work.then((value) => queueMicrotask(() => (value === undefined ? callback(null) : callback(null, value))),
        (error) => queueMicrotask(() => callback(error)));
}

for (const name of Object.keys(operations)) {
    const operation = operations[name];
    fs[`${name}Sync`] = (...values: any[]) => now(operation, values);
    promises[name] = (...values: any[]) => soon(operation, values);
    fs[name] = (...values: any[]) => {
        const callback = callbackOf(values);
        operation(...values);
        answerTo(callback, soon(operation, values));
    };
}

// ---------------------------------------------------------------- what is not like the others

for (const name of ["stat", "lstat"]) {
    const plain = fs[`${name}Sync`];
    fs[`${name}Sync`] = (path: any, options?: any) => {
        try {
            return plain(path, options);
        } catch (error: any) {
            if (options?.throwIfNoEntry === false && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined;
            throw error;
        }
    };
}
for (const name of ["realpath", "realpathSync"]) fs[name].native = fs[name];

fs.existsSync = (path: any): boolean => {
    try {
        return host.call("fs.exists", { path: pathOf(path) }) as boolean;
    } catch (error: any) {
        if (error.code === "ERR_ACCESS_DENIED") throw error;
        return false;
    }
};
fs.exists = (path: any, callback: any) => queueMicrotask(() => callback(fs.existsSync(path)));
fs.exists[Symbol.for("nodejs.util.promisify.custom")] = async (path: any) => fs.existsSync(path);

/** `read` and `write` take a buffer and a place in it, or an object of these. */
function place(buffer: any, values: any[]): { offset: number; length: number; position: number | null } {
    const [first, ...rest] = values;
    const given = first !== null && typeof first === "object" ? first : { offset: first, length: rest[0], position: rest[1] };
    const offset = given.offset ?? 0;
    const length = given.length ?? buffer.byteLength - offset;
    const position = typeof given.position === "bigint" ? Number(given.position) : given.position;
    return { offset, length, position: typeof position === "number" && position >= 0 ? position : null };
}

function readInto(buffer: any, offset: number, answer: any): number {
    const found = taken(answer);
    new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength).set(found, offset);
    return found.length;
}

function readRequest(fd: number, values: any[]): [any, any, number] {
    const buffer = ArrayBuffer.isView(values[0]) ? values.shift() : values[0]?.buffer ?? bytes().alloc(16384);
    const { offset, length, position } = place(buffer, values);
    return [buffer, { fd, length, position }, offset];
}

function writeRequest(fd: number, values: any[]): any {
    const [data, ...rest] = values;
    if (typeof data === "string") {
        return { fd, data: dataOf(data, rest[1]), position: typeof rest[0] === "number" ? rest[0] : null };
    }
    const { offset, length, position } = place(data, rest);
    const part = new Uint8Array(data.buffer, data.byteOffset + offset, length);
    return { fd, data: dataOf(part), position };
}

fs.readSync = (fd: number, ...values: any[]) => {
    const [buffer, request, offset] = readRequest(fd, values);
    return readInto(buffer, offset, host.call("fs.read", request));
};
fs.writeSync = (fd: number, ...values: any[]) => {
    if (fd !== 1 && fd !== 2) return host.call("fs.write", writeRequest(fd, values));
    const stream = fd === 1 ? process.stdout : process.stderr;
    stream.write(values[0]);
    return values[0].length;
};
fs.read = (fd: number, ...values: any[]) => {
    const callback = callbackOf(values);
    const [buffer, request, offset] = readRequest(fd, values);
    host.callAsync("fs.read", request).then((answer: any) => callback(null, readInto(buffer, offset, answer), buffer), callback);
};
fs.write = (fd: number, ...values: any[]) => {
    const callback = callbackOf(values);
    host.callAsync("fs.write", writeRequest(fd, values)).then((count: any) => callback(null, count, values[0]), callback);
};
fs.read[Symbol.for("nodejs.util.promisify.custom")] = (fd: number, ...values: any[]) => new FileHandle(fd).read(...values);

class FileHandle extends (require("events") as any) {
    constructor(public fd: number) { super(); }
    async read(...values: any[]) {
        const [buffer, request, offset] = readRequest(this.fd, values);
        return { bytesRead: readInto(buffer, offset, await host.callAsync("fs.read", request)), buffer };
    }
    async write(...values: any[]) {
        return { bytesWritten: await host.callAsync("fs.write", writeRequest(this.fd, values)), buffer: values[0] };
    }
    readFile(options?: any) { return promises.readFile(this, options); }
    writeFile(data: any, options?: any) { return promises.writeFile(this, data, options); }
    appendFile(data: any, options?: any) { return promises.appendFile(this, data, options); }
    stat(options?: any) { return promises.fstat(this.fd, options); }
    truncate(length?: number) { return promises.ftruncate(this.fd, length); }
    sync() { return promises.fsync(this.fd); }
    datasync() { return promises.fsync(this.fd); }
    chmod(mode: any) { return promises.fchmod(this.fd, mode); }
    utimes(atime: any, mtime: any) { return promises.futimes(this.fd, atime, mtime); }
    createReadStream(options: any = {}) { return fs.createReadStream("", { ...options, fd: this.fd }); }
    createWriteStream(options: any = {}) { return fs.createWriteStream("", { ...options, fd: this.fd }); }
    readLines(options: any = {}) {
        return require("readline").createInterface({ input: this.createReadStream(options), crlfDelay: Infinity });
    }
    async close() {
        if (this.fd < 0) return;
        const fd = this.fd;
        this.fd = -1;
        await promises.close(fd);
        this.emit("close");
    }
    [Symbol.asyncDispose ?? Symbol.for("asyncDispose")]() { return this.close(); }
}

/** What is to be written, in one piece: it may also come bit by bit. */
async function gathered(data: any, encoding: any): Promise<any> {
    const comes = typeof data !== "string" && !ArrayBuffer.isView(data)
        && (data?.[Symbol.asyncIterator] ?? data?.[Symbol.iterator]);
    if (!comes) return data;
    const pieces: any[] = [];
    for await (const piece of data) pieces.push(typeof piece === "string" ? bytes().from(piece, encoding) : piece);
    return bytes().concat(pieces);
}
for (const name of ["writeFile", "appendFile"]) {
    const write = promises[name];
    promises[name] = async (path: any, data: any, options?: any) =>
        write(path, await gathered(data, optionsOf(options).encoding), options);
}

const openFile = promises.open;
promises.open = async (path: any, flags?: any, mode?: any) => new FileHandle(await openFile(path, flags, mode));

class Dir {
    #left?: any[];
    constructor(public path: string) {}
    readSync() { return (this.#left ??= fs.readdirSync(this.path, { withFileTypes: true }) as any[]).shift() ?? null; }
    async read(callback?: any) {
        this.#left ??= await promises.readdir(this.path, { withFileTypes: true });
        const next = this.#left!.shift() ?? null;
        if (callback) callback(null, next);
        return next;
    }
    closeSync() {}
    async close(callback?: any) { callback?.(null); }
    async *[Symbol.asyncIterator]() {
        for (let next = await this.read(); next !== null; next = await this.read()) yield next;
    }
}

fs.opendirSync = (path: any) => { fs.readdirSync(path); return new Dir(pathOf(path)); };
promises.opendir = async (path: any) => { await promises.readdir(path); return new Dir(pathOf(path)); };
fs.opendir = (path: any, ...rest: any[]) => answerTo(callbackOf(rest), promises.opendir(path));

// ---------------------------------------------------------------- streams

/** Streams by what they do with a file, so that they can be told from others. */
function kindOfStream(make: "createReadStream" | "createWriteStream", name: string): any {
    const made = new WeakSet();
    const run = (...given: any[]) => {
        const stream = streams[make](...given);
        made.add(stream);
        return stream;
    };
    const Kind = { [name]: function (...given: any[]) { return run(...given); } }[name];
    Object.defineProperty(Kind, Symbol.hasInstance, { value: (one: any) => made.has(one) });
    fs[make] = run;
    return Kind;
}

const streams: Record<string, any> = {};

streams.createReadStream = (path: any, options?: any) => {
    const { Readable } = require("stream");
    const { fd, flags = "r", encoding, start, end = Infinity, autoClose = true, highWaterMark = 65536, signal } = optionsOf(options);
    let [handle, position] = [fd?.fd ?? fd, start];
    const opening = handle === undefined ? soon(operations.open, [path, flags]) : undefined;
    let left = end === Infinity ? Infinity : end - (start ?? 0) + 1;
    const stream = new Readable({
        highWaterMark, encoding, signal, autoDestroy: autoClose,
        async read(this: any) {
            try {
                handle ??= await opening;
                const length = Math.min(highWaterMark, left);
                const answer: any = length > 0 ? await host.callAsync("fs.read", { fd: handle, length, position }) : null;
                const found = answer && taken(answer);
                if (!found || found.length === 0) return this.push(null);
                if (position !== undefined) position += found.length;
                left -= found.length;
                this.bytesRead += found.length;
                this.push(found);
            } catch (error) {
                this.destroy(error);
            }
        },
        destroy(error: any, done: any) {
            if (handle === undefined || !autoClose) return done(error);
            soon(operations.close, [handle]).then(() => done(error), done);
        },
    });
    opening?.then((opened) => {
        handle = (stream as any).fd = opened;
        stream.emit("open", opened);
        stream.emit("ready");
    }, (error) => stream.destroy(error));
    return Object.assign(stream, { path, bytesRead: 0, close(done?: any) {
        if (done) stream.once("close", done);
        stream.destroy();
    } });
};

streams.createWriteStream = (path: any, options?: any) => {
    const { Writable } = require("stream");
    const { fd, flags = "w", encoding, start, mode, autoClose = true, highWaterMark, signal } = optionsOf(options);
    let [handle, position] = [fd?.fd ?? fd, start];
    let opening: any;
    const open = async () => {
        handle = await (opening ??= soon(operations.open, [path, flags, mode]));
        return handle;
    };
    const stream = new Writable({
        highWaterMark: highWaterMark ?? 16384, defaultEncoding: encoding ?? "utf8", signal, autoDestroy: autoClose,
        write(this: any, chunk: any, _: string, done: any) {
            Promise.resolve(handle ?? open()).then(async (fd) => {
                await host.callAsync("fs.write", { fd, data: dataOf(chunk), position });
                if (position !== undefined) position += chunk.length;
                this.bytesWritten += chunk.length;
            }).then(() => done(), done);
        },
        final(done: any) { Promise.resolve(handle ?? open()).then(() => done(), done); },
        destroy(error: any, done: any) {
            if (handle === undefined || !autoClose) return done(error);
            soon(operations.close, [handle]).then(() => done(error), done);
        },
    });
    if (handle === undefined) {
        open().then((fd) => { (stream as any).fd = fd; stream.emit("open", fd); stream.emit("ready"); },
            (error) => stream.destroy(error));
    }
    return Object.assign(stream, { path, bytesWritten: 0, close(done?: any) {
        if (done) stream.once("close", done);
        if (stream.writableFinished) stream.destroy();
        else stream.end();
    } });
};

// ---------------------------------------------------------------- watching

class FSWatcher extends (require("events") as any) {
    #id: any;
    constructor(path: string, recursive: boolean) {
        super();
        this.#id = host.call("fs.watchStart", { path, recursive });
        this.#watch();
    }
    async #watch() {
        while (this.#id !== undefined) {
            const changes: any = await host.callAsync("fs.watchNext", { id: this.#id });
            for (const [kind, name] of this.#id === undefined ? [] : changes ?? []) this.emit("change", kind, name);
            if (changes === null) break;
        }
    }
    close() {
        if (this.#id === undefined) return;
        host.call("fs.watchStop", { id: this.#id });
        this.#id = undefined;
        queueMicrotask(() => this.emit("close"));
    }
    ref() { return this; }
    unref() { return this; }
}

fs.watch = (path: any, options?: any, listener?: any) => {
    if (typeof options === "function") [options, listener] = [{}, options];
    const { recursive = false, signal } = optionsOf(options);
    const watcher: any = new FSWatcher(pathOf(path, "filename"), recursive);
    if (listener) watcher.on("change", listener);
    signal?.addEventListener("abort", () => watcher.close(), { once: true });
    return watcher;
};
promises.watch = async function* (path: any, options: any = {}) {
    const watcher = fs.watch(path, options);
    const changes = require("events").on(watcher, "change", { signal: options?.signal, close: ["close"] });
    try {
        for await (const [eventType, filename] of changes) yield { eventType, filename };
    } finally {
        watcher.close();
    }
};

const polled = new Map<string, any>();
const absent = () => new Stats({
    dev: 0, ino: 0, mode: 0, nlink: 0, uid: 0, gid: 0, rdev: 0, size: 0, blksize: 0, blocks: 0, atimeMs: 0, mtimeMs: 0,
    ctimeMs: 0, birthtimeMs: 0,
});

fs.watchFile = (path: any, options: any, listener?: any) => {
    if (typeof options === "function") [options, listener] = [{}, options];
    const name = require("path").resolve(pathOf(path, "filename"));
    let watcher = polled.get(name);
    if (watcher === undefined) {
        watcher = new (require("events") as any)();
        const look = () => fs.statSync(name, { throwIfNoEntry: false }) ?? absent();
        let before = look();
        watcher.timer = setInterval(() => {
            const found = look();
            if (found.mtimeMs !== before.mtimeMs || found.size !== before.size || found.ino !== before.ino) {
                const last = before;
                before = found;
                watcher.emit("change", found, last);
            }
        }, options?.interval ?? 5007);
        polled.set(name, watcher);
    }
    watcher.on("change", listener);
    return watcher;
};
fs.unwatchFile = (path: any, listener?: any) => {
    const name = require("path").resolve(pathOf(path, "filename"));
    const watcher = polled.get(name);
    if (listener) watcher?.removeListener("change", listener);
    else watcher?.removeAllListeners("change");
    if (watcher?.listenerCount("change") === 0) {
        clearInterval(watcher.timer);
        polled.delete(name);
    }
};

const ReadStream = kindOfStream("createReadStream", "ReadStream");
const WriteStream = kindOfStream("createWriteStream", "WriteStream");

delete fs.lchmod;
delete fs.lchmodSync;
for (const name of ["close", "fstat", "ftruncate", "fsync", "fdatasync", "fchmod", "futimes"]) {
    Object.defineProperty(promises, name, { enumerable: false, value: promises[name] });
}
Object.assign(promises, { constants });
Object.assign(fs, { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 }, {
    constants, Stats, Dirent, Dir, FSWatcher, promises, ReadStream, WriteStream, FileReadStream: ReadStream,
    FileWriteStream: WriteStream,
});
