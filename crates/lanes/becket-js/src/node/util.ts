// Helpers: promises of callbacks, formatting, types, text of bytes.

const { coded, argument } = require("internal/errors");
const { inspect, format, formatWithOptions, colors } = require("internal/inspect");
const types = require("util/types");

const promisified = Symbol.for("nodejs.util.promisify.custom");

function promisify(original: any): any {
    if (typeof original !== "function") throw argument("original", "of type function", original);
    if (original[promisified] !== undefined) {
        const own = original[promisified];
        if (typeof own !== "function") throw argument("util.promisify.custom", "of type function", own);
        return Object.defineProperty(own, promisified, { configurable: true, value: own });
    }
    function made(this: any, ...values: any[]) {
        return new Promise((resolve, reject) => {
            Reflect.apply(original, this, [...values, (error: any, value: any) => error ? reject(error) : resolve(value)]);
        });
    }
    Object.setPrototypeOf(made, Object.getPrototypeOf(original));
    Object.defineProperty(made, promisified, { configurable: true, value: made });
    const fields = Object.getOwnPropertyDescriptors(original);
    delete (fields as any).prototype;
    return Object.defineProperties(made, fields);
}
promisify.custom = promisified;

function callbackify(original: any): any {
    if (typeof original !== "function") throw argument("original", "of type function", original);
    const made = function (this: any, ...values: any[]) {
        const callback = values.pop();
        if (typeof callback !== "function") throw argument("last argument", "of type function", callback);
        Reflect.apply(original, this, values).then(
            (value: any) => queueMicrotask(() => callback(null, value)),
            (reason: any) => {
                const error = reason || coded(Error, "ERR_FALSY_VALUE_REJECTION", "Promise was rejected with falsy value",
                    { reason });
                queueMicrotask(() => callback(error));
            },
        );
    };
    return Object.defineProperty(made, "name", { value: `${original.name}Callbackified` });
}

function inherits(child: any, parent: any): void {
    if (typeof child !== "function") throw argument("ctor", "of type function", child);
    if (typeof parent !== "function") throw argument("superCtor", "of type function", parent);
    Object.defineProperty(child, "super_", { configurable: true, writable: true, value: parent });
    Object.setPrototypeOf(child.prototype, parent.prototype);
}

const warned = new Set<string>();

function deprecate(run: any, message: string, code?: string): any {
    let told = false;
    const made = function (this: any, ...values: any[]) {
        if (!told && !(code !== undefined && warned.has(code))) {
            if (code !== undefined) warned.add(code);
            require("process").emitWarning(message, "DeprecationWarning", code);
        }
        told = true;
        return new.target ? Reflect.construct(run, values, new.target) : Reflect.apply(run, this, values);
    };
    Object.setPrototypeOf(made, run);
    if (run.prototype) made.prototype = run.prototype;
    return made;
}

function debuglog(section: string): any {
    const wanted = (require("process").env.NODE_DEBUG ?? "").toLowerCase().split(",");
    const enabled = wanted.includes(section.toLowerCase());
    const log = (...values: any[]) => {
        if (enabled) require("process").stderr.write(`${section.toUpperCase()}: ${format(...values)}\n`);
    };
    return Object.assign(log, { enabled });
}

// ---------------------------------------------------------------- equality

function isDeepStrictEqual(a: any, b: any): boolean {
    return equal(a, b, true, []);
}

/** Whether two values are the same all the way down. `strict` counts types and prototypes too. */
function equal(a: any, b: any, strict: boolean, seen: [any, any][]): boolean {
    if (strict ? Object.is(a, b) : a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
        if (strict || (typeof a === "object" && a !== null) || (typeof b === "object" && b !== null)) return false;
        return a == b;
    }
    if (seen.some(([x, y]) => x === a && y === b)) return true;
    if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (Object.prototype.toString.call(a) !== Object.prototype.toString.call(b)) return false;
    if (Array.isArray(a) !== Array.isArray(b) || (Array.isArray(a) && a.length !== b.length)) return false;
    if (a instanceof Date && a.getTime() !== b.getTime()) return false;
    if (a instanceof RegExp && (String(a) !== String(b) || a.lastIndex !== b.lastIndex)) return false;
    if (a instanceof Error && (a.message !== b.message || a.name !== b.name)) return false;
    if (types.isBoxedPrimitive(a) && !Object.is(a.valueOf(), b.valueOf())) return false;
    if (ArrayBuffer.isView(a) && !(a instanceof DataView)) {
        const [x, y] = [a as any, b as any];
        return x.length === y.length && x.every((value: any, at: number) => Object.is(value, y[at]));
    }
    return equalParts(a, b, strict, [...seen, [a, b]]);
}

function equalParts(a: any, b: any, strict: boolean, seen: [any, any][]): boolean {
    const same = (x: any, y: any) => equal(x, y, strict, seen);
    if (a instanceof Set) {
        if (a.size !== b.size) return false;
        const rest = [...b].filter((value) => !a.has(value));
        for (const value of a) {
            if (b.has(value)) continue;
            const at = rest.findIndex((other) => same(value, other));
            if (at < 0) return false;
            rest.splice(at, 1);
        }
    }
    if (a instanceof Map) {
        if (a.size !== b.size) return false;
        for (const [key, value] of a) {
            const found = b.has(key) ? [key] : [...b.keys()].filter((other) => !a.has(other) && same(key, other));
            if (!found.some((other) => same(value, b.get(other)))) return false;
        }
    }
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length || !keys.every((key) => Object.hasOwn(b, key))) return false;
    if (!keys.every((key) => same(a[key], b[key]))) return false;
    const symbols = Object.getOwnPropertySymbols(a).filter((key) => Object.prototype.propertyIsEnumerable.call(a, key));
    return !strict || symbols.every((key) => same(a[key], b[key]));
}

// ---------------------------------------------------------------- text of bytes

class TextEncoder {
    get encoding() { return "utf-8"; }

    encode(text: unknown = ""): Uint8Array {
        const whole = String(text);
        return becket.native.encode(whole.isWellFormed() ? whole : whole.toWellFormed());
    }

    encodeInto(text: string, target: Uint8Array): { read: number; written: number } {
        let [read, written] = [0, 0];
        for (const letter of String(text)) {
            const bytes = this.encode(letter);
            if (written + bytes.length > target.length) break;
            target.set(bytes, written);
            written += bytes.length;
            read += letter.length;
        }
        return { read, written };
    }
}

const LABELS: Record<string, string> = {
    "utf-8": "utf-8", utf8: "utf-8", "unicode-1-1-utf-8": "utf-8", "utf-16le": "utf-16le", "utf-16": "utf-16le",
    "ucs-2": "utf-16le", latin1: "windows-1252", "iso-8859-1": "windows-1252", ascii: "windows-1252",
    "us-ascii": "windows-1252", "windows-1252": "windows-1252", l1: "windows-1252",
};

class TextDecoder {
    readonly encoding: string;
    readonly fatal: boolean;
    readonly ignoreBOM: boolean;
    #decoder: any;
    #begun = false;

    constructor(label: unknown = "utf-8", options: any = {}) {
        const known = LABELS[String(label).trim().toLowerCase()];
        if (known === undefined) {
            throw coded(RangeError, "ERR_ENCODING_NOT_SUPPORTED", `The "${String(label)}" encoding is not supported`);
        }
        this.encoding = known;
        this.fatal = !!options?.fatal;
        this.ignoreBOM = !!options?.ignoreBOM;
    }

    decode(input: any = new Uint8Array(0), options: any = {}): string {
        const bytes = ArrayBuffer.isView(input)
            ? new Uint8Array(input.buffer as any, input.byteOffset, input.byteLength) : new Uint8Array(input);
        const kind = this.encoding === "utf-8" ? "utf8" : this.encoding === "utf-16le" ? "utf16le" : "latin1";
        this.#decoder ??= new (require("string_decoder").StringDecoder)(kind);
        let text = this.#decoder.write(bytes);
        if (!options?.stream) text += this.#decoder.end();
        if (this.fatal && kind === "utf8" && text.includes("\ufffd") && !holdsReplacement(bytes)) {
            this.#decoder = undefined;
            throw coded(TypeError, "ERR_ENCODING_INVALID_ENCODED_DATA",
                "The encoded data was not valid for encoding utf-8");
        }
        if (!this.#begun && !this.ignoreBOM && kind !== "latin1" && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
        this.#begun = !!options?.stream && (this.#begun || text !== "");
        return text;
    }
}

/** Whether the bytes themselves say U+FFFD. */
function holdsReplacement(bytes: Uint8Array): boolean {
    return require("buffer").Buffer.from(bytes).includes(Buffer.from([0xef, 0xbf, 0xbd]));
}
for (const type of [TextEncoder, TextDecoder]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { configurable: true, value: type.name });
}

// ---------------------------------------------------------------- others

function stripVTControlCharacters(text: string): string {
    if (typeof text !== "string") throw argument("str", "of type string", text);
    return text.replace(/[\u001b\u009b][[\]()#;?]*(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001b\u005c|\u009c)|(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~])/g, "");
}

function styleText(format: string | string[], text: string): string {
    let [open, close] = ["", ""];
    for (const name of Array.isArray(format) ? format : [format]) {
        const pair = colors[name];
        if (pair === undefined) {
            throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'format' must be one of: ` +
                `${Object.keys(colors).map((one) => `'${one}'`).join(", ")}. Received ${inspect(name)}`);
        }
        open += `\u001b[${pair[0]}m`;
        close = `\u001b[${pair[1]}m${close}`;
    }
    return `${open}${text}${close}`;
}

function parseArgs(config: any = {}): any {
    return require("internal/arguments").parseArgs(config);
}

module.exports = {
    promisify, callbackify, inherits, deprecate, debuglog, debug: debuglog, isDeepStrictEqual, inspect, format,
    formatWithOptions, types, TextEncoder, TextDecoder, stripVTControlCharacters, styleText, parseArgs,
    isArray: Array.isArray, _extend: Object.assign, toUSVString: (text: any) => String(text).toWellFormed(),
    isString: (value: any) => typeof value === "string", isNumber: (value: any) => typeof value === "number",
    isFunction: (value: any) => typeof value === "function", isObject: (value: any) => value !== null && typeof value === "object",
    isBoolean: (value: any) => typeof value === "boolean", isUndefined: (value: any) => value === undefined,
    isNull: (value: any) => value === null, isRegExp: types.isRegExp, isDate: types.isDate, isError: types.isNativeError,
    isPrimitive: (value: any) => value === null || (typeof value !== "object" && typeof value !== "function"),
    isNullOrUndefined: (value: any) => value === null || value === undefined,
    isSymbol: (value: any) => typeof value === "symbol", isBuffer: (value: any) => Buffer.isBuffer(value),
    log: (...values: any[]) => console.log(...values),
    getSystemErrorMap: () => new Map(Object.entries(require("os").constants.errno)
        .map(([name, number]: any) => [-number, [name, name]])),
    getSystemErrorName: (number: number) => Object.entries(require("os").constants.errno)
        .find(([, value]) => value === -number)?.[0],
    aborted: (signal: any) => new Promise<void>((done) => signal.aborted ? done()
        : signal.addEventListener("abort", () => done(), { once: true })),
};
Object.defineProperty(module.exports, "equal", { enumerable: false, value: equal });
