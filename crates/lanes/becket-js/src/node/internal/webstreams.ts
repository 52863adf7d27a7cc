// Streams of the web: queues with one reader or one writer.

class ReadableStream {
    #queue: any[] = [];
    #state = "readable";
    #problem: any;
    #source: any;
    #waiting: { resolve: (value: any) => void; reject: (error: any) => void }[] = [];
    #pulling = false;
    #mark: number;
    #reader: any;
    #closing = false;
    #started: Promise<any>;
    #done: { promise: Promise<any>; resolve: (value?: any) => void; reject: (error: any) => void };

    constructor(source: any = {}, strategy: any = {}) {
        this.#source = source ?? {};
        this.#mark = strategy?.highWaterMark ?? (this.#source.type === "bytes" ? 0 : 1);
        this.#done = (Promise as any).withResolvers();
        this.#done.promise.catch(() => {});
        const started = this.#source.start?.(this.#control);
        this.#started = Promise.resolve(started).then(() => this.#pull(), (error) => this.#fail(error));
    }

    #control: any = {
        enqueue: (chunk: any) => {
            if (this.#state !== "readable" || this.#closing) throw new TypeError("Invalid state: Controller is already closed");
            const next = this.#waiting.shift();
            if (next) next.resolve({ value: chunk, done: false });
            else this.#queue.push(chunk);
            this.#pull();
        },
        close: () => {
            if (this.#state !== "readable" || this.#closing) throw new TypeError("Invalid state: Controller is already closed");
            this.#closing = true;
            if (this.#queue.length === 0) this.#finish();
        },
        error: (error: any) => this.#fail(error),
        byobRequest: null,
    };

    #finish(): void {
        this.#state = "closed";
        for (const next of this.#waiting.splice(0)) next.resolve({ value: undefined, done: true });
        this.#done.resolve();
    }

    #fail(error: any): void {
        if (this.#state !== "readable") return;
        this.#state = "errored";
        this.#problem = error;
        this.#queue = [];
        for (const next of this.#waiting.splice(0)) next.reject(error);
        this.#done.reject(error);
    }

    async #pull(): Promise<void> {
        if (this.#pulling || this.#state !== "readable" || this.#closing || !this.#source.pull) return;
        if (this.#queue.length >= this.#mark && this.#waiting.length === 0) return;
        this.#pulling = true;
        try {
            await this.#source.pull(this.#control);
            this.#pulling = false;
            if (this.#waiting.length > 0 || this.#queue.length < this.#mark) queueMicrotask(() => this.#pull());
        } catch (error) {
            this.#pulling = false;
            this.#fail(error);
        }
    }

    #read(): Promise<any> {
        if (this.#queue.length > 0) {
            const value = this.#queue.shift();
            if (this.#closing && this.#queue.length === 0) this.#finish();
            else this.#pull();
            return Promise.resolve({ value, done: false });
        }
        if (this.#state === "errored") return Promise.reject(this.#problem);
        if (this.#state === "closed") return Promise.resolve({ value: undefined, done: true });
        const { promise, resolve, reject } = (Promise as any).withResolvers();
        this.#waiting.push({ resolve, reject });
        this.#started.then(() => this.#pull());
        return promise;
    }

    async #cancel(reason?: any): Promise<void> {
        if (this.#state === "errored") throw this.#problem;
        if (this.#state === "closed") return;
        this.#queue = [];
        this.#finish();
        await this.#source.cancel?.(reason);
    }

    get locked() { return this.#reader !== undefined; }

    getReader(): any {
        if (this.locked) throw new TypeError("Invalid state: ReadableStream is locked");
        const free = () => { if (this.#reader === reader) this.#reader = undefined; };
        const mine = () => {
            if (this.#reader !== reader) throw new TypeError("Invalid state: The reader is not attached to a stream");
        };
        const reader = {
            read: async () => { mine(); return this.#read(); },
            cancel: async (reason?: any) => { mine(); return this.#cancel(reason); },
            releaseLock: free, closed: this.#done.promise,
        };
        this.#reader = reader;
        return reader;
    }

    async cancel(reason?: any): Promise<void> {
        if (this.locked) throw new TypeError("Invalid state: ReadableStream is locked");
        return this.#cancel(reason);
    }

    tee(): [ReadableStream, ReadableStream] {
        const reader = this.getReader();
        const controls: any[] = [];
        const pull = async () => {
            const { value, done } = await reader.read();
            for (const control of controls) done ? control.close() : control.enqueue(value);
        };
        const branch = () => new ReadableStream({ start(control: any) { controls.push(control); }, pull });
        return [branch(), branch()];
    }

    async pipeTo(target: any, options: any = {}): Promise<void> {
        const writer = target.getWriter();
        const reader = this.getReader();
        try {
            for (;;) {
                if (options.signal?.aborted) throw options.signal.reason;
                const { value, done } = await reader.read();
                if (done) break;
                await writer.write(value);
            }
            if (!options.preventClose) await writer.close();
        } catch (error) {
            if (!options.preventAbort) await writer.abort(error).catch(() => {});
            if (!options.preventCancel) await reader.cancel(error).catch(() => {});
            throw error;
        } finally {
            reader.releaseLock();
            writer.releaseLock();
        }
    }

    pipeThrough(pair: any, options?: any): any {
        this.pipeTo(pair.writable, options).catch(() => {});
        return pair.readable;
    }

    async *values(options: any = {}) {
        const reader = this.getReader();
        let over = false;
        try {
            for (;;) {
                const { value, done } = await reader.read();
                if (done) { over = true; return; }
                yield value;
            }
        } finally {
            if (!over && !options.preventCancel) await reader.cancel().catch(() => {});
            reader.releaseLock();
        }
    }

    [Symbol.asyncIterator]() { return this.values(); }

    static from(source: any): ReadableStream {
        const iterator = source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
        return new ReadableStream({
            async pull(control: any) {
                const { value, done } = await iterator.next();
                if (done) control.close();
                else control.enqueue(value);
            },
            async cancel() { await iterator.return?.(); },
        });
    }
}

class WritableStream {
    #sink: any;
    #writer: any;
    #last: Promise<any>;
    #problem: any;
    #closed: any = (Promise as any).withResolvers();

    constructor(sink: any = {}) {
        this.#sink = sink ?? {};
        this.#closed.promise.catch(() => {});
        this.#last = Promise.resolve(this.#sink.start?.(this.#control));
        this.#last.catch((error) => this.#control.error(error));
    }

    #control: any = {
        error: (error: any) => { this.#problem ??= { error }; this.#closed.reject(error); },
        signal: undefined,
    };

    #queue(work: () => any): Promise<any> {
        const next = this.#last.then(() => {
            if (this.#problem) throw this.#problem.error;
            return work();
        });
        this.#last = next.catch((error) => this.#control.error(error));
        return next;
    }

    get locked() { return this.#writer !== undefined; }

    getWriter(): any {
        if (this.locked) throw new TypeError("Invalid state: WritableStream is locked");
        const writer: any = {
            write: (chunk: any) => this.#queue(() => this.#sink.write?.(chunk, this.#control)),
            close: () => this.#queue(() => this.#sink.close?.()).then(() => this.#closed.resolve()),
            abort: async (reason?: any) => { this.#control.error(reason); await this.#sink.abort?.(reason); },
            releaseLock: () => { if (this.#writer === writer) this.#writer = undefined; },
            closed: this.#closed.promise, desiredSize: 1,
        };
        Object.defineProperty(writer, "ready", { get: () => this.#last });
        this.#writer = writer;
        return writer;
    }

    async close() { return this.getWriter().close(); }
    async abort(reason?: any) { return this.getWriter().abort(reason); }
}

class TransformStream {
    readonly readable: ReadableStream;
    readonly writable: WritableStream;

    constructor(transformer: any = {}) {
        let control: any;
        this.readable = new ReadableStream({ start(given: any) { control = given; } });
        const outer = {
            enqueue: (chunk: any) => control.enqueue(chunk), error: (error: any) => control.error(error),
            terminate: () => control.close(),
        };
        this.writable = new WritableStream({
            start: () => transformer.start?.(outer),
            write: (chunk: any) => (transformer.transform ? transformer.transform(chunk, outer) : control.enqueue(chunk)),
            close: async () => { await transformer.flush?.(outer); control.close(); },
            abort: (reason: any) => control.error(reason),
        });
    }
}

class TextDecoderStream extends TransformStream {
    readonly encoding: string;
    constructor(label = "utf-8", options: any = {}) {
        const decoder = new TextDecoder(label, options);
        super({
            transform(chunk: any, control: any) {
                const text = decoder.decode(chunk, { stream: true });
                if (text !== "") control.enqueue(text);
            },
            flush(control: any) {
                const text = decoder.decode();
                if (text !== "") control.enqueue(text);
            },
        });
        this.encoding = decoder.encoding;
    }
}

class TextEncoderStream extends TransformStream {
    readonly encoding = "utf-8";
    constructor() {
        const encoder = new TextEncoder();
        super({ transform: (chunk: any, control: any) => control.enqueue(encoder.encode(chunk)) });
    }
}

class CountQueuingStrategy {
    readonly highWaterMark: number;
    constructor({ highWaterMark }: any) { this.highWaterMark = highWaterMark; }
    size() { return 1; }
}

class ByteLengthQueuingStrategy {
    readonly highWaterMark: number;
    constructor({ highWaterMark }: any) { this.highWaterMark = highWaterMark; }
    size(chunk: any) { return chunk.byteLength; }
}

module.exports = {
    ReadableStream, WritableStream, TransformStream, TextDecoderStream, TextEncoderStream, CountQueuingStrategy,
    ByteLengthQueuingStrategy,
};
