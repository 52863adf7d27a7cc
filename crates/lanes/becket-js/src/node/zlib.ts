// Compressed bytes. Rust does the work; brotli and zstandard are refused.

const { Transform } = require("stream");
const { Buffer } = require("buffer");
const { argument, coded } = require("internal/errors");
const { host, native } = becket;

const codes: Record<string, any> = {
    Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4,
    Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6,
};
const constants = Object.freeze({
    Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, ...codes,
    Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, Z_FILTERED: 1,
    Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0, Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15,
    Z_DEFAULT_WINDOWBITS: 15, Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity, Z_DEFAULT_CHUNK: 16384, Z_MIN_MEMLEVEL: 1,
    Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8, Z_MIN_LEVEL: -1, Z_MAX_LEVEL: 9, Z_DEFAULT_LEVEL: -1, DEFLATE: 1,
    INFLATE: 2, GZIP: 3, GUNZIP: 4, DEFLATERAW: 5, INFLATERAW: 6, UNZIP: 7, BROTLI_DECODE: 8, BROTLI_ENCODE: 9,
    BROTLI_OPERATION_PROCESS: 0, BROTLI_OPERATION_FLUSH: 1, BROTLI_OPERATION_FINISH: 2,
    BROTLI_OPERATION_EMIT_METADATA: 3, BROTLI_PARAM_MODE: 0, BROTLI_PARAM_QUALITY: 1, BROTLI_PARAM_LGWIN: 2,
    BROTLI_PARAM_SIZE_HINT: 5, BROTLI_MODE_GENERIC: 0, BROTLI_MODE_TEXT: 1, BROTLI_MODE_FONT: 2,
    BROTLI_MIN_QUALITY: 0, BROTLI_MAX_QUALITY: 11, BROTLI_DEFAULT_QUALITY: 11,
});
for (const name of Object.keys(codes)) codes[codes[name]] = name;

/** Classes by name: whether they compress, and how the bytes are wrapped. `Unzip` looks at the first bytes. */
const KINDS: Record<string, [boolean, string]> = {
    Deflate: [true, "zlib"], Inflate: [false, "zlib"], DeflateRaw: [true, "raw"], InflateRaw: [false, "raw"],
    Gzip: [true, "gzip"], Gunzip: [false, "gzip"], Unzip: [false, "any"],
};

/** What Rust reads as bytes. */
function piece(data: any): any {
    if (typeof data === "string") return data.toWellFormed();
    const bytes = data instanceof ArrayBuffer ? Buffer.from(data)
        : ArrayBuffer.isView(data) ? Buffer.from(data.buffer as any, data.byteOffset, data.byteLength) : undefined;
    if (bytes === undefined) {
        throw argument("buffer", "of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer", data);
    }
    return { base64: bytes.toBase64() };
}

function taken(parcel: any): any {
    const found = native.parcel(parcel.parcel);
    return Buffer.from(found.buffer, found.byteOffset, found.byteLength);
}

/** An error as Node has it. */
function asNode(error: any): any {
    return error.code === "ERR_BUFFER_TOO_LARGE" ? coded(RangeError, error.code, error.message) : error;
}

function ask(name: string, value: unknown): any {
    try {
        return taken(host.call(name, value));
    } catch (error) {
        throw asNode(error);
    }
}

function settings(kind: string, options: any = {}): any {
    const [compresses, wrapping] = KINDS[kind];
    const level = options?.level ?? -1;
    if (typeof level !== "number" || level < -1 || level > 9) {
        throw coded(RangeError, "ERR_OUT_OF_RANGE",
            `The value of "options.level" is out of range. It must be >= -1 and <= 9. Received ${level}`);
    }
    // Who ends with less than `finish` takes what there is of bytes that were cut off.
    const end = (options?.finishFlush ?? constants.Z_FINISH) === constants.Z_FINISH ? "finish" : "sync";
    return { wrapping, level: compresses ? (level < 0 ? 6 : level) : undefined, most: options?.maxOutputLength, end };
}

/** A stream that compresses, or undoes it. */
class Zlib extends (Transform as any) {
    #settings: any;
    #id?: number;
    bytesWritten = 0;

    constructor(kind: string, options?: any) {
        super(options);
        this.#settings = settings(kind, options);
    }

    #pass(data: any, flush?: string): void {
        this.#id ??= host.call("zlib.open", this.#settings);
        this.bytesWritten += data.length;
        const made = ask("zlib.write", { id: this.#id, data: piece(data), flush });
        if (made.length > 0) this.push(made);
    }

    #attempt(run: () => void, done: (error?: any) => void): void {
        try {
            run();
        } catch (error) {
            return done(error);
        }
        done();
    }

    #over(): void {
        if (this.#id !== undefined) host.call("zlib.close", { id: this.#id });
        this.#id = undefined;
    }

    _transform(chunk: any, encoding: any, done: any) {
        this.#attempt(() => this.#pass(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk), done);
    }
    _flush(done: any) {
        this.#attempt(() => {
            this.#pass(Buffer.alloc(0), this.#settings.end);
            this.#over();
        }, done);
    }
    _destroy(error: any, done: any) {
        this.#over();
        done(error);
    }
    flush(kind?: any, done?: any) {
        const callback = typeof kind === "function" ? kind : done ?? (() => {});
        const name = kind === constants.Z_SYNC_FLUSH ? "sync" : "full";
        const wanted = this.#settings.level === undefined ? undefined : name;
        this.#attempt(() => this.#pass(Buffer.alloc(0), wanted), callback);
    }
    params(level: number, _strategy: number, done?: any) {
        this.#settings = { ...this.#settings, level };
        done?.();
    }
    reset() { this.#over(); }
    close(done?: any) {
        if (done) this.once("close", done);
        this.destroy();
    }
}

const made: Record<string, any> = { constants, codes, crc32 };

function crc32(data: any, value = 0): number {
    return host.call("zlib.crc32", { data: piece(data), value }) as number;
}

for (const kind of Object.keys(KINDS)) {
    const Kind = { [kind]: function (this: any, options?: any) {
        return Reflect.construct(Zlib, [kind, options], new.target ?? Kind);
    } }[kind] as any;
    Object.setPrototypeOf(Kind, Zlib);
    Object.setPrototypeOf(Kind.prototype, Zlib.prototype);
    const name = kind[0].toLowerCase() + kind.slice(1);
    const call = (data: any, options: any) => {
        const { end, ...others } = settings(kind, options);
        return { ...others, flush: end, data: piece(data) };
    };
    made[kind] = Kind;
    made[`create${kind}`] = (options?: any) => new Kind(options);
    made[`${name}Sync`] = (data: any, options?: any) => ask("zlib.all", call(data, options));
    made[name] = (data: any, options: any, done?: any) => {
        const callback = typeof options === "function" ? options : done;
        if (typeof callback !== "function") throw argument("callback", "of type function", callback);
        host.callAsync("zlib.all", call(data, typeof options === "function" ? {} : options)).then(
            (parcel: any) => callback(null, taken(parcel)), (error: any) => callback(asNode(error)));
    };
}
module.exports = made;
