// What runs in Node (or Bun) beside becket: it holds extensions that the embedded engine cannot serve.
//
// Three pipes lead here. Calls come by the first, in lines whose parts are separated by tabs; what this process has to
// say goes out by the second. A question that must be answered at once goes out the same way, and its answer is read
// from the third, with everything standing still meanwhile. Standard output and error belong to the extensions.
//
// All extensions live in one process and can change whatever is built in, so the functions that this file needs are
// kept before the first of them is loaded.

const { AsyncLocalStorage } = require("node:async_hooks");
const { Console } = require("node:console");
const { createReadStream, readSync, writeSync } = require("node:fs");
const { Socket } = require("node:net");
const { availableParallelism } = require("node:os");
const { Writable } = require("node:stream");

/** What `modules.cts` exports. */
declare const loader: any;
const { Modules } = loader;

for (const name of ["require", "module", "exports", "__filename", "__dirname"]) delete (globalThis as any)[name];

const { parse, stringify } = JSON;
const { defineProperty, keys } = Object;
const { exit } = process;
const [callsPipe, wordsPipe, answersPipe] = process.argv.slice(2).map(Number);
process.argv.length = 1;

type Service = (value: any) => unknown;
type Waiting = { resolve: (value: unknown) => void; reject: (error: unknown) => void; error: Error };

/** One extension: what it keeps for becket, and what it waits for. */
class Guest {
    readonly handlers = new Map<number, Service>();
    readonly services = new Map<string, Service>();
    readonly waiting = new Map<number, Waiting>();
    readonly modules: any;
    lastHandler = 0;
    lastCall = 0;

    constructor(readonly id: number, readonly entry: string) {
        const find = (what: string, words: string) => ask(`${what}\t${id}\t${words}`);
        this.modules = new Modules(entry, this.becket(), find);
    }

    /** What the prelude and the packages that becket brings find as `__becket`. */
    becket(): Record<string, unknown> {
        const line = (name: string, value: unknown) => `call\t${this.id}\t${stringify(name)}\t${write(value)}`;
        return Object.freeze({
            host: Object.freeze({
                call: (name: string, value?: unknown) => read(ask(line(name, value))),
                callAsync: (name: string, value?: unknown) => this.callAsync(name, value),
            }),
            keep: (handler: Service) => this.keep(handler),
            drop: (id: number) => void this.handlers.delete(id),
            services: this.services,
            load: (name: string) => this.modules.load(name),
            native: Object.freeze({
                described: (error: unknown) => read(ask(`describe\t${this.id}\t${stringify(told(error))}`)),
            }),
        });
    }

    keep(handler: Service): number {
        if (typeof handler !== "function") throw new TypeError("a handler must be a function");
        this.handlers.set(++this.lastHandler, handler);
        return this.lastHandler;
    }

    callAsync(name: string, value: unknown): Promise<unknown> {
        const error = new Error();
        return new Promise((resolve, reject) => {
            const id = ++this.lastCall;
            say(`later\t${this.id}\t${id}\t${stringify(name)}\t${write(value)}`);
            this.waiting.set(id, { resolve, reject, error });
        });
    }

    settle(id: number, answered: boolean, text: string): void {
        const call = this.waiting.get(id);
        if (call === undefined) return;
        this.waiting.delete(id);
        if (answered) call.resolve(read(text));
        else call.reject(failure(call.error, text));
    }
}

const guests = new Map<number, Guest>();
/** Whose code runs, also after it has waited for something. */
const running = new AsyncLocalStorage();

// -------------------------------------------------------------------- words

function read(text: string | undefined): unknown {
    return text === undefined || text === "" ? undefined : parse(text);
}

function write(value: unknown): string {
    return (value === undefined ? undefined : stringify(value)) ?? "null";
}

/** Fills an error with what becket says. It was made where the author's code asked, so it names that line. */
function failure(error: any, text: string): Error {
    const properties = parse(text);
    for (const name of keys(properties)) {
        const value = properties[name];
        if (name === "message") defineProperty(error, name, { value, configurable: true, writable: true });
        else error[name] = value;
    }
    return error;
}

/** Says one line. Whoever reads it may be slow; then this process waits. */
function say(line: string): void {
    let bytes = Buffer.from(`${line}\n`);
    while (bytes.length > 0) bytes = bytes.subarray(writeSync(wordsPipe, bytes));
}

const chunk = Buffer.allocUnsafe(1 << 16);

/** Asks becket, and stands still until the answer is there. Throws what becket refuses with. */
function ask(line: string): string {
    say(line);
    const pieces: Buffer[] = [];
    for (;;) {
        const count = readSync(answersPipe, chunk, 0, chunk.length, null);
        if (count === 0) leave();
        const ends = chunk[count - 1] === 10;
        pieces.push(Buffer.from(chunk.subarray(0, ends ? count - 1 : count)));
        if (ends) break;
    }
    const answer = (pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)).toString();
    const text = answer.slice(1);
    if (answer[0] === "+") return text;
    throw failure(new Error(), text);
}

let over = false;

/** becket is gone, and nobody is left to work for. */
function leave(): never {
    over = true;
    return exit(0);
}

// -------------------------------------------------------------------- errors

/** Frames of a stack with the places as the author wrote them. */
function placed(frames: string): string {
    try {
        return frames.includes("    at ") ? parse(ask(`places\t0\t${stringify(frames)}`)) : frames;
    } catch {
        return frames;
    }
}

const { toString } = Error.prototype;
const { apply } = Reflect;

// Node makes the text of a stack when somebody first reads it. Bun makes it at once, so it is mended on its way out.
const late = process.versions.bun ? placed : (text: string) => text;
if (!process.versions.bun) {
    (Error as any).prepareStackTrace = (error: unknown, sites: unknown[]) => {
        let head = "Error";
        try {
            head = apply(toString, error as object, []);
        } catch {
            // Its name or its message throws.
        }
        let frames = "";
        for (const site of sites) frames += `\n    at ${site}`;
        return head + placed(frames);
    };
}

type Told = { words: string; message?: string; stack?: string; causes?: Told[]; errors?: Told[] };

/** A thrown value for people. Everything that is read here belongs to a script: it may be missing, lie, or throw. */
function told(thrown: any, depth = 0): Told {
    try {
        if (typeof thrown === "string") return { words: thrown };
        if (typeof thrown?.message !== "string") return { words: `${shown(thrown)} was thrown, which is not an error` };
        const { message, name, stack, cause, errors } = thrown;
        const named = typeof name === "string" && name !== "" && name !== "Error";
        const words = named ? (message === "" ? name : `${name}: ${message}`) : message || "an error without a message";
        const deeper = depth < 4;
        return {
            words: String(words),
            message,
            stack: typeof stack === "string" ? late(stack) : undefined,
            causes: deeper && cause !== undefined ? [told(cause, depth + 1)] : undefined,
            errors: deeper && Array.isArray(errors) ? errors.slice(0, 4).map((one) => told(one, depth + 1)) : undefined,
        };
    } catch {
        return { words: "something was thrown that cannot be shown" };
    }
}

function shown(value: unknown): string {
    return (typeof value === "object" && value !== null ? stringify(value) : undefined) ?? String(value);
}

// -------------------------------------------------------------------- calls of becket's

/** The JSON of an answer; nothing for what JSON does not know. */
function written(value: unknown, what: string): string {
    if (value === undefined) return "";
    try {
        return stringify(value) ?? "";
    } catch (error) {
        throw new TypeError(`${what} cannot be written as JSON: ${(error as any)?.message ?? "it throws"}`);
    }
}

/** Begins a call, and answers it when its promise is settled. */
function answer(id: string, begin: () => unknown, finish: (value: unknown) => string): void {
    const fail = (error: unknown) => say(`fail\t${id}\t${stringify(told(error))}`);
    const end = (value: unknown) => {
        try {
            say(`done\t${id}\t${finish(value)}`);
        } catch (error) {
            fail(error);
        }
    };
    try {
        const value: any = begin();
        if (value !== null && typeof value === "object" && typeof value.then === "function") {
            void (async () => value)().then(end, fail);
        } else {
            end(value);
        }
    } catch (error) {
        fail(error);
    }
}

/** A large field, which becket is asked for when somebody looks at it. */
function offer(event: any, name: string, load: () => unknown): void {
    const become = (value: unknown) => {
        defineProperty(event, name, { configurable: true, enumerable: true, writable: true, value });
        return value;
    };
    defineProperty(event, name, { configurable: true, enumerable: true, get: () => become(load()), set: become });
}

/** Calls a kept function with an event, and looks afterwards which of its mutable fields it has changed. */
function fire(guest: Guest, [id, number, text, mutable, large]: string[]): void {
    const event = parse(text);
    const before: Record<string, string> = { __proto__: null } as any;
    const counts: string[] = parse(mutable);
    for (const name of counts) before[name] = stringify(event[name]) ?? "null";
    for (const name of parse(large) as string[]) {
        offer(event, name, () => {
            const value = parse(ask(`field\t${guest.id}\t${id}\t${stringify(name)}`));
            before[name] = stringify(value);
            return value;
        });
    }
    const finish = (value: unknown) => {
        let line = written(value, "what the handler returned");
        for (const name of counts) {
            if (Object.getOwnPropertyDescriptor(event, name)?.get) continue;
            const now = written(event[name], name) || "null";
            if (now !== before[name]) line += `\t${stringify(name)}\t${now}`;
        }
        return line;
    };
    const handler = guest.handlers.get(Number(number));
    answer(id, () => handler?.(event), finish);
}

function invoke(guest: Guest, [id, name, text]: string[]): void {
    const service = guest.services.get(parse(name));
    const begin = () => {
        if (service === undefined) throw new Error(`there is no function ${parse(name)}`);
        return service(read(text));
    };
    answer(id, begin, (value) => written(value, "what it gave back"));
}

/** Loads an extension: the prelude is given all that its module exports. */
async function load(guest: Guest, prelude: string): Promise<void> {
    const { default: start } = await guest.modules.import(prelude);
    await start(await guest.modules.import(guest.entry));
}

/** Does what a line asks for. What an extension throws is told to whoever asked, so nothing is thrown here. */
function obey(line: string): void {
    const [what, number, ...parts] = line.split("\t");
    const id = Number(number);
    switch (what) {
        case "load": {
            const guest = new Guest(id, parse(parts[2]));
            guests.set(id, guest);
            return running.run(id, () => answer(parts[0], () => load(guest, parse(parts[1])), () => ""));
        }
        case "forget":
            return void guests.delete(id);
        case "ping":
            return say("pong");
    }
    const guest = guests.get(id);
    if (guest === undefined) return;
    if (what === "fire") running.run(id, fire, guest, parts);
    else if (what === "invoke") running.run(id, invoke, guest, parts);
    else if (what === "settle") guest.settle(Number(parts[0]), parts[1] === "+", parts[2]);
}

// -------------------------------------------------------------------- what extensions print

function print(error: boolean, text: string): void {
    const lines = text.endsWith("\n") ? text.slice(0, -1) : text;
    say(`print\t${running.getStore() ?? 0}\t${error ? "!" : "."}\t${stringify(late(lines))}`);
}

function stream(error: boolean): any {
    return new Writable({
        decodeStrings: false,
        write(chunk: any, _: string, done: () => void) {
            print(error, typeof chunk === "string" ? chunk : Buffer.from(chunk).toString());
            done();
        },
    });
}

const console = new Console({ stdout: stream(false), stderr: stream(true) });
defineProperty(globalThis, "console", { value: console, configurable: true, writable: true });
process.stdout.write = (text: any) => (print(false, String(text)), true);
process.stderr.write = (text: any) => (print(true, String(text)), true);

// -------------------------------------------------------------------- what only newer versions of Node have

if (!("navigator" in globalThis)) {
    const [version] = process.versions.node.split(".");
    const value = {
        userAgent: `Node.js/${version}`, language: "en-US", languages: ["en-US"], platform: process.platform,
        hardwareConcurrency: availableParallelism(),
    };
    defineProperty(globalThis, "navigator", { value, configurable: true, writable: true });
}

// -------------------------------------------------------------------- what nobody waits for

function report(how: string, error: unknown): void {
    say(`report\t${running.getStore() ?? 0}\t${stringify(how)}\t${stringify(told(error))}`);
}

process.on("uncaughtException", (error: unknown) => report("", error));
process.on("unhandledRejection", (error: unknown) => report("a rejected promise was not handled: ", error));
process.on("exit", (code: number) => {
    if (!over) say(`bye\t${running.getStore() ?? 0}\t${code}`);
});

// -------------------------------------------------------------------- the first pipe

let rest = "";
const decoder = new TextDecoder();

function hear(bytes: Buffer): void {
    let seen = rest.length;
    rest += decoder.decode(bytes, { stream: true });
    for (let end = rest.indexOf("\n", seen); end >= 0; end = rest.indexOf("\n", seen)) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 1);
        seen = 0;
        obey(line);
    }
}

// Bun reads pipes as files only.
const calls = process.versions.bun
    ? createReadStream("", { fd: callsPipe })
    : new Socket({ fd: callsPipe, readable: true, writable: false });
calls.on("data", hear);
calls.on("close", leave);
say("hello");
