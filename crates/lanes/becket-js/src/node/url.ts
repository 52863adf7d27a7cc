// Addresses. Rust takes them apart; queries are made here.

const { coded, argument } = require("internal/errors");

const parts = Symbol("parts");
const owner = Symbol("owner");

function decoded(text: string): string {
    const bytes: number[] = [];
    const plain = text.replaceAll("+", " ");
    if (!plain.includes("%")) return plain;
    const source: Uint8Array = becket.native.encode(plain.toWellFormed());
    for (let at = 0; at < source.length; at++) {
        const hex = source[at] === 37 ? String.fromCharCode(source[at + 1] ?? 0, source[at + 2] ?? 0) : "";
        if (/^[0-9a-fA-F]{2}$/.test(hex)) {
            bytes.push(Number.parseInt(hex, 16));
            at += 2;
        } else bytes.push(source[at]);
    }
    return becket.native.decode((new Uint8Array(bytes) as any).toBase64(), "utf8");
}

function encoded(text: string): string {
    return encodeURIComponent(text.toWellFormed()).replace(/[!'()~]/g, (letter) =>
        `%${letter.charCodeAt(0).toString(16).toUpperCase()}`).replaceAll("%20", "+");
}

class URLSearchParams {
    #list: [string, string][] = [];
    [owner]?: any;

    constructor(init?: any) {
        if (init === undefined || init === null) return;
        if (typeof init === "object" || typeof init === "function") {
            if (typeof init[Symbol.iterator] === "function") {
                for (const pair of init) {
                    const both = [...pair];
                    if (both.length !== 2) {
                        throw coded(TypeError, "ERR_INVALID_TUPLE", "Each query pair must be an iterable [name, value] tuple");
                    }
                    this.#list.push([String(both[0]), String(both[1])]);
                }
            } else {
                for (const key of Reflect.ownKeys(init)) {
                    if (Object.prototype.propertyIsEnumerable.call(init, key)) {
                        this.#list.push([String(key), String(init[key])]);
                    }
                }
            }
        } else this.#read(String(init));
    }

    #read(text: string): void {
        this.#list = text.replace(/^\?/, "").split("&").filter((part) => part !== "").map((part) => {
            const at = part.indexOf("=");
            return at < 0 ? [decoded(part), ""] : [decoded(part.slice(0, at)), decoded(part.slice(at + 1))];
        });
    }

    /** The address has another query now. */
    static follow(params: URLSearchParams, text: string): void { params.#read(text); }

    #changed(): void { this[owner]?.(this.toString()); }

    get size() { return this.#list.length; }
    append(name: string, value: string) { this.#list.push([String(name), String(value)]); this.#changed(); }
    delete(name: string, value?: string) {
        this.#list = this.#list.filter(([key, one]) => key !== String(name) || (value !== undefined && one !== String(value)));
        this.#changed();
    }
    get(name: string) { return this.#list.find(([key]) => key === String(name))?.[1] ?? null; }
    getAll(name: string) { return this.#list.filter(([key]) => key === String(name)).map(([, value]) => value); }
    has(name: string, value?: string) {
        return this.#list.some(([key, one]) => key === String(name) && (value === undefined || one === String(value)));
    }
    set(name: string, value: string) {
        const at = this.#list.findIndex(([key]) => key === String(name));
        if (at < 0) this.#list.push([String(name), String(value)]);
        else {
            this.#list[at][1] = String(value);
            this.#list = this.#list.filter(([key], index) => key !== String(name) || index === at);
        }
        this.#changed();
    }
    sort() {
        this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
        this.#changed();
    }
    forEach(run: any, self?: any) { for (const [key, value] of this.#list) run.call(self, value, key, this); }
    *entries() { for (const [key, value] of this.#list) yield [key, value]; }
    *keys() { for (const [key] of this.#list) yield key; }
    *values() { for (const [, value] of this.#list) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#list.map(([key, value]) => `${encoded(key)}=${encoded(value)}`).join("&"); }
    [Symbol.for("nodejs.util.inspect.custom")](_: any, options: any, inspect: any) {
        const list = this.#list.map(([key, value]) => `${inspect(key, options)} => ${inspect(value, options)}`);
        return list.length === 0 ? "URLSearchParams {}" : `URLSearchParams { ${list.join(", ")} }`;
    }
}

class URL {
    [parts]: any;
    #params?: any;

    constructor(input: unknown, base?: unknown) {
        const found = becket.host.call("system.parseUrl", {
            input: String(input), base: base === undefined ? undefined : String(base),
        });
        if (found === null) {
            const properties = base === undefined ? { input: String(input) } : { input: String(input), base: String(base) };
            throw coded(TypeError, "ERR_INVALID_URL", "Invalid URL", properties);
        }
        Object.defineProperty(this, parts, { value: found, writable: true });
    }

    static canParse(input: unknown, base?: unknown): boolean {
        return URL.parse(input, base) !== null;
    }

    static parse(input: unknown, base?: unknown): URL | null {
        try {
            return new URL(input, base);
        } catch {
            return null;
        }
    }

    #set(part: string, value: unknown): void {
        this[parts] = becket.host.call("system.setUrl", { href: this[parts].href, part, value: String(value) });
        if (part === "search" && this.#params) (URLSearchParams as any).follow(this.#params, this[parts].search);
    }

    get href() { return this[parts].href; }
    set href(value) {
        this[parts] = new URL(value)[parts];
        if (this.#params) (URLSearchParams as any).follow(this.#params, this[parts].search);
    }
    get origin() { return this[parts].origin; }
    get protocol() { return this[parts].protocol; }
    set protocol(value) { this.#set("protocol", value); }
    get username() { return this[parts].username; }
    set username(value) { this.#set("username", value); }
    get password() { return this[parts].password; }
    set password(value) { this.#set("password", value); }
    get host() { return this[parts].host; }
    set host(value) { this.#set("host", value); }
    get hostname() { return this[parts].hostname; }
    set hostname(value) { this.#set("hostname", value); }
    get port() { return this[parts].port; }
    set port(value) { this.#set("port", value); }
    get pathname() { return this[parts].pathname; }
    set pathname(value) { this.#set("pathname", value); }
    get search() { return this[parts].search; }
    set search(value) { this.#set("search", value); }
    get hash() { return this[parts].hash; }
    set hash(value) { this.#set("hash", value); }
    get searchParams() {
        if (!this.#params) {
            this.#params = new URLSearchParams(this.search);
            Object.defineProperty(this.#params, owner, {
                value: (text: string) => {
                    this[parts] = becket.host.call("system.setUrl", { href: this[parts].href, part: "search", value: text });
                },
            });
        }
        return this.#params;
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
    [Symbol.for("nodejs.util.inspect.custom")](depth: any, options: any, inspect: any) {
        if (typeof depth === "number" && depth < 0) return this.toString();
        const shown: any = {};
        for (const name of ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname",
            "search", "searchParams", "hash"]) shown[name] = (this as any)[name];
        return `URL ${inspect(shown, options)}`;
    }
}
for (const type of [URL, URLSearchParams]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { configurable: true, value: type.name });
}

function fileURLToPath(address: any): string {
    const url = typeof address === "string" ? new URL(address) : address;
    if (!(url?.href && url?.protocol)) throw argument("path", "of type string or an instance of URL", address);
    if (url.protocol !== "file:") throw coded(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
    if (url.hostname !== "") {
        throw coded(TypeError, "ERR_INVALID_FILE_URL_HOST", `File URL host must be "localhost" or empty on linux`);
    }
    if (/%2f/i.test(url.pathname)) {
        throw coded(TypeError, "ERR_INVALID_FILE_URL_PATH", "File URL path must not include encoded / characters");
    }
    return decodeURIComponent(url.pathname);
}

function pathToFileURL(path: string): URL {
    if (typeof path !== "string") throw argument("path", "of type string", path);
    let whole = require("path").resolve(path);
    if (path.endsWith("/") && !whole.endsWith("/")) whole += "/";
    const escaped = whole.replace(/[%\\\n\r\t?#]/g, (letter: string) =>
        `%${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
    return new URL(`file://${escaped}`);
}

// ---------------------------------------------------------------- the old interface

const SLASHED = new Set(["http:", "https:", "ftp:", "gopher:", "file:", "ws:", "wss:"]);

function Url(this: any): void {
    for (const name of ["protocol", "slashes", "auth", "host", "port", "hostname", "hash", "search", "query", "pathname",
        "path", "href"]) this[name] = null;
}

function parse(address: any, query = false, slashes = false): any {
    if (typeof address !== "string") throw argument("url", "of type string", address);
    const url = new (Url as any)();
    let rest = address.trim().replace(/^[^?#]*/, (begin: string) => begin.replaceAll("\\", "/"));
    const hash = rest.indexOf("#");
    if (hash >= 0) { url.hash = rest.slice(hash); rest = rest.slice(0, hash); }
    const search = rest.indexOf("?");
    if (search >= 0) { url.search = rest.slice(search); url.query = url.search.slice(1); rest = rest.slice(0, search); }
    const scheme = /^[a-z0-9.+-]+:/i.exec(rest);
    if (scheme) { url.protocol = scheme[0].toLowerCase(); rest = rest.slice(scheme[0].length); }
    const slashed = rest.startsWith("//") && (url.protocol !== null || slashes);
    if (url.protocol !== "javascript:" && (slashed || (url.protocol !== null && !SLASHED.has(url.protocol)))) {
        if (slashed) url.slashes = true;
        const [, host, path] = /^(?:\/\/)?([^/]*)(.*)$/s.exec(rest)!;
        const at = host.lastIndexOf("@");
        if (at >= 0) url.auth = decodeURIComponent(host.slice(0, at));
        const [, name, port] = /^(.*?)(?::(\d*))?$/.exec(host.slice(at + 1))!;
        url.hostname = name.toLowerCase().replace(/^\[|\]$/g, "");
        url.port = port ? port : null;
        url.host = name.toLowerCase() + (url.port ? `:${url.port}` : "");
        rest = path;
    }
    url.pathname = rest !== "" ? rest : SLASHED.has(url.protocol) && url.hostname ? "/" : rest || null;
    if (url.pathname) url.pathname = url.pathname.replace(/[ "<>\\^`{|}]/g, (letter: string) => encodeURIComponent(letter));
    if (query) url.query = require("querystring").parse(url.query ?? "");
    if (query && url.search === null) url.search = "";
    if (url.pathname !== null || url.search) url.path = `${url.pathname ?? ""}${url.search ?? ""}`;
    url.href = format(url);
    return url;
}

function format(address: any, options: any = {}): string {
    if (typeof address === "string") return parse(address).href;
    if (address instanceof URL) {
        let text = address.href;
        if (options.fragment === false) text = text.replace(/#.*$/s, "");
        if (options.search === false) text = text.replace(/\?[^#]*/, "");
        if (options.auth === false) text = text.replace(/\/\/[^/@]*@/, "//");
        return text;
    }
    if (address === null || typeof address !== "object") throw argument("urlObject", "one of type object or string", address);
    const auth = address.auth ? `${encodeURIComponent(address.auth).replace(/%3A/i, ":")}@` : "";
    let protocol = address.protocol ?? "";
    if (protocol && !protocol.endsWith(":")) protocol += ":";
    let host = "";
    if (address.host) host = auth + address.host;
    else if (address.hostname) {
        host = auth + (address.hostname.includes(":") ? `[${address.hostname}]` : address.hostname);
        if (address.port) host += `:${address.port}`;
    }
    const query = address.query !== null && typeof address.query === "object"
        ? require("querystring").stringify(address.query) : "";
    let search = address.search || (query && `?${query}`) || "";
    if (search && !search.startsWith("?")) search = `?${search}`;
    let hash = address.hash ?? "";
    if (hash && !hash.startsWith("#")) hash = `#${hash}`;
    let pathname = (address.pathname ?? "").replace(/[?#]/g, encodeURIComponent);
    if (address.slashes || ((protocol === "" || SLASHED.has(protocol)) && host !== "")) {
        host = `//${host}`;
        if (pathname && !pathname.startsWith("/")) pathname = `/${pathname}`;
    }
    return `${protocol}${host}${pathname}${search.replaceAll("#", "%23")}${hash}`;
}

function resolve(from: string, to: string): string {
    const base = new URL(from, "resolve:///");
    const found = new URL(to, base);
    return found.protocol === "resolve:" ? `${found.pathname}${found.search}${found.hash}` : found.href;
}

module.exports = {
    URL, URLSearchParams, fileURLToPath, pathToFileURL, Url, parse, format, resolve,
    domainToASCII: (name: string) => URL.parse(`ws://${name}`)?.hostname ?? "", domainToUnicode: (name: string) => name,
    urlToHttpOptions: (url: any) => ({
        protocol: url.protocol, hostname: url.hostname, hash: url.hash, search: url.search, pathname: url.pathname,
        path: `${url.pathname}${url.search}`, href: url.href, ...url.port === "" ? {} : { port: Number(url.port) },
    }),
};
