// A small `Intl`: English (United States) whatever is asked for, and graphemes and words by Unicode's plain rules.

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const supported = { supportedLocalesOf: (locales: any) => [locales ?? []].flat() };

function grouped(digits: string): string {
    return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

// ---------------------------------------------------------------- numbers

class NumberFormat {
    #options: any;
    constructor(_?: any, options: any = {}) { this.#options = options ?? {}; this.format = this.format.bind(this); }

    format(given: any): string {
        const options = this.#options;
        if (typeof given === "bigint") return (given < 0n ? "-" : "") + grouped(String(given < 0n ? -given : given));
        let value = Number(given);
        if (Number.isNaN(value)) return "NaN";
        const sign = value < 0 || Object.is(value, -0) ? "-" : options.signDisplay === "always" ? "+" : "";
        value = Math.abs(value);
        if (value === Infinity) return `${sign}∞`;
        let suffix = "";
        if (options.style === "percent") { value *= 100; suffix = "%"; }
        if (options.notation === "compact") [value, suffix] = compact(value);
        const text = this.#digits(value);
        if (options.style === "unit") suffix = ` ${options.unit ?? ""}`;
        return `${sign}${options.style === "currency" ? symbol(options.currency) : ""}${text}${suffix}`;
    }

    #digits(value: number): string {
        const { style, minimumSignificantDigits, maximumSignificantDigits, useGrouping, minimumIntegerDigits = 1, notation } = this.#options;
        const money = style === "currency" ? 2 : 0;
        const least = this.#options.minimumFractionDigits ?? money;
        const isSmall = notation === "compact" && value < 100;
        const most = this.#options.maximumFractionDigits ?? Math.max(least, style === "percent" ? 0 : money || (notation === "compact"
            ? isSmall && !Number.isInteger(value) ? 1 : 0 : 3));
        let text: string;
        if (maximumSignificantDigits !== undefined) {
            text = value === 0 ? "0" : Number(value.toPrecision(maximumSignificantDigits)).toFixed(20);
            text = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
            if (minimumSignificantDigits) text = value.toPrecision(minimumSignificantDigits);
        } else {
            text = value >= 1e21 ? String(BigInt(value)) : value.toFixed(Math.min(most, 100));
            if (text.includes(".")) {
                const [whole, part] = text.split(".");
                const kept = part.replace(/0+$/, "").padEnd(least, "0");
                text = kept === "" ? whole : `${whole}.${kept}`;
            }
        }
        const [whole, part] = text.split(".");
        const padded = whole.padStart(minimumIntegerDigits, "0");
        return (useGrouping === false ? padded : grouped(padded)) + (part === undefined ? "" : `.${part}`);
    }

    formatToParts(value: any) { return [{ type: "literal", value: this.format(value) }]; }
    resolvedOptions() { return { locale: "en-US", numberingSystem: "latn", style: "decimal", ...this.#options }; }
}

function compact(value: number): [number, string] {
    for (const [size, letter] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]] as [number, string][]) {
        if (value >= size) return [value / size, letter];
    }
    return [value, ""];
}

function symbol(currency = "USD"): string {
    const known: Record<string, string> = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩" };
    return known[currency.toUpperCase()] ?? `${currency.toUpperCase()} `;
}

// ---------------------------------------------------------------- dates

const DATE_STYLES: Record<string, any> = {
    full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
    long: { year: "numeric", month: "long", day: "numeric" },
    medium: { year: "numeric", month: "short", day: "numeric" },
    short: { year: "2-digit", month: "numeric", day: "numeric" },
};
const TIME_STYLES: Record<string, any> = {
    full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
    long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
    medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
    short: { hour: "numeric", minute: "2-digit" },
};
const PARTS = ["weekday", "year", "month", "day", "hour", "minute", "second", "fractionalSecondDigits"];

/** How numeric dates are written where they are asked for in another order, as programs do to get `2026-11-18`. */
const ORDERS: [RegExp, string[], string][] = [
    [/^(en-CA|sv)(-|$)/i, ["y", "m", "d"], "-"],
    [/^en-GB(-|$)/i, ["d", "m", "y"], "/"],
];

const DATE = { year: "numeric", month: "numeric", day: "numeric" };

class DateTimeFormat {
    #options: any;
    #order: [RegExp, string[], string] | undefined;
    constructor(locales?: any, options: any = {}, fallback: any = DATE) {
        const given = { ...options };
        Object.assign(given, DATE_STYLES[given.dateStyle], TIME_STYLES[given.timeStyle]);
        if (!PARTS.some((name) => given[name] !== undefined)) Object.assign(given, fallback);
        if (given.timeZone !== undefined && !/^(utc|gmt|etc\/utc)$/i.test(given.timeZone) && given.timeZone !== zone()) {
            throw new RangeError(`the time zone ${given.timeZone} is not served by the embedded engine`);
        }
        this.#options = given;
        const locale = String([locales].flat()[0]);
        this.#order = ORDERS.find(([known]) => known.test(locale));
        this.format = this.format.bind(this);
    }

    format(given?: any): string {
        const date = given === undefined ? new Date() : new Date(given);
        if (Number.isNaN(date.getTime())) throw new RangeError("Invalid time value");
        return [this.#date(date), this.#time(date)].filter((text) => text !== "").join(this.#joint());
    }

    #joint(): string {
        return this.#options.dateStyle === "full" || this.#options.dateStyle === "long" ? " at " : ", ";
    }

    #get(date: Date, name: string): number {
        const utc = this.#options.timeZone !== undefined && this.#options.timeZone !== zone();
        return (date as any)[`get${utc ? "UTC" : ""}${name}`]();
    }

    #date(date: Date): string {
        const { weekday, year, month, day } = this.#options;
        const cut = (text: string, kind: string) => (kind === "long" ? text : kind === "short" ? text.slice(0, 3) : text[0]);
        const y = year && (year === "2-digit" ? String(this.#get(date, "FullYear") % 100).padStart(2, "0")
            : String(this.#get(date, "FullYear")));
        const d = day && String(this.#get(date, "Date")).padStart(day === "2-digit" ? 2 : 1, "0");
        const w = weekday && cut(DAYS[this.#get(date, "Day")], weekday);
        const number = this.#get(date, "Month");
        if (month === "long" || month === "short" || month === "narrow") {
            const first = [cut(MONTHS[number], month), d].filter(Boolean).join(" ");
            return [w, first + (y ? `${d ? "," : ""} ${y}` : "")].filter(Boolean).join(", ");
        }
        const m = month && String(number + 1).padStart(month === "2-digit" ? 2 : 1, "0");
        if (this.#order !== undefined) {
            const [, order, joint] = this.#order;
            const two = { y, m: m && m.padStart(2, "0"), d: d && d.padStart(2, "0") };
            return [w, order.map((part) => (two as any)[part]).filter(Boolean).join(joint)].filter(Boolean).join(", ");
        }
        return [w, [m, d, y].filter(Boolean).join("/")].filter(Boolean).join(", ");
    }

    #time(date: Date): string {
        const { hour, minute, second, hour12, hourCycle, fractionalSecondDigits, timeZoneName } = this.#options;
        const twelve = hour12 ?? (hourCycle === undefined || hourCycle.startsWith("h1"));
        const hours = this.#get(date, "Hours");
        const two = (value: number) => String(value).padStart(2, "0");
        const shown = twelve && hourCycle !== "h23" ? hours % 12 || 12 : hours;
        const parts = [
            hour && (hour === "2-digit" || !twelve || hourCycle === "h23" ? two(shown) : String(shown)),
            minute && (hour || second ? two(this.#get(date, "Minutes")) : String(this.#get(date, "Minutes"))),
            second && (minute ? two(this.#get(date, "Seconds")) : String(this.#get(date, "Seconds"))),
        ].filter(Boolean);
        let text = parts.join(":");
        if (fractionalSecondDigits && second) {
            text += `.${String(this.#get(date, "Milliseconds")).padStart(3, "0").slice(0, fractionalSecondDigits)}`;
        }
        if (hour && twelve && hourCycle !== "h23") text += hours < 12 ? " AM" : " PM";
        return timeZoneName && text !== "" ? `${text} ${this.#options.timeZone ?? zone()}` : text;
    }

    formatToParts(date?: any) { return [{ type: "literal", value: this.format(date) }]; }
    formatRange(a: any, b: any) { return `${this.format(a)} – ${this.format(b)}`; }
    resolvedOptions() {
        return { locale: "en-US", calendar: "gregory", numberingSystem: "latn", timeZone: this.#options.timeZone ?? zone() };
    }
}

/** What the methods of dates show when nothing else is asked for: the date, the time, or both. */
function localDate(value: number, locales: any, options: any, date: boolean, time: boolean): string {
    if (Number.isNaN(Number(value))) return "Invalid Date";
    const given = { ...options };
    const has = (names: string[]) => names.some((name) => given[name] !== undefined);
    const [day, clock] = [has(["weekday", "year", "month", "day"]), has(["hour", "minute", "second", "fractionalSecondDigits"])];
    if (!has(["dateStyle", "timeStyle"])) {
        const wanted = date && time ? !day && !clock : date ? !day : !clock;
        if (wanted && date) Object.assign(given, { year: "numeric", month: "numeric", day: "numeric" });
        if (wanted && time) Object.assign(given, { hour: "numeric", minute: "2-digit", second: "2-digit" });
    }
    return new DateTimeFormat(locales, given).format(value);
}

function zone(): string {
    return process.env.TZ || "UTC";
}

// ---------------------------------------------------------------- text

const GRAPHEME = /\r\n|\p{RI}\p{RI}|[\u1100-\u115f\ua960-\ua97c]*[\u1160-\u11ff\uac00-\ud7fb]+[\u11a8-\u11ff]*|\p{Emoji}(?:\p{EMod}|\ufe0f\u20e3?|[\u{e0020}-\u{e007e}]+\u{e007f}|\u20e3)?(?:\u200d\p{Emoji}(?:\p{EMod}|\ufe0f)?)+[\p{M}\u200d\ufe0f]*|[^\r\n\p{Cc}][\p{M}\p{EMod}\u200d\ufe0e\ufe0f\u20e3\u{e0020}-\u{e007f}]*|[\s\S]/gu;
const WORD = /[\p{L}\p{N}_]+(?:[.'’:](?=[\p{L}\p{N}])[\p{L}\p{N}_]+)*|\r\n|[\t ]+|[\s\S]/gu;
const SENTENCE = /[^.!?\n]*(?:[.!?]+["')\]]*\s*|\n+|$)/gu;

class Segmenter {
    #granularity: string;
    constructor(_?: any, options: any = {}) { this.#granularity = options?.granularity ?? "grapheme"; }

    segment(given: any) {
        const input = String(given);
        const granularity = this.#granularity;
        const pattern = granularity === "word" ? WORD : granularity === "sentence" ? SENTENCE : GRAPHEME;
        function* segments() {
            for (const found of input.matchAll(pattern)) {
                if (found[0] === "") continue;
                const segment: any = { segment: found[0], index: found.index, input };
                if (granularity === "word") segment.isWordLike = /[\p{L}\p{N}]/u.test(found[0]);
                yield segment;
            }
        }
        return {
            [Symbol.iterator]: segments,
            containing(at = 0) {
                for (const one of segments()) if (at >= one.index && at < one.index + one.segment.length) return one;
                return undefined;
            },
        };
    }

    resolvedOptions() { return { locale: "en-US", granularity: this.#granularity }; }
}

class Collator {
    #options: any;
    constructor(_?: any, options: any = {}) { this.#options = options ?? {}; this.compare = this.compare.bind(this); }

    compare(a: any, b: any): number {
        const { numeric, sensitivity } = this.#options;
        const parts = (text: any) => (numeric ? String(text).split(/(\d+)/) : [String(text)]);
        const [x, y] = [parts(a), parts(b)];
        for (let at = 0; at < Math.max(x.length, y.length); at++) {
            const [one, other] = [x[at] ?? "", y[at] ?? ""];
            const order = numeric && /^\d/.test(one) && /^\d/.test(other) ? Number(one) - Number(other)
                : alphabetical(one, other, sensitivity ?? "variant");
            if (order !== 0) return Math.sign(order);
        }
        return 0;
    }

    resolvedOptions() { return { locale: "en-US", usage: "sort", sensitivity: "variant", ...this.#options }; }
}

/** Signs before digits before letters; then accents; then lower case before upper case. */
function alphabetical(a: string, b: string, sensitivity: string): number {
    const bare = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "");
    const rank = (letter: string) => (/\p{L}/u.test(letter) ? 2 : /\p{N}/u.test(letter) ? 1 : 0);
    const [x, y] = [bare(a).toLowerCase(), bare(b).toLowerCase()];
    for (let at = 0; at < Math.min(x.length, y.length); at++) {
        if (x[at] === y[at]) continue;
        const order = rank(x[at]) - rank(y[at]);
        return order !== 0 ? order : x[at] < y[at] ? -1 : 1;
    }
    if (x.length !== y.length) return x.length - y.length;
    if (sensitivity === "base") return 0;
    const [accentsA, accentsB] = [a.normalize("NFD").toLowerCase(), b.normalize("NFD").toLowerCase()];
    if (accentsA !== accentsB) return accentsA < accentsB ? -1 : 1;
    if (sensitivity === "accent") return 0;
    return a === b ? 0 : a > b ? -1 : 1;
}

class PluralRules {
    #ordinal: boolean;
    constructor(_?: any, options: any = {}) { this.#ordinal = options?.type === "ordinal"; }
    select(value: number): string {
        if (!this.#ordinal) return value === 1 ? "one" : "other";
        const [ten, hundred] = [value % 10, value % 100];
        if (ten === 1 && hundred !== 11) return "one";
        if (ten === 2 && hundred !== 12) return "two";
        return ten === 3 && hundred !== 13 ? "few" : "other";
    }
    resolvedOptions() { return { locale: "en-US", type: this.#ordinal ? "ordinal" : "cardinal" }; }
}

class RelativeTimeFormat {
    #auto: boolean;
    constructor(_?: any, options: any = {}) { this.#auto = options?.numeric === "auto"; }
    format(value: number, given: string): string {
        const unit = given.replace(/s$/, "");
        if (this.#auto && unit === "day" && [-1, 0, 1].includes(value)) return ["yesterday", "today", "tomorrow"][value + 1];
        if (this.#auto && value === 0) return unit === "second" ? "now" : `this ${unit}`;
        if (this.#auto && Math.abs(value) === 1 && ["week", "month", "quarter", "year"].includes(unit)) {
            return `${value < 0 ? "last" : "next"} ${unit}`;
        }
        const count = new NumberFormat().format(Math.abs(value));
        const words = `${count} ${unit}${Math.abs(value) === 1 ? "" : "s"}`;
        return value < 0 || Object.is(value, -0) ? `${words} ago` : `in ${words}`;
    }
}

class ListFormat {
    #word: string;
    constructor(_?: any, options: any = {}) { this.#word = options?.type === "disjunction" ? "or" : "and"; }
    format(list: Iterable<string>): string {
        const all = [...list];
        if (all.length <= 2) return all.join(` ${this.#word} `);
        return `${all.slice(0, -1).join(", ")}, ${this.#word} ${all[all.length - 1]}`;
    }
}

const callable = (Type: any) => new Proxy(Object.assign(Type, supported), {
    apply: (_, __, values) => new Type(...values),
});

const Intl: any = {
    NumberFormat: callable(NumberFormat), DateTimeFormat: callable(DateTimeFormat), Collator: callable(Collator), Segmenter,
    PluralRules, RelativeTimeFormat, ListFormat, getCanonicalLocales: (locales: any) => [locales ?? []].flat(),
    supportedValuesOf: () => [],
};
Object.defineProperty(Intl, Symbol.toStringTag, { configurable: true, value: "Intl" });

/** What methods of the engine's own types do with languages. */
const local = {
    number: (value: any, locales?: any, options?: any) => new NumberFormat(locales, options).format(value),
    both: (value: any, locales?: any, options?: any) => localDate(value, locales, options, true, true),
    date: (value: any, locales?: any, options?: any) => localDate(value, locales, options, true, false),
    time: (value: any, locales?: any, options?: any) => localDate(value, locales, options, false, true),
    compare: (value: any, other: any, locales?: any, options?: any) =>
        new Collator(locales, options).compare(String(value), String(other)),
};

module.exports = { Intl, NumberFormat, DateTimeFormat, Collator, local };
