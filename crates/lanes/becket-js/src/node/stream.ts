// Streams, as far as files, programs, lines and answers of the network need them.

const EventEmitter = require("events");
const { coded, argument, aborted } = require("internal/errors");

const later = (run: () => void) => queueMicrotask(run);

function bytesOf(chunk: any, encoding: any): any {
    return typeof chunk === "string" ? require("buffer").Buffer.from(chunk, encoding)
        : Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

function defaultMark(objectMode: boolean): number {
    return objectMode ? 16 : 64 * 1024;
}

// ---------------------------------------------------------------- what all streams share

function Stream(this: any, options?: any): void {
    (EventEmitter as any).call(this, options);
}
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);

function install(type: any, methods: object): void {
    const fields: any = Object.getOwnPropertyDescriptors(methods);
    for (const name of Reflect.ownKeys(fields)) fields[name].enumerable = false;
    Object.defineProperties(type.prototype, fields);
}

function prepare(stream: any, options: any): void {
    for (const name of ["read", "write", "writev", "final", "destroy", "transform", "flush", "construct"]) {
        if (typeof options?.[name] === "function") stream[`_${name}`] = options[name];
    }
    stream.destroyed = false;
    stream.closed = false;
    stream.errored = null;
    Object.defineProperty(stream, "_autoDestroy", { writable: true, value: options?.autoDestroy !== false });
    Object.defineProperty(stream, "_emitClose", { writable: true, value: options?.emitClose !== false });
    const { signal } = options ?? {};
    if (signal?.aborted) later(() => stream.destroy(aborted(signal)));
    else signal?.addEventListener("abort", () => stream.destroy(aborted(signal)), { once: true });
}

const shared = {
    destroy(this: any, error?: any) {
        if (this.destroyed) return this;
        this.destroyed = true;
        if (error) this.errored = error;
        const done = (problem?: any) => {
            const failed = problem ?? error;
            later(() => {
                if (failed) {
                    this.errored = failed;
                    this.emit("error", failed);
                }
                this.closed = true;
                if (this._emitClose) this.emit("close");
            });
        };
        if (typeof this._destroy === "function") this._destroy(error ?? null, done);
        else done();
        return this;
    },
    [Symbol.asyncDispose ?? Symbol.for("asyncDispose")](this: any) {
        this.destroy();
        return Promise.resolve();
    },
};

// ---------------------------------------------------------------- reading

function Readable(this: any, options: any = {}): void {
    if (!(this instanceof Readable)) return new (Readable as any)(options);
    (Stream as any).call(this, options);
    prepare(this, options);
    readableState(this, options);
}
Object.setPrototypeOf(Readable.prototype, Stream.prototype);
Object.setPrototypeOf(Readable, Stream);

function readableState(stream: any, options: any): void {
    const objectMode = !!(options?.objectMode || options?.readableObjectMode);
    const value = {
        buffer: [] as any[], length: 0, objectMode, mark: options?.readableHighWaterMark ?? options?.highWaterMark
            ?? defaultMark(objectMode), flowing: null as boolean | null, ended: false, endEmitted: false, reading: false,
        decoder: null as any, scheduled: false, pipes: [] as any[], needReadable: false,
    };
    Object.defineProperty(stream, "_readableState", { value });
    stream.readable = true;
    if (options?.encoding) stream.setEncoding(options.encoding);
}

function sizeOf(state: any, chunk: any): number {
    return state.objectMode ? 1 : chunk.length;
}

/** Hands on what there is: to listeners of `data` if it flows, else by `readable`. */
function pump(stream: any): void {
    const state = stream._readableState;
    if (state.scheduled) return;
    state.scheduled = true;
    later(() => {
        state.scheduled = false;
        if (stream.destroyed) return;
        while (state.flowing && state.buffer.length > 0) {
            const chunk = state.buffer.shift();
            state.length -= sizeOf(state, chunk);
            stream.emit("data", chunk);
        }
        if (state.flowing === null || state.flowing === false) {
            if (stream.listenerCount("readable") > 0 && (state.buffer.length > 0 || state.ended)) stream.emit("readable");
        }
        finishReading(stream);
        more(stream);
    });
}

function finishReading(stream: any): void {
    const state = stream._readableState;
    if (!state.ended || state.buffer.length > 0 || state.endEmitted) return;
    if (state.flowing !== true && stream.listenerCount("readable") === 0 && !state.asked) return;
    state.endEmitted = true;
    stream.readable = false;
    stream.emit("end");
    if (!stream._autoDestroy) return;
    const writing = stream._writableState;
    if (!writing || writing.finished) stream.destroy();
    else if (stream.allowHalfOpen === false) stream.end();
}

/** Asks the source for more, if there is room. */
function more(stream: any): void {
    const state = stream._readableState;
    if (state.reading || state.ended || stream.destroyed || state.length >= state.mark && state.mark > 0) return;
    if (state.flowing !== true && stream.listenerCount("readable") === 0 && !state.asked) return;
    state.reading = true;
    try {
        stream._read(state.mark);
    } catch (error) {
        stream.destroy(error);
    }
}

const reading = {
    _read(this: any) {
        throw coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _read() method is not implemented");
    },
    push(this: any, given: any, encoding?: any): boolean {
        const state = this._readableState;
        state.reading = false;
        let chunk = given;
        if (chunk === null) {
            if (state.ended) return false;
            const rest = state.decoder?.end();
            if (rest) { state.buffer.push(rest); state.length += rest.length; }
            state.ended = true;
            pump(this);
            return false;
        }
        if (state.ended) {
            this.destroy(coded(Error, "ERR_STREAM_PUSH_AFTER_EOF", "stream.push() after EOF"));
            return false;
        }
        if (!state.objectMode) {
            if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) {
                this.destroy(argument("chunk", "of type string or an instance of Buffer or Uint8Array", chunk));
                return false;
            }
            if (typeof chunk === "string") {
                chunk = bytesOf(chunk, encoding ?? "utf8");
            } else if (!Buffer.isBuffer(chunk)) chunk = bytesOf(chunk, undefined);
            if (state.decoder) chunk = state.decoder.write(chunk);
        }
        if (state.objectMode || chunk.length > 0) {
            state.buffer.push(chunk);
            state.length += sizeOf(state, chunk);
        }
        pump(this);
        return state.length < state.mark;
    },
    unshift(this: any, chunk: any) {
        const state = this._readableState;
        const value = !state.objectMode && typeof chunk === "string" && !state.decoder ? bytesOf(chunk, "utf8") : chunk;
        state.buffer.unshift(value);
        state.length += sizeOf(state, value);
        pump(this);
    },
    read(this: any, size?: number): any {
        const state = this._readableState;
        if (state.buffer.length === 0 || (size !== undefined && size > state.length && !state.ended)) {
            state.asked = true;
            more(this);
            if (state.ended) pump(this);
            return null;
        }
        let chunk: any;
        if (state.objectMode) chunk = state.buffer.shift();
        else {
            const all = state.decoder ? state.buffer.join("") : state.buffer.length === 1 ? state.buffer[0]
                : Buffer.concat(state.buffer);
            const count = size === undefined ? all.length : Math.min(size, all.length);
            chunk = count === all.length ? all : all.slice(0, count);
            state.buffer = count === all.length ? [] : [all.slice(count)];
        }
        state.length -= sizeOf(state, chunk);
        if (state.ended && state.buffer.length === 0) state.asked = true;
        pump(this);
        return chunk;
    },
    on(this: any, name: string, listener: any) {
        const state = this._readableState;
        (EventEmitter as any).prototype.on.call(this, name, listener);
        if (name === "data" && state.flowing !== false) this.resume();
        else if (name === "readable") {
            if (state.flowing === null) state.flowing = false;
            pump(this);
        }
        return this;
    },
    addListener(this: any, name: string, listener: any) { return this.on(name, listener); },
    resume(this: any) {
        this._readableState.flowing = true;
        pump(this);
        return this;
    },
    pause(this: any) {
        this._readableState.flowing = false;
        return this;
    },
    isPaused(this: any) { return this._readableState.flowing === false; },
    setEncoding(this: any, encoding: string) {
        const state = this._readableState;
        state.decoder = new (require("string_decoder").StringDecoder)(encoding);
        state.buffer = state.buffer.map((chunk: any) => state.decoder.write(chunk)).filter((text: string) => text !== "");
        state.length = state.buffer.join("").length;
        return this;
    },
    pipe(this: any, target: any, options: any = {}) {
        const data = (chunk: any) => { if (target.write(chunk) === false) this.pause(); };
        const drain = () => this.resume();
        const end = () => { if (options.end !== false) target.end(); };
        this._readableState.pipes.push({ target, data, drain, end });
        this.on("data", data);
        target.on("drain", drain);
        this.once("end", end);
        target.once("close", () => this.unpipe(target));
        target.emit("pipe", this);
        return target;
    },
    unpipe(this: any, target?: any) {
        const state = this._readableState;
        for (const pipe of state.pipes.filter((one: any) => !target || one.target === target)) {
            this.removeListener("data", pipe.data);
            this.removeListener("end", pipe.end);
            pipe.target.removeListener("drain", pipe.drain);
            pipe.target.emit("unpipe", this);
        }
        state.pipes = state.pipes.filter((one: any) => target && one.target !== target);
        return this;
    },
    get readableEnded() { return (this as any)._readableState?.endEmitted ?? false; },
    get readableFlowing() { return (this as any)._readableState?.flowing ?? null; },
    get readableLength() { return (this as any)._readableState?.length ?? 0; },
    get readableHighWaterMark() { return (this as any)._readableState?.mark; },
    get readableObjectMode() { return (this as any)._readableState?.objectMode; },
    get readableEncoding() { return (this as any)._readableState?.decoder?.encoding ?? null; },
    get readableDidRead() { return (this as any)._readableState?.flowing !== null; },
    get readableAborted() { return (this as any).destroyed && !(this as any).readableEnded; },
    async *[Symbol.asyncIterator](this: any) {
        const state = this._readableState;
        let problem: any;
        let wake = () => {};
        const woken = () => wake();
        const failed = (error: any) => { problem = { error }; wake(); };
        this.on("readable", woken).on("end", woken).on("close", woken).on("error", failed);
        try {
            for (;;) {
                if (problem) throw problem.error;
                if (this.errored) throw this.errored;
                const chunk = this.destroyed ? null : this.read();
                if (chunk !== null) yield chunk;
                else if (state.endEmitted) return;
                else if (this.destroyed) {
                    throw this.errored ?? coded(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close");
                } else await new Promise<void>((done) => { wake = done; });
            }
        } finally {
            this.removeListener("error", failed);
            for (const name of ["readable", "end", "close"]) this.removeListener(name, woken);
            if (!state.endEmitted || problem) this.on("error", () => {}).destroy();
        }
    },
    iterator(this: any) { return this[Symbol.asyncIterator](); },
    async toArray(this: any) {
        const all = [];
        for await (const chunk of this) all.push(chunk);
        return all;
    },
    map(this: any, run: any) {
        const source = this;
        return from((async function* () { for await (const chunk of source) yield await run(chunk); })());
    },
    filter(this: any, run: any) {
        const source = this;
        return from((async function* () { for await (const chunk of source) if (await run(chunk)) yield chunk; })());
    },
    async forEach(this: any, run: any) { for await (const chunk of this) await run(chunk); },
    wrap(this: any, old: any) {
        old.on("data", (chunk: any) => this.push(chunk));
        old.on("end", () => this.push(null));
        old.on("error", (error: any) => this.destroy(error));
        this._read = () => {};
        return this;
    },
};
install(Readable, { ...shared });
Object.defineProperties(Readable.prototype, Object.getOwnPropertyDescriptors(reading));

function from(source: any, options: any = {}): any {
    if (typeof source === "string" || source instanceof Uint8Array) {
        return new (Readable as any)({ objectMode: true, ...options, read(this: any) { this.push(source); this.push(null); } });
    }
    const iterator = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]?.();
    if (!iterator) throw argument("iterable", "an instance of Iterable", source);
    return new (Readable as any)({
        objectMode: true, ...options,
        async read(this: any) {
            try {
                const { value, done } = await iterator.next();
                this.push(done ? null : await value);
            } catch (error) {
                this.destroy(error);
            }
        },
        destroy(this: any, error: any, done: any) {
            Promise.resolve(iterator.return?.()).then(() => done(error), done);
        },
    });
}
Object.assign(Readable, {
    from,
    fromWeb(web: any, options: any = {}) {
        const reader = web.getReader();
        return new (Readable as any)({
            ...options,
            async read(this: any) {
                try {
                    const { value, done } = await reader.read();
                    this.push(done ? null : value);
                } catch (error) {
                    this.destroy(error);
                }
            },
            destroy(error: any, done: any) { reader.cancel(error).then(() => done(error), () => done(error)); },
        });
    },
    toWeb(stream: any) {
        const iterator = stream[Symbol.asyncIterator]();
        return new ReadableStream({
            async pull(control: any) {
                const { value, done } = await iterator.next();
                if (done) control.close();
                else control.enqueue(value);
            },
            async cancel() { await iterator.return(); },
        });
    },
    isDisturbed: (stream: any) => stream.readableDidRead,
});

// ---------------------------------------------------------------- writing

function Writable(this: any, options: any = {}): void {
    if (!(this instanceof Writable) && !(this as any)?._readableState) return new (Writable as any)(options);
    (Stream as any).call(this, options);
    prepare(this, options);
    writableState(this, options);
}
Object.setPrototypeOf(Writable.prototype, Stream.prototype);
Object.setPrototypeOf(Writable, Stream);

function writableState(stream: any, options: any): void {
    const objectMode = !!(options?.objectMode || options?.writableObjectMode);
    const value = {
        buffer: [] as any[], length: 0, objectMode, mark: options?.writableHighWaterMark ?? options?.highWaterMark
            ?? defaultMark(objectMode), writing: false, ending: false, finished: false, needDrain: false, corked: 0,
        decodeStrings: options?.decodeStrings !== false, encoding: options?.defaultEncoding ?? "utf8", finalCalled: false,
    };
    Object.defineProperty(stream, "_writableState", { value });
    stream.writable = true;
}

function writeNext(stream: any): void {
    const state = stream._writableState;
    if (state.writing || state.corked > 0 || stream.destroyed) return;
    const next = state.buffer.shift();
    if (next === undefined) return finishWriting(stream);
    state.writing = true;
    let answered = false;
    const done = (error?: any) => {
        if (answered) return;
        answered = true;
        state.writing = false;
        state.length -= next.size;
        if (error) {
            next.callback?.(error);
            for (const rest of state.buffer.splice(0)) rest.callback?.(error);
            stream.destroy(error);
            return;
        }
        later(() => {
            next.callback?.(null);
            if (state.needDrain && state.length === 0 && !state.ending && !stream.destroyed) {
                state.needDrain = false;
                stream.emit("drain");
            }
            writeNext(stream);
        });
    };
    try {
        if (stream._writev && state.buffer.length > 0 && !stream._write) stream._writev([next], done);
        else stream._write(next.chunk, next.encoding, done);
    } catch (error) {
        done(error);
    }
}

function finishWriting(stream: any): void {
    const state = stream._writableState;
    if (!state.ending || state.finalCalled || state.writing || state.buffer.length > 0) return;
    state.finalCalled = true;
    const done = (error?: any) => {
        if (error) return stream.destroy(error);
        later(() => {
            if (stream.destroyed && stream.errored) return;
            state.finished = true;
            stream.emit("finish");
            const other = stream._readableState;
            if (stream._autoDestroy && (!other || other.endEmitted)) stream.destroy();
        });
    };
    try {
        if (typeof stream._final === "function") stream._final(done);
        else done();
    } catch (error) {
        stream.destroy(error);
    }
}

const writing = {
    _write(this: any, chunk: any, encoding: string, done: any) {
        if (this._writev) return this._writev([{ chunk, encoding }], done);
        throw coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _write() method is not implemented");
    },
    write(this: any, given: any, encoding?: any, callback?: any): boolean {
        const state = this._writableState;
        if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
        let chunk = given;
        if (chunk === null) throw coded(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
        if (!state.objectMode && typeof chunk !== "string" && !ArrayBuffer.isView(chunk)) {
            throw argument("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk);
        }
        const problem = state.ending ? coded(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end")
            : this.destroyed ? coded(Error, "ERR_STREAM_DESTROYED", "Cannot call write after a stream was destroyed") : null;
        if (problem) {
            later(() => callback?.(problem));
            if (!this.destroyed) this.destroy(problem);
            return false;
        }
        let name = encoding ?? state.encoding;
        if (!state.objectMode && (typeof chunk !== "string" || state.decodeStrings)) {
            chunk = bytesOf(chunk, name);
            name = "buffer";
        }
        const size = state.objectMode ? 1 : chunk.length;
        state.length += size;
        state.buffer.push({ chunk, encoding: name, callback, size });
        const room = state.length < state.mark;
        if (!room) state.needDrain = true;
        writeNext(this);
        return room;
    },
    end(this: any, chunk?: any, encoding?: any, callback?: any) {
        if (typeof chunk === "function") [chunk, encoding, callback] = [undefined, undefined, chunk];
        else if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
        if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
        const state = this._writableState;
        state.corked = 0;
        if (callback) {
            if (state.finished) later(callback);
            else this.once("finish", callback);
        }
        if (!state.ending) {
            state.ending = true;
            this.writable = false;
            writeNext(this);
        }
        return this;
    },
    cork(this: any) { this._writableState.corked++; },
    uncork(this: any) {
        const state = this._writableState;
        if (state.corked > 0) state.corked--;
        if (state.corked === 0) writeNext(this);
    },
    setDefaultEncoding(this: any, encoding: string) { this._writableState.encoding = encoding; return this; },
    get writableEnded() { return (this as any)._writableState?.ending ?? false; },
    get writableFinished() { return (this as any)._writableState?.finished ?? false; },
    get writableLength() { return (this as any)._writableState?.length ?? 0; },
    get writableHighWaterMark() { return (this as any)._writableState?.mark; },
    get writableObjectMode() { return (this as any)._writableState?.objectMode; },
    get writableNeedDrain() { return (this as any)._writableState?.needDrain ?? false; },
    get writableCorked() { return (this as any)._writableState?.corked ?? 0; },
};
install(Writable, { ...shared });
Object.defineProperties(Writable.prototype, Object.getOwnPropertyDescriptors(writing));
Object.assign(Writable, {
    toWeb: (stream: any) => new WritableStream({
        write: (chunk: any) => new Promise<void>((done, failed) =>
            stream.write(chunk, (error: any) => (error ? failed(error) : done()))),
        close: () => new Promise<void>((done) => stream.end(done)),
        abort: (reason: any) => stream.destroy(reason),
    }),
});

// ---------------------------------------------------------------- both

function Duplex(this: any, options: any = {}): void {
    if (!(this instanceof Duplex)) return new (Duplex as any)(options);
    (Stream as any).call(this, options);
    prepare(this, options);
    readableState(this, options);
    writableState(this, options);
    (this as any).allowHalfOpen = options?.allowHalfOpen !== false;
}
Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
Object.setPrototypeOf(Duplex, Readable);
Object.defineProperties(Duplex.prototype, Object.getOwnPropertyDescriptors(writing));
Object.defineProperty(Writable, Symbol.hasInstance, {
    value(this: any, value: any) {
        if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
        return this === Writable && value?._writableState !== undefined;
    },
});

function Transform(this: any, options: any = {}): void {
    if (!(this instanceof Transform)) return new (Transform as any)(options);
    (Duplex as any).call(this, options);
    Object.defineProperty(this, "_taken", { writable: true, value: null });
}
Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
Object.setPrototypeOf(Transform, Duplex);
install(Transform, {
    _transform() {
        throw coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _transform() method is not implemented");
    },
    _write(this: any, chunk: any, encoding: string, done: any) {
        this._transform(chunk, encoding, (error: any, value: any) => {
            if (error) return done(error);
            if (value !== null && value !== undefined) this.push(value);
            const state = this._readableState;
            // No more is taken in than is taken out.
            if (state.length < state.mark || state.flowing === null) done();
            else this._taken = done;
        });
    },
    _read(this: any) {
        const done = this._taken;
        this._taken = null;
        done?.();
    },
    _final(this: any, done: any) {
        if (typeof this._flush !== "function") {
            this.push(null);
            return done();
        }
        this._flush((error: any, value: any) => {
            if (error) return done(error);
            if (value !== null && value !== undefined) this.push(value);
            this.push(null);
            done();
        });
    },
});

function PassThrough(this: any, options: any = {}): void {
    if (!(this instanceof PassThrough)) return new (PassThrough as any)(options);
    (Transform as any).call(this, options);
}
Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
Object.setPrototypeOf(PassThrough, Transform);
install(PassThrough, { _transform(chunk: any, _: string, done: any) { done(null, chunk); } });

// ---------------------------------------------------------------- helpers

function finished(stream: any, options?: any, callback?: any): () => void {
    if (typeof options === "function") [options, callback] = [{}, options];
    const reads = options?.readable ?? stream._readableState !== undefined;
    const writes = options?.writable ?? stream._writableState !== undefined;
    let told = false;
    const tell = (error?: any) => {
        if (told) return;
        told = true;
        clean();
        callback.call(stream, error);
    };
    const isDone = () => (!reads || stream.readableEnded) && (!writes || stream.writableFinished);
    const check = () => { if (isDone()) tell(); };
    const failed = (error: any) => tell(error);
    const closed = () => {
        if (stream.errored) tell(stream.errored);
        else if (isDone()) tell();
        else tell(coded(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close"));
    };
    const clean = () => {
        for (const [name, run] of [["end", check], ["finish", check], ["error", failed], ["close", closed]] as any) {
            stream.removeListener(name, run);
        }
    };
    stream.on("end", check).on("finish", check).on("error", failed).on("close", closed);
    if (stream.closed) later(closed);
    else if (isDone()) later(tell);
    return clean;
}

function pipeline(...given: any[]): any {
    const callback = typeof given[given.length - 1] === "function" && given.length > 1 &&
        typeof given[given.length - 1].pipe !== "function" ? given.pop() : () => {};
    const parts = Array.isArray(given[0]) && given.length === 1 ? given[0] : given;
    const streams = parts.map((part: any, at: number) => {
        if (at === 0 && typeof part === "function") return from(part());
        return at === 0 && typeof part.pipe !== "function" ? from(part) : part;
    });
    let left = 0;
    let problem: any;
    let last: any = streams[0];
    const settle = (error?: any) => {
        if (error && !problem) {
            problem = error;
            for (const stream of streams) if (typeof stream?.destroy === "function" && !stream.destroyed) {
                stream.on("error", () => {}).destroy(error);
            }
        }
        if (--left <= 0) callback(problem);
    };
    const watch = (stream: any, options: any) => { left++; finished(stream, options, settle); };
    watch(last, { writable: false });
    for (let at = 1; at < streams.length; at++) {
        const next = streams[at];
        if (typeof next === "function") {
            const result = next(last);
            if (at < streams.length - 1) { last = streams[at] = from(result); watch(last, { writable: false }); }
            else { left++; Promise.resolve(result).then(() => settle(), settle); }
            continue;
        }
        last.pipe(next);
        watch(next, at === streams.length - 1 ? { readable: false } : {});
        last = next;
    }
    return last;
}

const promises = {
    pipeline: (...parts: any[]) => new Promise<void>((resolve, reject) => {
        const options = parts[parts.length - 1];
        const isOptions = options && typeof options === "object" && typeof options.pipe !== "function" &&
            !options[Symbol.asyncIterator] && !options[Symbol.iterator] && !options._writableState;
        if (isOptions) parts.pop();
        const streams = pipeline(...parts, (error: any) => (error ? reject(error) : resolve()));
        if (isOptions) options.signal?.addEventListener("abort", () => streams.destroy?.(aborted(options.signal)));
    }),
    finished: (stream: any, options?: any) => new Promise<void>((resolve, reject) =>
        finished(stream, options ?? {}, (error: any) => (error ? reject(error) : resolve()))),
};

Object.assign(Stream, {
    Stream, Readable, Writable, Duplex, Transform, PassThrough, finished, pipeline, promises,
    isReadable: (stream: any) => !!stream?.readable, isErrored: (stream: any) => !!stream?.errored,
    isWritable: (stream: any) => !!stream?.writable, isDestroyed: (stream: any) => !!stream?.destroyed,
    destroy: (stream: any, error?: any) => stream.destroy(error),
    isDisturbed: (stream: any) => !!stream?.readableDidRead, getDefaultHighWaterMark: defaultMark, setDefaultHighWaterMark() {},
    addAbortSignal(signal: any, stream: any) {
        if (signal.aborted) stream.destroy(aborted(signal));
        else signal.addEventListener("abort", () => stream.destroy(aborted(signal)), { once: true });
        return stream;
    },
});
module.exports = Stream;
