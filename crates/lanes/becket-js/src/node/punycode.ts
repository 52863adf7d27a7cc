// Names of other alphabets in the letters of domain names (RFC 3492).

const [BASE, LEAST, MOST, SKEW, DAMP, BIAS, FIRST] = [36, 1, 26, 38, 700, 72, 128];
const SEPARATORS = /[\u3002\uff0e\uff61]/g;

function adapted(delta: number, count: number, isFirst: boolean): number {
    let [left, turns] = [isFirst ? Math.floor(delta / DAMP) : delta >> 1, 0];
    left += Math.floor(left / count);
    for (; left > ((BASE - LEAST) * MOST) >> 1; turns += BASE) left = Math.floor(left / (BASE - LEAST));
    return turns + Math.floor(((BASE - LEAST + 1) * left) / (left + SKEW));
}

/** How much of a number the digit at a place holds. */
function threshold(place: number, bias: number): number {
    return Math.min(Math.max(place - bias, LEAST), MOST);
}

function digit(value: number): string {
    return String.fromCharCode(value < 26 ? value + 97 : value + 22);
}

function valueOf(letter: number): number {
    if (letter >= 48 && letter <= 57) return letter - 22;
    const lower = letter | 32;
    return lower >= 97 && lower <= 122 ? lower - 97 : BASE;
}

function encode(text: string): string {
    const points = ucs2.decode(text);
    const basic = points.filter((point) => point < FIRST);
    let made = basic.map((point) => String.fromCharCode(point)).join("");
    if (basic.length > 0) made += "-";
    let [next, delta, bias, handled] = [FIRST, 0, BIAS, basic.length];
    while (handled < points.length) {
        const smallest = Math.min(...points.filter((point) => point >= next));
        delta += (smallest - next) * (handled + 1);
        next = smallest;
        for (const point of points) {
            if (point < next) delta++;
            if (point !== next) continue;
            let rest = delta;
            for (let place = BASE; ; place += BASE) {
                const least = threshold(place, bias);
                if (rest < least) break;
                made += digit(least + ((rest - least) % (BASE - least)));
                rest = Math.floor((rest - least) / (BASE - least));
            }
            made += digit(rest);
            bias = adapted(delta, handled + 1, handled === basic.length);
            delta = 0;
            handled++;
        }
        delta++;
        next++;
    }
    return made;
}

function decode(text: string): string {
    const dash = text.lastIndexOf("-");
    const points: number[] = [];
    for (let at = 0; at < dash; at++) {
        if (text.charCodeAt(at) >= FIRST) throw new RangeError("Illegal input >= 0x80 (not a basic code point)");
        points.push(text.charCodeAt(at));
    }
    let [next, place, bias] = [FIRST, 0, BIAS];
    for (let at = dash > 0 ? dash + 1 : 0; at < text.length; ) {
        const before = place;
        for (let [weight, turn] = [1, BASE]; ; turn += BASE) {
            const value = at < text.length ? valueOf(text.charCodeAt(at++)) : BASE;
            if (value >= BASE || place + value * weight > 0x7fffffff) throw new RangeError("Invalid input");
            place += value * weight;
            const least = threshold(turn, bias);
            if (value < least) break;
            weight *= BASE - least;
        }
        bias = adapted(place - before, points.length + 1, before === 0);
        next += Math.floor(place / (points.length + 1));
        if (next > 0x10ffff) throw new RangeError("Invalid input");
        place %= points.length + 1;
        points.splice(place++, 0, next);
    }
    return ucs2.encode(points);
}

const ucs2 = {
    decode: (text: string) => Array.from(String(text), (letter) => letter.codePointAt(0)!),
    encode: (points: number[]) => points.map((point) => String.fromCodePoint(point)).join(""),
};

/** Changes every part of a domain, or the domain of a mail address. */
function mapped(text: string, change: (part: string) => string): string {
    const at = text.lastIndexOf("@");
    const parts = text.slice(at + 1).replace(SEPARATORS, ".").split(".");
    return text.slice(0, at + 1) + parts.map(change).join(".");
}

module.exports = {
    version: "2.1.0", ucs2, encode, decode,
    toASCII: (text: string) => mapped(text, (part) => (/[^\0-\x7f]/.test(part) ? `xn--${encode(part)}` : part)),
    toUnicode: (text: string) =>
        mapped(text, (part) => (/^xn--/.test(part) ? decode(part.slice(4).toLowerCase()) : part)),
};
