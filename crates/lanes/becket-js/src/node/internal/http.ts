// Requests in Node's old interface. They go the way of `fetch`, so bodies are sent whole and answers come as they
// arrive; there are no sockets to look at, and agents change nothing.

const { Readable, Writable } = require("stream");
const EventEmitter = require("events");
const { coded, refusing } = require("internal/errors");
const { readable } = require("internal/fetch");
const { host, native } = becket;

const METHODS = (
    "ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL" +
    " MOVE NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE" +
    " SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE"
).split(" ");
const STATUS_CODES: Record<number, string> = {
    100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints", 200: "OK", 201: "Created",
    202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content",
    206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used", 300: "Multiple Choices",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 305: "Use Proxy",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
    402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
    407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required",
    412: "Precondition Failed", 413: "Payload Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
    416: "Range Not Satisfiable", 417: "Expectation Failed", 418: "I'm a Teapot", 421: "Misdirected Request",
    422: "Unprocessable Entity", 423: "Locked", 424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required",
    428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
    451: "Unavailable For Legal Reasons", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    506: "Variant Also Negotiates", 507: "Insufficient Storage", 508: "Loop Detected",
    509: "Bandwidth Limit Exceeded", 510: "Not Extended", 511: "Network Authentication Required",
};

/** Headers that belong to a connection, which the host makes by itself. */
const OF_CONNECTION = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "upgrade", "expect",
    "content-length"];

/** Headers of which only the first counts. */
const SINGLE = ["age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host",
    "if-modified-since", "if-unmodified-since", "last-modified", "location", "max-forwards", "proxy-authorization",
    "referer", "retry-after", "server", "user-agent"];

function validateHeaderName(name: any): void {
    if (typeof name !== "string" || !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
        throw coded(TypeError, "ERR_INVALID_HTTP_TOKEN", `Header name must be a valid HTTP token ["${name}"]`);
    }
}

function validateHeaderValue(name: string, value: any): void {
    if (value === undefined) {
        throw coded(TypeError, "ERR_HTTP_INVALID_HEADER_VALUE", `Invalid value "undefined" for header "${name}"`);
    }
    if (/[^\t\x20-\x7e\x80-\xff]/.test(String(value))) {
        throw coded(TypeError, "ERR_INVALID_CHAR", `Invalid character in header content ["${name}"]`);
    }
}

/** Stands where programs look for a socket. */
function socketOf(request: any): any {
    const self = function (this: any) { return this; };
    return Object.assign(new (EventEmitter as any)(), {
        connecting: false, writable: true, readable: true, destroyed: false, encrypted: request.protocol === "https:",
        authorized: true, remoteAddress: undefined, remotePort: undefined, setTimeout: self, setNoDelay: self,
        setKeepAlive: self, ref: self, unref: self, getPeerCertificate: () => ({}),
        destroy: (error: any) => request.destroy(error),
    });
}

// ---------------------------------------------------------------- what both sides have

/** Headers of a message that is sent. */
class OutgoingMessage extends (Writable as any) {
    #headers = new Map<string, [string, any]>();
    headersSent = false;
    sendDate = false;

    setHeader(name: any, value: any) {
        validateHeaderName(name);
        for (const one of Array.isArray(value) ? value : [value]) validateHeaderValue(name, one);
        if (this.headersSent) {
            throw coded(Error, "ERR_HTTP_HEADERS_SENT", "Cannot set headers after they are sent to the client");
        }
        this.#headers.set(name.toLowerCase(), [name, value]);
        return this;
    }
    setHeaders(headers: any) { for (const [name, value] of headers) this.setHeader(name, value); return this; }
    appendHeader(name: any, value: any) {
        const known = this.getHeader(name);
        return this.setHeader(name, known === undefined ? value : [known, value].flat());
    }
    getHeader(name: string): any {
        const value = this.#headers.get(String(name).toLowerCase())?.[1];
        return typeof value === "number" || Array.isArray(value) || value === undefined ? value : String(value);
    }
    getHeaders() {
        const all = Object.create(null);
        for (const [key, [, value]] of this.#headers) all[key] = value;
        return all;
    }
    getHeaderNames() { return [...this.#headers.keys()]; }
    getRawHeaderNames() { return [...this.#headers.values()].map(([name]) => name); }
    hasHeader(name: string) { return this.#headers.has(String(name).toLowerCase()); }
    removeHeader(name: string) { this.#headers.delete(String(name).toLowerCase()); }
    flushHeaders() {}
    addTrailers() {}
}

/** A message that is received: its head, and its body as a stream. */
class IncomingMessage extends (Readable as any) {
    httpVersion = "1.1";
    httpVersionMajor = 1;
    httpVersionMinor = 1;
    complete = false;
    aborted = false;
    url = "";
    method: any = null;
    headers: Record<string, any> = {};
    headersDistinct: Record<string, string[]> = {};
    rawHeaders: string[] = [];
    trailers = {};
    rawTrailers: string[] = [];
    statusCode: any = null;
    statusMessage: any = null;

    constructor(readonly socket?: any) { super(); }
    get connection() { return this.socket; }

    addHeader(name: string, value: string): void {
        const key = name.toLowerCase();
        this.rawHeaders.push(name, value);
        (this.headersDistinct[key] ??= []).push(value);
        const known = this.headers[key];
        if (key === "set-cookie") (this.headers[key] ??= []).push(value);
        else if (known === undefined) this.headers[key] = value;
        else if (!SINGLE.includes(key)) this.headers[key] = `${known}${key === "cookie" ? "; " : ", "}${value}`;
    }
    setTimeout(_milliseconds: number, done?: any) { if (done) this.on("timeout", done); return this; }
}

// ---------------------------------------------------------------- requests

/** Where a request goes and how, from an address, options, or both. */
function wanted(protocol: string, given: any[]): { options: any; url: URL; callback: any } {
    const [first, second, third] = given;
    const address = typeof first === "string" ? new URL(first) : first instanceof URL ? first : undefined;
    const options = { ...(address === undefined ? first : typeof second === "object" ? second : {}) };
    const callback = [second, third].find((one) => typeof one === "function");
    const scheme = options.protocol ?? address?.protocol ?? options.agent?.protocol ?? protocol;
    if (scheme !== protocol) {
        throw coded(TypeError, "ERR_INVALID_PROTOCOL", `Protocol "${scheme}" not supported. Expected "${protocol}"`);
    }
    if (/[^\x21-\xff]/.test(options.path ?? "")) {
        throw coded(TypeError, "ERR_UNESCAPED_CHARACTERS", "Request path contains unescaped characters");
    }
    const name = options.hostname ?? options.host ?? address?.hostname ?? "localhost";
    const bracketed = require("net").isIPv6(name) ? `[${name}]` : name;
    const port = options.port ?? options.defaultPort ?? address?.port ?? "";
    const path = options.path ?? `${address?.pathname ?? "/"}${address?.search ?? ""}`;
    const url = new URL(`${scheme}//${bracketed}${port === "" ? "" : `:${port}`}${path}`);
    if (options.auth === undefined && address?.username) {
        options.auth = `${decodeURIComponent(address.username)}:${decodeURIComponent(address.password)}`;
    }
    return { options, url, callback };
}

class ClientRequest extends OutgoingMessage {
    readonly method: string;
    readonly path: string;
    readonly host: string;
    readonly protocol: string;
    readonly socket: any;
    readonly agent: any;
    reusedSocket = false;
    aborted = false;
    res: any = null;
    #url: URL;
    #id = Number(native.ticket());
    #chunks: any[] = [];
    #begun = false;
    #over = false;
    #silence: any;
    #timeout = 0;

    constructor(protocol: string, given: any[]) {
        const { options, url, callback } = wanted(protocol, given);
        super({ autoDestroy: false, emitClose: false, signal: options.signal });
        this.method = String(options.method ?? "GET").toUpperCase();
        if (!/^[A-Z-]+$/.test(this.method)) {
            throw coded(TypeError, "ERR_INVALID_HTTP_TOKEN", `Method must be a valid HTTP token ["${this.method}"]`);
        }
        [this.#url, this.host, this.protocol] = [url, url.hostname, protocol];
        this.path = `${url.pathname}${url.search}`;
        this.agent = options.agent;
        this.socket = socketOf(this);
        this.#setHeaders(options);
        if (callback) this.once("response", callback);
        if (options.timeout) this.setTimeout(options.timeout);
        queueMicrotask(() => this.emit("socket", this.socket));
        const tunnels = this.hasHeader("upgrade") || this.method === "CONNECT";
        const unserved = options.socketPath ? "with socketPath" : tunnels ? "that becomes another connection" : "";
        if (unserved) queueMicrotask(() => this.#attempt(refusing(`http.request ${unserved}`)));
    }

    #setHeaders({ headers = {}, auth, setHost }: any): void {
        const pairs = Array.isArray(headers)
            ? Array.isArray(headers[0]) ? headers : headers.flatMap((one, at) => at % 2 ? [] : [[one, headers[at + 1]]])
            : Object.entries(headers);
        for (const [name, value] of pairs) if (value !== undefined) this.setHeader(name, value);
        if (setHost !== false && !this.hasHeader("host")) this.setHeader("Host", this.#url.host);
        if (auth && !this.hasHeader("authorization")) {
            this.setHeader("Authorization", `Basic ${Buffer.from(String(auth)).toString("base64")}`);
        }
    }

    #attempt(run: () => void): void {
        try {
            run();
        } catch (error) {
            this.destroy(error);
        }
    }

    get connection() { return this.socket; }
    get maxHeadersCount() { return null; }
    get finished() { return this.writableEnded; }
    setNoDelay() {}
    setSocketKeepAlive() {}
    abort() {
        if (this.aborted) return;
        this.aborted = true;
        queueMicrotask(() => this.emit("abort"));
        this.destroy();
    }
    setTimeout(milliseconds: number, done?: any) {
        if (done) this.once("timeout", done);
        this.#timeout = milliseconds;
        this.#wait();
        return this;
    }

    /** Nothing has come for a while: this is told, and ends nothing. */
    #wait(): void {
        clearTimeout(this.#silence);
        if (this.#timeout > 0 && !this.#over) this.#silence = setTimeout(() => this.emit("timeout"), this.#timeout);
    }

    _write(chunk: any, encoding: any, done: any) {
        this.#chunks.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : Buffer.from(chunk));
        done();
    }
    _final(done: any) {
        done();
        if (!this.destroyed) this.#send();
    }
    _destroy(error: any, done: any) {
        if (this.#begun) host.callAsync("fetch.close", { id: this.#id }).catch(() => {});
        const hangUp = () => coded(Error, "ECONNRESET", this.res ? "aborted" : "socket hang up");
        const { res } = this;
        if (res === null) done(error ?? hangUp());
        else done(null);
        if (res !== null && !this.#over) {
            res.aborted = true;
            res.emit("aborted");
            res.destroy(error ?? hangUp());
        }
        this.#close();
    }

    #close(): void {
        if (this.#over) return;
        this.#over = true;
        clearTimeout(this.#silence);
        // After the error, which is told in the same way.
        queueMicrotask(() => this.emit("close"));
    }

    #message(): any {
        const headers: [string, string][] = [];
        for (const [name, value] of Object.entries(this.getHeaders())) {
            if (OF_CONNECTION.includes(name) || (name === "host" && value === this.#url.host)) continue;
            for (const one of Array.isArray(value) ? value : [value]) {
                headers.push([name, name === "accept-encoding" ? readable(String(one)) : String(one)]);
            }
        }
        const body = this.#chunks.length > 0 ? Buffer.concat(this.#chunks).toBase64() : undefined;
        return { id: this.#id, url: this.#url.href, method: this.method, headers, redirect: "manual", body };
    }

    async #send(): Promise<void> {
        this.headersSent = true;
        this.#begun = true;
        this.#wait();
        let head: any;
        try {
            head = await host.callAsync("fetch", this.#message());
        } catch (error) {
            this.#begun = false;
            return void this.destroy(error);
        }
        if (this.destroyed) return;
        this.#wait();
        this.#receive(head);
    }

    #receive(head: any): void {
        const response: any = this.res = new IncomingMessage(this.socket);
        Object.assign(response, { statusCode: head.status, statusMessage: head.statusText, req: this });
        for (const [name, value] of head.headers) response.addHeader(name, value);
        response._read = () => this.#read(response);
        response._destroy = (error: any, done: any) => {
            if (!response.complete) host.callAsync("fetch.close", { id: this.#id }).catch(() => {});
            this.#close();
            done(error);
        };
        if (!this.emit("response", response)) response.resume();
    }

    async #read(response: any): Promise<void> {
        try {
            const chunk: any = await host.callAsync("fetch.read", { id: this.#id });
            if (response.destroyed) return;
            this.#wait();
            if (chunk) return void response.push(Buffer.from(chunk.base64, "base64"));
            response.complete = true;
            response.push(null);
            this.#close();
        } catch (error) {
            response.destroy(error);
        }
    }
}

// ---------------------------------------------------------------- modules

class Agent extends (EventEmitter as any) {
    maxSockets = Infinity;
    maxFreeSockets = 256;
    maxTotalSockets = Infinity;
    keepAlive = true;
    requests = {};
    sockets = {};
    freeSockets = {};
    options: any;
    protocol = "http:";
    defaultPort = 80;
    constructor(options: any = {}) {
        super();
        this.options = { ...options };
    }
    getName() { return "localhost::"; }
    destroy() {}
}

class SecureAgent extends Agent {
    protocol = "https:";
    defaultPort = 443;
}
Object.defineProperty(SecureAgent, "name", { value: "Agent" });

/** What `http` or `https` exports. */
function protocol(scheme: string): any {
    const Kind = scheme === "https:" ? SecureAgent : Agent;
    const request = (...given: any[]) => new ClientRequest(scheme, given);
    const get = (...given: any[]) => {
        const made = request(...given);
        made.end();
        return made;
    };
    class Request extends ClientRequest {
        constructor(...given: any[]) { super(scheme, given); }
    }
    Object.defineProperty(Request, "name", { value: "ClientRequest" });
    return {
        METHODS, STATUS_CODES, Agent: Kind, globalAgent: new Kind(), ClientRequest: Request, IncomingMessage,
        OutgoingMessage, request, get, validateHeaderName, validateHeaderValue, maxHeaderSize: 16384,
        setMaxIdleHTTPParsers() {},
    };
}

module.exports = { protocol };
