// Queries of addresses, in the old interface.

function unescape(text: string): string {
    try {
        return decodeURIComponent(text);
    } catch {
        return text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    }
}

function escape(value: unknown): string {
    return encodeURIComponent(String(value));
}

function parse(text: any, separator = "&", equals = "=", options: any = {}): any {
    const found: any = Object.create(null);
    if (typeof text !== "string" || text === "") return found;
    const decode = options?.decodeURIComponent ?? exports.unescape;
    const most = options?.maxKeys ?? 1000;
    const all = text.split(separator);
    for (const part of most > 0 ? all.slice(0, most) : all) {
        if (part === "") continue;
        const at = part.indexOf(equals);
        const plain = (piece: string) => decode(piece.replaceAll("+", " "));
        const name = plain(at < 0 ? part : part.slice(0, at));
        const value = at < 0 ? "" : plain(part.slice(at + equals.length));
        if (!(name in found)) found[name] = value;
        else if (Array.isArray(found[name])) found[name].push(value);
        else found[name] = [found[name], value];
    }
    return found;
}

function plain(value: any): string {
    if (typeof value === "string") return value;
    if (typeof value === "number" && Number.isFinite(value)) return `${value}`;
    return typeof value === "bigint" || typeof value === "boolean" ? `${value}` : "";
}

function stringify(value: any, separator = "&", equals = "=", options: any = {}): string {
    if (value === null || typeof value !== "object") return "";
    const encode = options?.encodeURIComponent ?? exports.escape;
    return Object.keys(value).map((key) => {
        const name = encode(plain(key)) + equals;
        const given = value[key];
        return Array.isArray(given) ? given.map((one) => name + encode(plain(one))).join(separator) : name + encode(plain(given));
    }).filter((part) => part !== "").join(separator);
}

const unescapeBuffer = (text: string) => require("buffer").Buffer.from(unescape(text), "latin1");

Object.assign(exports, { parse, stringify, escape, unescape, unescapeBuffer, encode: stringify, decode: parse });
