// Hashes and randomness.

const { coded, argument, range } = require("internal/errors");
const { Buffer } = require("buffer");
const { host, native } = becket;

function taken(parcel: any): any {
    const found = native.parcel(parcel.parcel);
    return Buffer.from(found.buffer, found.byteOffset, found.byteLength);
}

function bytesOf(data: any, encoding?: any): any {
    if (typeof data === "string") return Buffer.from(data, encoding === "buffer" ? "utf8" : encoding);
    if (data instanceof ArrayBuffer) return Buffer.from(data);
    if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer as any, data.byteOffset, data.byteLength);
    if (data instanceof KeyObject) return data.export();
    throw argument("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
}

/** What Rust reads as bytes. Text goes as it is. */
function piece(data: any, encoding?: any): any {
    if (typeof data === "string" && (encoding === undefined || /^utf-?8$/i.test(encoding))) return data.toWellFormed();
    return { base64: bytesOf(data, encoding).toBase64() };
}

function plainName(name: string): string {
    return String(name).toLowerCase().replace(/^rsa-/, "").replace(/^sha-/, "sha");
}

class Hash extends (require("stream") as any).Transform {
    #algorithm: string;
    #key?: any;
    #data: any[] = [];
    #done = false;

    constructor(algorithm: string, key?: any, data: any[] = []) {
        super();
        this.#algorithm = plainName(algorithm);
        this.#key = key;
        this.#data = data;
    }

    update(data: any, encoding?: any): this {
        if (this.#done) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
        this.#data.push(piece(data, encoding));
        return this;
    }

    digest(encoding?: any): any {
        if (this.#done) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
        this.#done = true;
        const found = taken(host.call("crypto.hash", { algorithm: this.#algorithm, key: this.#key, data: this.#data }));
        return encoding && encoding !== "buffer" ? found.toString(encoding) : found;
    }

    copy(): Hash { return new Hash(this.#algorithm, this.#key, [...this.#data]); }
    _transform(chunk: any, encoding: any, done: any) { this.update(chunk, encoding === "buffer" ? undefined : encoding); done(); }
    _flush(done: any) { this.push(this.digest()); done(); }
}

const getHashes = () => host.call("crypto.names") as string[];

function createHash(algorithm: string): any {
    if (typeof algorithm !== "string") throw argument("algorithm", "of type string", algorithm);
    if (!getHashes().includes(plainName(algorithm))) throw new Error("Digest method not supported");
    return new Hash(algorithm);
}

function createHmac(algorithm: string, key: any): any {
    if (typeof algorithm !== "string") throw argument("hmac", "of type string", algorithm);
    if (!getHashes().includes(plainName(algorithm))) {
        throw coded(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${algorithm}`);
    }
    return new Hash(algorithm, { base64: bytesOf(key).toBase64() });
}

class KeyObject {
    readonly type = "secret";
    #bytes: any;
    constructor(bytes: any) { this.#bytes = Buffer.from(bytes); }
    get symmetricKeySize() { return this.#bytes.length; }
    export(options: any = {}) {
        return options.format === "jwk" ? { kty: "oct", k: this.#bytes.toString("base64url") } : Buffer.from(this.#bytes);
    }
}

// ---------------------------------------------------------------- randomness

function randomBytes(size: number, callback?: any): any {
    if (typeof size !== "number") throw argument("size", "of type number", size);
    if (!(size >= 0 && size <= 2147483647)) throw range("size", ">= 0 && <= 2147483647", size);
    const found = taken(host.call("crypto.random", { length: size }));
    if (typeof callback !== "function") return found;
    queueMicrotask(() => callback(null, found));
}

function randomFillSync(target: any, offset = 0, size = target.byteLength - offset): any {
    const view = ArrayBuffer.isView(target) ? new Uint8Array(target.buffer as any, target.byteOffset, target.byteLength)
        : new Uint8Array(target);
    view.set(randomBytes(size), offset);
    return target;
}

function randomUUID(): string {
    const bytes = randomBytes(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function randomInt(low: any, high?: any, callback?: any): any {
    if (high === undefined || typeof high === "function") [low, high, callback] = [0, low, high];
    for (const [name, value] of [["min", low], ["max", high]] as const) {
        if (!Number.isSafeInteger(value)) throw argument(name, "a safe integer", value);
    }
    if (high <= low) throw range("max", `greater than the value of "min" (${low})`, high);
    const width = high - low;
    if (width >= 2 ** 48) throw range("max - min", `<= ${2 ** 48 - 1}`, width);
    // Numbers at the end that do not fill a whole round would make some results likelier.
    const fair = 2 ** 48 - 2 ** 48 % width;
    let found = randomBytes(6).readUIntBE(0, 6);
    while (found >= fair) found = randomBytes(6).readUIntBE(0, 6);
    const number = low + found % width;
    if (!callback) return number;
    queueMicrotask(() => callback(undefined, number));
}

function timingSafeEqual(a: any, b: any): boolean {
    const [x, y] = [bytesOf(a), bytesOf(b)];
    if (x.length !== y.length) {
        throw coded(RangeError, "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length");
    }
    let different = 0;
    for (let at = 0; at < x.length; at++) different |= x[at] ^ y[at];
    return different === 0;
}

// ---------------------------------------------------------------- the interface of the web

const nameOf = (algorithm: any) => String(algorithm?.name ?? algorithm);
const unsupported = (what: string) => new DOMException(`${what} is not served by the embedded engine`, "NotSupportedError");
const whole = (bytes: any) => new Uint8Array(bytes).buffer;

class CryptoKey {
    constructor(readonly type: string, readonly extractable: boolean, readonly algorithm: any, readonly usages: string[],
        bytes: any) { Object.defineProperty(this, "bytes", { value: bytes }); }
}

const subtle = {
    async digest(algorithm: any, data: any) {
        const name = plainName(nameOf(algorithm));
        if (!["sha1", "sha256", "sha384", "sha512"].includes(name)) throw unsupported(nameOf(algorithm));
        return whole(createHash(name).update(bytesOf(data)).digest());
    },
    async importKey(format: string, data: any, algorithm: any, extractable: boolean, usages: string[]) {
        if (nameOf(algorithm).toUpperCase() !== "HMAC") throw unsupported(`importKey of ${nameOf(algorithm)}`);
        if (format !== "raw" && format !== "jwk") throw unsupported(`the format ${format}`);
        const bytes = format === "raw" ? Buffer.from(bytesOf(data)) : Buffer.from(data.k, "base64url");
        const hash = { name: nameOf(algorithm.hash ?? "SHA-256") };
        return new CryptoKey("secret", extractable, { name: "HMAC", hash, length: bytes.length * 8 }, usages, bytes);
    },
    async exportKey(format: string, key: any) {
        if (format !== "raw") throw unsupported(`the format ${format}`);
        if (!key.extractable) throw new DOMException("key is not extractable", "InvalidAccessException");
        return whole(key.bytes);
    },
    async generateKey(algorithm: any, extractable: boolean, usages: string[]) {
        return subtle.importKey("raw", randomBytes((algorithm.length ?? 512) / 8), algorithm, extractable, usages);
    },
    async sign(algorithm: any, key: any, data: any) {
        if (nameOf(algorithm).toUpperCase() !== "HMAC") throw unsupported(`sign with ${nameOf(algorithm)}`);
        return whole(createHmac(key.algorithm.hash.name, key.bytes).update(bytesOf(data)).digest());
    },
    async verify(algorithm: any, key: any, signature: any, data: any) {
        const found = Buffer.from(await subtle.sign(algorithm, key, data));
        const given = bytesOf(signature);
        return found.length === given.length && timingSafeEqual(found, given);
    },
    ...Object.fromEntries(["encrypt", "decrypt", "deriveBits", "deriveKey", "wrapKey", "unwrapKey"].map((name) =>
        [name, async () => { throw unsupported(`crypto.subtle.${name}`); }])),
};

const webcrypto = {
    subtle, randomUUID,
    getRandomValues(view: any) {
        if (!ArrayBuffer.isView(view)) throw argument("typedArray", "an instance of TypedArray", view);
        if (view.byteLength > 65536) {
            throw new DOMException("The requested length exceeds 65,536 bytes", "QuotaExceededError");
        }
        return randomFillSync(view);
    },
};

module.exports = {
    createHash, createHmac, getHashes, randomBytes, randomFillSync, randomUUID, randomInt, timingSafeEqual, webcrypto,
    subtle, getRandomValues: webcrypto.getRandomValues, KeyObject, Hash, Hmac: Hash, constants: {},
    pseudoRandomBytes: randomBytes, createSecretKey: (key: any, encoding?: any) => new KeyObject(bytesOf(key, encoding)),
    hash: (algorithm: string, data: any, encoding = "hex") => createHash(algorithm).update(data).digest(encoding),
    randomFill(target: any, ...rest: any[]) {
        const callback = rest.pop();
        randomFillSync(target, ...rest);
        queueMicrotask(() => callback(null, target));
    },
    getCiphers: () => [], getCurves: () => [], getFips: () => 0,
};
