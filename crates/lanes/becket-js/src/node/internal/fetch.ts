// `fetch`. The host talks to the network: `fetch` begins a request and gives the head of the answer, `fetch.read` the next
// bytes of its body (nothing at the end), `fetch.close` ends it.

const { host } = becket;
const { Buffer, Blob, File } = require("buffer");

function nameOf(name: any): string {
    const text = String(name);
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) throw new TypeError(`Headers.append: "${text}" is an invalid header name.`);
    return text.toLowerCase();
}

/** A value without what stands around it; none with a line of its own, which would be another header. */
function valueOf(method: string, value: any): string {
    const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
    if (/[\0\r\n]/.test(text)) throw new TypeError(`Headers.${method}: "${text}" is an invalid header value.`);
    return text;
}

class Headers {
    #all = new Map<string, string[]>();

    constructor(init?: any) {
        if (init === undefined || init === null) return;
        const pairs = init instanceof Headers ? init.#pairs() : typeof init[Symbol.iterator] === "function" ? init
            : Object.entries(init);
        for (const [name, value] of pairs) this.append(name, value);
    }

    #pairs(): [string, string][] { return [...this.#all].flatMap(([name, values]) => values.map((one) => [name, one] as any)); }
    append(name: any, value: any) {
        const key = nameOf(name);
        this.#all.set(key, [...this.#all.get(key) ?? [], valueOf("append", value)]);
    }
    set(name: any, value: any) { this.#all.set(nameOf(name), [valueOf("set", value)]); }
    get(name: any): string | null { return this.#all.get(nameOf(name))?.join(", ") ?? null; }
    has(name: any) { return this.#all.has(nameOf(name)); }
    delete(name: any) { this.#all.delete(nameOf(name)); }
    getSetCookie(): string[] { return this.#all.get("set-cookie") ?? []; }
    *entries(): IterableIterator<[string, string]> {
        for (const name of [...this.#all.keys()].sort()) {
            if (name === "set-cookie") for (const value of this.#all.get(name)!) yield [name, value];
            else yield [name, this.get(name)!];
        }
    }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    forEach(run: any, self?: any) { for (const [name, value] of this.entries()) run.call(self, value, name, this); }
    [Symbol.iterator]() { return this.entries(); }
    [Symbol.for("nodejs.util.inspect.custom")](_: any, options: any, inspect: any) {
        return `Headers ${inspect(Object.fromEntries(this.entries()), options)}`;
    }
}

class FormData {
    #all: [string, any][] = [];
    append(name: string, value: any, filename?: string) { this.#all.push([String(name), part(value, filename)]); }
    set(name: string, value: any, filename?: string) { this.delete(name); this.append(name, value, filename); }
    delete(name: string) { this.#all = this.#all.filter(([key]) => key !== name); }
    get(name: string) { return this.#all.find(([key]) => key === name)?.[1] ?? null; }
    getAll(name: string) { return this.#all.filter(([key]) => key === name).map(([, value]) => value); }
    has(name: string) { return this.#all.some(([key]) => key === name); }
    forEach(run: any, self?: any) { for (const [name, value] of this.#all) run.call(self, value, name, this); }
    *entries() { yield* this.#all; }
    *keys() { for (const [name] of this.#all) yield name; }
    *values() { for (const [, value] of this.#all) yield value; }
    [Symbol.iterator]() { return this.entries(); }
}

function part(value: any, filename?: string): any {
    if (!(value instanceof Blob)) return String(value);
    const name = filename ?? (value as any).name ?? "blob";
    if (value instanceof File && filename === undefined) return value;
    return Object.defineProperty(value.slice(0, value.size, value.type), "name", { value: name });
}

// ---------------------------------------------------------------- bodies

/** A body as bytes or as a stream, and the type that it has by itself. */
async function bytesOf(body: any): Promise<any> {
    if (body instanceof FormData) return formBytes(body);
    if (body instanceof Blob) return Buffer.from(await body.arrayBuffer());
    if (body instanceof ArrayBuffer) return Buffer.from(body);
    if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer as any, body.byteOffset, body.byteLength);
    if (typeof body?.getReader === "function" || typeof body?.[Symbol.asyncIterator] === "function") {
        const chunks = [];
        for await (const chunk of body) chunks.push(typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk));
        return Buffer.concat(chunks);
    }
    return Buffer.from(String(body));
}

const boundaries = new WeakMap<object, string>();

function boundaryOf(form: any): string {
    const known = boundaries.get(form) ?? `----becket${crypto.randomUUID().replaceAll("-", "")}`;
    boundaries.set(form, known);
    return known;
}

async function formBytes(form: any): Promise<any> {
    const boundary = boundaryOf(form);
    const chunks: any[] = [];
    const quoted = (text: string) => text.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");
    for (const [name, value] of form) {
        let head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
        if (value instanceof Blob) {
            head += `; filename="${quoted((value as any).name ?? "blob")}"\r\nContent-Type: ` +
                (value.type || "application/octet-stream");
        }
        chunks.push(Buffer.from(`${head}\r\n\r\n`), value instanceof Blob ? Buffer.from(await value.arrayBuffer())
            : Buffer.from(value), Buffer.from("\r\n"));
    }
    return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
}

function typeOf(body: any): string | null {
    if (typeof body === "string") return "text/plain;charset=UTF-8";
    if (body instanceof URLSearchParams) return "application/x-www-form-urlencoded;charset=UTF-8";
    if (body instanceof FormData) return `multipart/form-data; boundary=${boundaryOf(body)}`;
    return body instanceof Blob && body.type !== "" ? body.type : null;
}

class Body {
    headers: any;
    #given: any;
    #stream: any;
    #used = false;

    protected setBody(body: any): void {
        this.#given = body ?? null;
        const type = typeOf(body);
        if (type !== null && !this.headers.has("content-type")) this.headers.set("content-type", type);
    }

    protected takeGiven(): any { return this.#given; }

    get body(): any {
        if (this.#given === null) return null;
        if (typeof this.#given.getReader === "function") return this.#given;
        const given = this.#given;
        return this.#stream ??= new ReadableStream({
            async pull(control: any) { control.enqueue(new Uint8Array(await bytesOf(given))); control.close(); },
        });
    }

    get bodyUsed() { return this.#used || !!this.#given?.used; }

    async #all(): Promise<any> {
        if (this.bodyUsed || this.#stream?.locked || this.#given?.locked) {
            throw new TypeError("Body is unusable: Body has already been read");
        }
        if (this.#given === null) return Buffer.alloc(0);
        this.#used = true;
        return bytesOf(this.#stream ?? this.#given);
    }

    async bytes() { return new Uint8Array(await this.#all()); }
    async arrayBuffer() { return new Uint8Array(await this.#all()).buffer; }
    async text() { return new TextDecoder().decode(await this.#all()); }
    async json() { return JSON.parse(await this.text()); }
    async blob() { return new Blob([await this.#all()], { type: this.headers.get("content-type") ?? "" }); }
    async formData() {
        const form = new FormData();
        if (!(this.headers.get("content-type") ?? "").startsWith("application/x-www-form-urlencoded")) {
            throw new TypeError("formData() of this type is not served by the embedded engine");
        }
        for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
        return form;
    }

    protected split(): any {
        if (this.bodyUsed) throw new TypeError("Body has already been consumed.");
        if (this.#given === null || typeof this.#given.getReader !== "function") return this.#given;
        const [mine, other] = this.#given.tee();
        this.#given = mine;
        return other;
    }
}

class Request extends Body {
    readonly url: string;
    readonly method: string;
    readonly signal: any;
    readonly redirect: string;

    constructor(input: any, init: any = {}) {
        super();
        const from = input instanceof Request ? input : undefined;
        this.url = from ? from.url : new URL(String(input)).href;
        const method = String(init.method ?? from?.method ?? "GET");
        this.method = /^(get|head|post|put|delete|options|patch)$/i.test(method) ? method.toUpperCase() : method;
        this.headers = new Headers(init.headers ?? from?.headers);
        this.signal = init.signal ?? from?.signal ?? new AbortController().signal;
        this.redirect = init.redirect ?? from?.redirect ?? "follow";
        const body = init.body ?? from?.takeGiven() ?? null;
        if (body !== null && (this.method === "GET" || this.method === "HEAD")) {
            throw new TypeError("Request with GET/HEAD method cannot have body.");
        }
        this.setBody(body);
    }

    given() { return this.takeGiven(); }
    clone() { return new Request(this, { body: this.split() ?? undefined }); }
}

class Response extends Body {
    readonly status: number;
    readonly statusText: string;
    readonly type: string = "default";
    url = "";
    redirected = false;

    constructor(body?: any, init: any = {}) {
        super();
        this.status = init.status ?? 200;
        if (this.status < 200 || this.status > 599) {
            throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
        }
        this.statusText = init.statusText ?? "";
        this.headers = new Headers(init.headers);
        this.setBody(body);
    }

    get ok() { return this.status >= 200 && this.status <= 299; }
    clone() {
        const copy = new Response(this.split(), this);
        return Object.assign(copy, { url: this.url, redirected: this.redirected });
    }
    static json(value: any, init: any = {}) {
        const headers = new Headers(init.headers);
        if (!headers.has("content-type")) headers.set("content-type", "application/json");
        return new Response(JSON.stringify(value), { ...init, headers });
    }
    static redirect(url: any, status = 302) { return new Response(null, { status, headers: { location: String(url) } }); }
    static error() { return Object.assign(new Response(null), { type: "error" }); }
}

// ---------------------------------------------------------------- fetch

/** Encodings that can be undone here; an answer in another one would be of no use. */
function readable(encodings: string): string {
    return encodings.split(",").filter((one) => !/^\s*(br|zstd)\b/.test(one)).join(",").trim() || "identity";
}

/** The body of an answer: bytes as they come. */
function arriving(id: number, signal: any): any {
    let over = false;
    const end = () => {
        if (!over) host.callAsync("fetch.close", { id }).catch(() => {});
        over = true;
    };
    const stream = new ReadableStream({
        start(control: any) {
            signal.addEventListener("abort", () => {
                if (over) return;
                end();
                control.error(signal.reason);
            }, { once: true });
        },
        async pull(control: any) {
            const chunk: any = await host.callAsync("fetch.read", { id }).catch((error: any) => { throw failed(error); });
            if (over) return;
            if (chunk === null || chunk === undefined) {
                over = true;
                control.close();
            } else control.enqueue((Uint8Array as any).fromBase64(chunk.base64));
        },
        cancel: end,
    }, { highWaterMark: 0 });
    return stream;
}

/** A body as it was before the server compressed it; one that was compressed in another way stays as it comes. */
function unpacked(body: any, coding: string): any {
    const codings = coding.toLowerCase().split(",").map((one) => one.trim()).filter((one) => one !== "" && one !== "identity");
    if (codings.length === 0 || codings.some((one) => !["gzip", "x-gzip", "deflate"].includes(one))) return body;
    const { Readable, pipeline } = require("stream");
    const { createUnzip, constants } = require("zlib");
    // What was cut off is read as far as it goes, as browsers do.
    const steps = codings.map(() => createUnzip({ finishFlush: constants.Z_SYNC_FLUSH }));
    pipeline(Readable.from(body), ...steps, () => {});
    return Readable.toWeb(steps[steps.length - 1]);
}

function failed(error: any): any {
    if (error?.code === "ERR_ACCESS_DENIED") return error;
    return Object.assign(new TypeError("fetch failed"), { cause: error });
}

async function fetch(input: any, init: any = {}): Promise<any> {
    const request = new Request(input, init);
    const { signal } = request;
    if (signal.aborted) throw signal.reason;
    const body = request.given();
    const id = Number(becket.native.ticket());
    const headers = [...request.headers].map(([name, value]: any) => [name, name === "accept-encoding" ? readable(value) : value]);
    const message = {
        id, url: request.url, method: request.method, headers, redirect: request.redirect,
        body: body === null ? undefined : (await bytesOf(body)).toBase64(),
    };
    const stop = (Promise as any).withResolvers();
    stop.promise.catch(() => {});
    const aborted = () => {
        host.callAsync("fetch.close", { id }).catch(() => {});
        stop.reject(signal.reason);
    };
    signal.addEventListener("abort", aborted, { once: true });
    try {
        const begun = host.callAsync("fetch", message).catch((error: any) => { throw failed(error); });
        begun.catch(() => {});
        const head: any = await Promise.race([begun, stop.promise]);
        const empty = request.method === "HEAD" || [101, 204, 205, 304].includes(head.status);
        if (empty) host.callAsync("fetch.close", { id }).catch(() => {});
        const headers = new Headers(head.headers);
        const body = empty ? null : unpacked(arriving(id, signal), headers.get("content-encoding") ?? "");
        const response = new Response(body, { status: head.status, statusText: head.statusText, headers });
        return Object.assign(response, { url: head.url, redirected: head.url !== request.url });
    } finally {
        signal.removeEventListener("abort", aborted);
    }
}
for (const type of [Headers, FormData, Request, Response]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { configurable: true, value: type.name });
}

module.exports = { fetch, readable, Headers, FormData, Request, Response };
