// Decodes text that comes in pieces: what is half a character waits for its other half.

const { Buffer } = require("buffer");

/** How many bytes at the end belong to a character that is not complete. */
function half(bytes: Uint8Array): number {
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
        const byte = bytes[bytes.length - back];
        if ((byte & 0xc0) === 0x80) continue;
        const length = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3
            : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

class StringDecoder {
    encoding: string;
    #rest: any = Buffer.alloc(0);

    constructor(encoding: string = "utf8") {
        Buffer.from("", encoding);
        const known = String(encoding).toLowerCase();
        this.encoding = known === "utf-8" ? "utf8" : known === "binary" ? "latin1"
            : ["ucs2", "ucs-2", "utf-16le"].includes(known) ? "utf16le" : known;
    }

    write(chunk: any): string {
        if (typeof chunk === "string") return chunk;
        const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk])
            : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
        const keep = this.#incomplete(bytes);
        this.#rest = Buffer.from(bytes.subarray(bytes.length - keep));
        return bytes.toString(this.encoding, 0, bytes.length - keep);
    }

    #incomplete(bytes: any): number {
        switch (this.encoding) {
            case "utf8": return half(bytes);
            case "base64":
            case "base64url": return bytes.length % 3;
            case "utf16le": {
                const odd = bytes.length % 2;
                const high = bytes.length - odd >= 2 ? bytes[bytes.length - odd - 1] : 0;
                return high >= 0xd8 && high <= 0xdb ? odd + 2 : odd;
            }
            default: return 0;
        }
    }

    end(chunk?: any): string {
        const text = chunk === undefined ? "" : this.write(chunk);
        const rest = this.#rest;
        this.#rest = Buffer.alloc(0);
        if (rest.length === 0) return text;
        return text + (this.encoding === "utf8" ? "\ufffd" : rest.toString(this.encoding));
    }

    get lastNeed() { return this.#rest.length; }
}

module.exports = { StringDecoder };
