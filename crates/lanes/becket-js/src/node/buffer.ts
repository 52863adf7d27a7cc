// Buffers: bytes with Node's methods. Text in and out of bytes is made by Rust.

const { coded, argument, range } = require("internal/errors");
const { native } = becket;

const kMaxLength = 2 ** 32;

class Bytes extends Uint8Array {}

const ENCODINGS: Record<string, string> = {
    utf8: "utf8", "utf-8": "utf8", hex: "hex", base64: "base64", base64url: "base64url", ascii: "ascii",
    latin1: "latin1", binary: "latin1", ucs2: "utf16le", "ucs-2": "utf16le", utf16le: "utf16le", "utf-16le": "utf16le",
};

function encodingOf(name: unknown): string {
    if (name === undefined || name === null || name === "") return "utf8";
    const known = typeof name === "string" ? ENCODINGS[name.toLowerCase()] : undefined;
    if (known === undefined) throw coded(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${String(name)}`);
    return known;
}

/** The bytes of a text. */
function encode(text: string, encoding?: unknown): Uint8Array {
    const kind = encodingOf(encoding);
    switch (kind) {
        case "hex": return fromHex(text);
        case "base64":
        case "base64url": return fromBase64(text);
        case "utf8": return native.encode(text.isWellFormed() ? text : text.toWellFormed());
        case "utf16le": return units(text, 2);
        default: return units(text, 1);
    }
}

function units(text: string, size: number): Uint8Array {
    const bytes = new Uint8Array(text.length * size);
    for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at);
        bytes[at * size] = unit;
        if (size === 2) bytes[at * 2 + 1] = unit >> 8;
    }
    return bytes;
}

/** As much as is hex. */
function fromHex(text: string): Uint8Array {
    const good = /^(?:[0-9a-fA-F]{2})*/.exec(text)![0];
    return (Uint8Array as any).fromHex(good);
}

/** Both alphabets; what is in neither is passed over. */
function fromBase64(text: string): Uint8Array {
    let clean = text.replace(/=.*$/s, "").replace(/[^A-Za-z0-9+/_-]/g, "").replaceAll("-", "+").replaceAll("_", "/");
    if (clean.length % 4 === 1) clean = clean.slice(0, -1);
    return (Uint8Array as any).fromBase64(clean);
}

/** The text of bytes. */
function decode(bytes: any, encoding?: unknown): string {
    const kind = encodingOf(encoding);
    switch (kind) {
        case "hex": return bytes.toHex();
        case "base64": return bytes.toBase64();
        case "base64url": return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
        default: return bytes.length === 0 ? "" : native.decode(bytes.toBase64(), kind);
    }
}

function viewOf(value: any, offset = 0, length?: number): Buffer {
    return new Bytes(value, offset, length) as any;
}

function over(bytes: Uint8Array): Buffer {
    return viewOf(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function Buffer(value: any, encoding?: any, length?: number): any {
    if (typeof value === "number") return Buffer.alloc(value);
    return Buffer.from(value, encoding, length);
}
type Buffer = any;

function isBuffer(value: unknown): boolean {
    return value instanceof Bytes;
}

function size(value: unknown, name = "size"): number {
    if (typeof value !== "number") throw argument(name, "of type number", value);
    if (!(value >= 0 && value <= kMaxLength)) throw range(name, `>= 0 && <= ${kMaxLength}`, value);
    return value;
}

Object.assign(Buffer, {
    poolSize: 8192,

    from(value: any, encodingOrOffset?: any, length?: number): Buffer {
        if (typeof value === "string") return over(encode(value, encodingOrOffset));
        if (value instanceof ArrayBuffer || (globalThis.SharedArrayBuffer && value instanceof SharedArrayBuffer)) {
            return viewOf(value, encodingOrOffset, length);
        }
        if (ArrayBuffer.isView(value)) return new Bytes(value as any) as any;
        if (value !== null && typeof value === "object") {
            const plain = value.valueOf?.();
            if (plain !== undefined && plain !== null && plain !== value) return Buffer.from(plain, encodingOrOffset, length);
            if (value.type === "Buffer" && Array.isArray(value.data)) return new Bytes(value.data) as any;
            if (typeof value.length === "number") return new Bytes(Array.from(value, Number)) as any;
            if (typeof value[Symbol.toPrimitive] === "function") {
                return Buffer.from(value[Symbol.toPrimitive]("string"), encodingOrOffset);
            }
        }
        throw argument("first argument", "of type string or an instance of Buffer, ArrayBuffer, or Array or an " +
            "Array-like Object", value);
    },
    of: (...values: number[]) => new Bytes(values),
    // Some write `new` before these.
    alloc: function (length: number, fill?: any, encoding?: any): Buffer {
        const made: any = new Bytes(size(length));
        return fill === undefined || fill === 0 ? made : made.fill(fill, encoding);
    },
    allocUnsafe: function (length: number) { return new Bytes(size(length)); },
    allocUnsafeSlow: function (length: number) { return new Bytes(size(length)); },
    isBuffer,
    isEncoding: (name: unknown) => typeof name === "string" && name.toLowerCase() in ENCODINGS,
    byteLength(value: any, encoding?: any): number {
        if (typeof value === "string") return encode(value, ENCODINGS[String(encoding ?? "utf8").toLowerCase()]).length;
        if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
        throw argument("string", "of type string or an instance of Buffer or ArrayBuffer", value);
    },
    compare(a: Uint8Array, b: Uint8Array): number {
        if (!(a instanceof Uint8Array)) throw argument("buf1", "an instance of Buffer or Uint8Array", a);
        if (!(b instanceof Uint8Array)) throw argument("buf2", "an instance of Buffer or Uint8Array", b);
        const length = Math.min(a.length, b.length);
        for (let at = 0; at < length; at++) {
            if (a[at] !== b[at]) return a[at] < b[at] ? -1 : 1;
        }
        return Math.sign(a.length - b.length);
    },
    concat(list: Uint8Array[], total?: number): Buffer {
        if (!Array.isArray(list)) throw argument("list", "an instance of Array", list);
        const length = total ?? list.reduce((sum, one) => sum + one.length, 0);
        const made: any = Buffer.alloc(length);
        let at = 0;
        for (const [index, one] of list.entries()) {
            if (!(one instanceof Uint8Array)) {
                throw argument(`list[${index}]`, "an instance of Buffer or Uint8Array", one);
            }
            if (at >= length) break;
            made.set(at + one.length > length ? one.subarray(0, length - at) : one, at);
            at += one.length;
        }
        return made;
    },
    copyBytesFrom: (view: any, offset = 0, length?: number) =>
        new Bytes(new Uint8Array(view.slice(offset, length === undefined ? undefined : offset + length).buffer)),
});
Object.setPrototypeOf(Buffer, Uint8Array);
Object.defineProperty(Buffer, Symbol.species, { configurable: true, get: () => Buffer });
Buffer.prototype = Bytes.prototype as any;
Object.defineProperty(Bytes.prototype, "constructor", { configurable: true, writable: true, value: Buffer });
Object.defineProperty(Bytes, Symbol.species, { configurable: true, get: () => Bytes });

function bound(value: any, fallback: number, length: number): number {
    if (value === undefined) return fallback;
    const wanted = Math.trunc(Number(value)) || 0;
    return Math.min(Math.max(wanted < 0 ? wanted + length : wanted, 0), length);
}

/** Where a search begins, as Node reads it. */
function start(offset: any, length: number, last: boolean): number {
    let at = Number(offset);
    if (offset === undefined || Number.isNaN(at)) return last ? length : 0;
    at = Math.trunc(at);
    return at < 0 ? at + length : at;
}

function search(bytes: any, value: any, offset: any, encoding: any, last: boolean): number {
    if (typeof offset === "string") [offset, encoding] = [undefined, offset];
    if (typeof value === "number") {
        const from = start(offset, bytes.length, last);
        if (from < 0 && last) return -1;
        return last ? Uint8Array.prototype.lastIndexOf.call(bytes, value & 255, from)
            : Uint8Array.prototype.indexOf.call(bytes, value & 255, Math.max(from, 0));
    }
    const wanted: any = typeof value === "string" ? encode(value, encoding) : value;
    if (!(wanted instanceof Uint8Array)) {
        throw argument("value", "one of type number or string or an instance of Buffer or Uint8Array", value);
    }
    let at = start(offset, bytes.length, last);
    if (last) at = Math.min(at, bytes.length - wanted.length);
    else at = Math.max(at, 0);
    if (wanted.length === 0) return last ? Math.min(at, bytes.length) : Math.min(at, bytes.length);
    for (; last ? at >= 0 : at <= bytes.length - wanted.length; at += last ? -1 : 1) {
        let same = 0;
        while (same < wanted.length && bytes[at + same] === wanted[same]) same++;
        if (same === wanted.length) return at;
    }
    return -1;
}

const methods: Record<string, any> = {
    toString(this: any, encoding?: any, begin?: any, end?: any): string {
        if (begin === undefined && end === undefined) return decode(this, encoding);
        const from = Math.max(Math.trunc(Number(begin)) || 0, 0);
        const to = end === undefined ? this.length : Math.min(Math.trunc(Number(end)) || 0, this.length);
        return from >= to ? "" : decode(Uint8Array.prototype.subarray.call(this, from, to), encoding);
    },
    toLocaleString(this: any, encoding?: any) { return this.toString(encoding); },
    toJSON(this: any) { return { type: "Buffer", data: Array.from(this) }; },
    equals(this: any, other: any) {
        if (!(other instanceof Uint8Array)) throw argument("otherBuffer", "an instance of Buffer or Uint8Array", other);
        return this === other || (Buffer as any).compare(this, other) === 0;
    },
    compare(this: any, target: any, targetStart = 0, targetEnd = target.length, begin = 0, end = this.length) {
        return (Buffer as any).compare(this.subarray(begin, end), target.subarray(targetStart, targetEnd));
    },
    subarray(this: any, begin?: any, end?: any) {
        const from = bound(begin, 0, this.length);
        const to = bound(end, this.length, this.length);
        return viewOf(this.buffer, this.byteOffset + from, Math.max(to - from, 0));
    },
    slice(this: any, begin?: any, end?: any) { return this.subarray(begin, end); },
    copy(this: any, target: any, targetStart = 0, begin = 0, end = this.length): number {
        if (!(target instanceof Uint8Array)) throw argument("target", "an instance of Buffer or Uint8Array", target);
        if (begin < 0 || begin > this.length) throw range("sourceStart", `>= 0 && <= ${this.length}`, begin);
        const count = Math.min(Math.min(end, this.length) - begin, target.length - targetStart);
        if (count <= 0) return 0;
        Uint8Array.prototype.set.call(target, Uint8Array.prototype.subarray.call(this, begin, begin + count), targetStart);
        return count;
    },
    write(this: any, text: string, offset?: any, length?: any, encoding?: any): number {
        if (typeof text !== "string") throw argument("argument", "of type string", text);
        if (typeof offset === "string") [offset, length, encoding] = [0, undefined, offset];
        else if (typeof length === "string") [length, encoding] = [undefined, length];
        const from = offset ?? 0;
        if (from < 0 || from > this.length) throw range("offset", `>= 0 && <= ${this.length}`, from);
        let bytes = encode(text, encoding);
        const room = Math.min(length ?? Infinity, this.length - from);
        if (bytes.length > room) {
            let end = room;
            // Half a character is not written.
            if (encodingOf(encoding) === "utf8") while (end > 0 && (bytes[end] & 0xc0) === 0x80) end--;
            else if (encodingOf(encoding) === "utf16le") end -= end % 2;
            bytes = bytes.subarray(0, end);
        }
        this.set(bytes, from);
        return bytes.length;
    },
    fill(this: any, value: any, offset?: any, end?: any, encoding?: any) {
        if (typeof offset === "string") [offset, end, encoding] = [undefined, undefined, offset];
        else if (typeof end === "string") [end, encoding] = [undefined, end];
        const [from, to] = [offset ?? 0, end ?? this.length];
        if (from < 0 || from > this.length) throw range("offset", `>= 0 && <= ${this.length}`, from);
        if (to < 0 || to > this.length) throw range("end", `>= 0 && <= ${this.length}`, to);
        if (typeof value !== "string" && !(value instanceof Uint8Array)) {
            return Uint8Array.prototype.fill.call(this, Number(value) & 255, from, to);
        }
        const bytes: any = typeof value === "string" ? encode(value, encoding) : value;
        if (bytes.length === 0) {
            if (typeof value !== "string" || value !== "") {
                throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'value' is invalid. Received '${value}'`);
            }
            return Uint8Array.prototype.fill.call(this, 0, from, to);
        }
        for (let at = from; at < to; at++) this[at] = bytes[(at - from) % bytes.length];
        return this;
    },
    indexOf(this: any, value: any, offset?: any, encoding?: any) { return search(this, value, offset, encoding, false); },
    lastIndexOf(this: any, value: any, offset?: any, encoding?: any) { return search(this, value, offset, encoding, true); },
    includes(this: any, value: any, offset?: any, encoding?: any) { return search(this, value, offset, encoding, false) !== -1; },
    swap16(this: any) { return swap(this, 2); },
    swap32(this: any) { return swap(this, 4); },
    swap64(this: any) { return swap(this, 8); },
    inspect(this: any) {
        const shown = Array.from(this.subarray(0, 50) as Uint8Array, (byte) => byte.toString(16).padStart(2, "0"));
        const more = this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? "s" : ""}` : "";
        return `<Buffer ${shown.join(" ")}${more}>`;
    },
};
methods[Symbol.for("nodejs.util.inspect.custom") as any] = methods.inspect;

function swap(bytes: any, width: number): any {
    if (bytes.length % width !== 0) {
        throw coded(RangeError, "ERR_INVALID_BUFFER_SIZE", `Buffer size must be a multiple of ${width * 8}-bits`);
    }
    for (let at = 0; at < bytes.length; at += width) Uint8Array.prototype.subarray.call(bytes, at, at + width).reverse();
    return bytes;
}

// ---------------------------------------------------------------- numbers

function viewAt(bytes: any, offset: any, width: number): DataView {
    if (typeof offset !== "number") throw argument("offset", "of type number", offset);
    if (bytes.length < width) {
        throw coded(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
    }
    if (!Number.isInteger(offset)) throw range("offset", "an integer", offset);
    if (offset < 0 || offset + width > bytes.length) throw range("offset", `>= 0 and <= ${bytes.length - width}`, offset);
    return new DataView(bytes.buffer, bytes.byteOffset + offset, width);
}

function fits(value: number, low: number, high: number, width: number): void {
    if (value > high || value < low) {
        const bits = width * 8;
        const words = width <= 2 ? `>= ${low} and <= ${high}`
            : low === 0 ? `>= 0 and < 2 ** ${bits}` : `>= -(2 ** ${bits - 1}) and < 2 ** ${bits - 1}`;
        throw range("value", width === 4 && low === 0 ? `>= 0 and <= ${high}` : width === 4
            ? `>= ${low} and <= ${high}` : words, value);
    }
}

for (const [name, width] of [["Int8", 1], ["Uint8", 1], ["Int16", 2], ["Uint16", 2], ["Int32", 4], ["Uint32", 4],
    ["Float32", 4], ["Float64", 8], ["BigInt64", 8], ["BigUint64", 8]] as [string, number][]) {
    const shown = name.replace("Uint", "UInt").replace("Float32", "Float").replace("Float64", "Double")
        .replace("BigUInt64", "BigUInt64");
    for (const order of width === 1 ? [""] : ["LE", "BE"]) {
        const little = order === "LE";
        const low = name.startsWith("Int") ? -(2 ** (width * 8 - 1)) : 0;
        const high = name.startsWith("Int") ? 2 ** (width * 8 - 1) - 1 : 2 ** (width * 8) - 1;
        const read = function (this: any, offset = 0) {
            return (viewAt(this, offset, width) as any)[`get${name}`](0, little);
        };
        const write = function (this: any, value: any, offset = 0) {
            if (/^U?int/i.test(name)) fits(+value, low, high, width);
            (viewAt(this, offset, width) as any)[`set${name}`](0, value, little);
            return offset + width;
        };
        for (const alias of new Set([shown, shown.replace("UInt", "Uint")])) {
            methods[`read${alias}${order}`] = read;
            methods[`write${alias}${order}`] = write;
        }
    }
}

function width(value: any): number {
    if (typeof value !== "number") throw argument("byteLength", "of type number", value);
    if (value < 1 || value > 6) throw range("byteLength", ">= 1 and <= 6", value);
    return value;
}

for (const order of ["LE", "BE"]) {
    const index = (at: number, count: number) => (order === "LE" ? count - 1 - at : at);
    const readU = function (this: any, offset: number, count: number) {
        viewAt(this, offset, width(count));
        let value = 0;
        for (let at = 0; at < count; at++) value = value * 256 + this[offset + index(at, count)];
        return value;
    };
    const readI = function (this: any, offset: number, count: number) {
        const value = readU.call(this, offset, count);
        return value >= 2 ** (count * 8 - 1) ? value - 2 ** (count * 8) : value;
    };
    const write = function (this: any, value: number, offset: number, count: number) {
        viewAt(this, offset, width(count));
        let rest = value < 0 ? value + 2 ** (count * 8) : value;
        for (let at = count - 1; at >= 0; at--) {
            this[offset + index(at, count)] = rest % 256;
            rest = Math.floor(rest / 256);
        }
        return offset + count;
    };
    for (const unsigned of ["UInt", "Uint"]) {
        methods[`read${unsigned}${order}`] = readU;
        methods[`write${unsigned}${order}`] = write;
    }
    methods[`readInt${order}`] = readI;
    methods[`writeInt${order}`] = write;
}

for (const name of Reflect.ownKeys(methods)) {
    Object.defineProperty(Bytes.prototype, name, {
        configurable: true, writable: true, enumerable: false, value: (methods as any)[name],
    });
}
Object.defineProperty(Bytes.prototype, "parent", { configurable: true, get(this: any) { return this.buffer; } });
Object.defineProperty(Bytes.prototype, "offset", { configurable: true, get(this: any) { return this.byteOffset; } });

// ---------------------------------------------------------------- blobs

class Blob {
    #bytes: Uint8Array;
    #type: string;

    constructor(parts: any[] = [], options: any = {}) {
        this.#bytes = (Buffer as any).concat(parts.map((part) =>
            part instanceof Blob ? part.#bytes
                : ArrayBuffer.isView(part) ? new Uint8Array(part.buffer as any, part.byteOffset, part.byteLength)
                    : part instanceof ArrayBuffer ? new Uint8Array(part) : encode(String(part))));
        this.#type = String(options?.type ?? "").toLowerCase();
    }

    get size() { return this.#bytes.length; }
    get type() { return this.#type; }
    async text() { return decode(this.#bytes).replace(/^\ufeff/, ""); }
    async bytes() { return new Uint8Array(this.#bytes); }
    async arrayBuffer() { return new Uint8Array(this.#bytes).buffer; }
    slice(begin?: number, end?: number, type = "") {
        return new Blob([Uint8Array.prototype.slice.call(this.#bytes, begin, end)], { type });
    }
    stream() {
        const bytes = new Uint8Array(this.#bytes);
        return new ReadableStream({ start(control: any) { if (bytes.length > 0) control.enqueue(bytes); control.close(); } });
    }
    get [Symbol.toStringTag]() { return "Blob"; }
}

class File extends Blob {
    readonly name: string;
    readonly lastModified: number;

    constructor(parts: any[], name: string, options: any = {}) {
        super(parts, options);
        this.name = String(name);
        this.lastModified = Number(options?.lastModified ?? Date.now());
    }

    get [Symbol.toStringTag]() { return "File"; }
}

function problem(message: string): any {
    return new DOMException(message, "InvalidCharacterError");
}

function atob(value: unknown): string {
    const text = String(value).replace(/[\t\n\f\r ]/g, "");
    if (/[^A-Za-z0-9+/=]/.test(text)) throw problem("Invalid character");
    if (text.replace(/={1,2}$/, "").includes("=") ||
        text.replace(/=+$/, "").length % 4 === 1) {
        throw problem("The string to be decoded is not correctly encoded.");
    }
    return decode(fromBase64(text), "latin1");
}

function btoa(value: unknown): string {
    const text = String(value);
    if (/[^\0-\xff]/.test(text)) throw problem("Invalid character");
    return (units(text, 1) as any).toBase64();
}

module.exports = {
    Buffer, SlowBuffer: Buffer, Blob, File, atob, btoa, kMaxLength, kStringMaxLength: 2 ** 29 - 24,
    INSPECT_MAX_BYTES: 50, constants: { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: 2 ** 29 - 24 },
    isUtf8: (bytes: Uint8Array) => !decode(bytes).includes("\ufffd"),
    isAscii: (bytes: Uint8Array) => bytes.every((byte) => byte < 128),
    transcode: (bytes: any, from: string, to: string) => (Buffer as any).from(decode(bytes, from), to),
};
