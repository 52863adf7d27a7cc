// `util.inspect`: values in Node's words.

const custom = Symbol.for("nodejs.util.inspect.custom");

const defaults = {
    showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
    maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
};

const colors: Record<string, [number, number]> = {
    reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27],
    hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24], black: [30, 39], red: [31, 39], green: [32, 39],
    yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], bgBlack: [40, 49],
    bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49],
    bgWhite: [47, 49], gray: [90, 39], grey: [90, 39], redBright: [91, 39], greenBright: [92, 39],
    yellowBright: [93, 39], blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39],
};

const styles: Record<string, string> = {
    special: "cyan", number: "yellow", bigint: "yellow", boolean: "yellow", undefined: "grey", null: "bold",
    string: "green", symbol: "green", date: "magenta", regexp: "red", module: "underline",
};

const PLAIN = /^[a-zA-Z_][a-zA-Z_0-9]*$/;

type Context = any;

function stylize(context: Context, text: string, style: string): string {
    if (!context.colors || styles[style] === undefined) return text;
    const [open, close] = colors[styles[style]] ?? [0, 0];
    return `\u001b[${open}m${text}\u001b[${close}m`;
}

function quoted(text: string): string {
    const quote = !text.includes("'") ? "'" : !text.includes('"') ? '"'
        : !text.includes("`") && !text.includes("${") ? "`" : "'";
    const shown = text.replace(/[\\\x00-\x1f\x7f-\x9f]/g, (letter) => {
        const known: Record<string, string> = {
            "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v",
        };
        return known[letter] ?? `\\x${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
    });
    return `${quote}${quote === "'" ? shown.replaceAll("'", "\\'") : shown}${quote}`;
}

function primitive(context: Context, value: any, indent: number): string {
    switch (typeof value) {
        case "string": {
            let text = value;
            let more = "";
            if (text.length > context.maxStringLength) {
                const left = text.length - context.maxStringLength;
                text = text.slice(0, context.maxStringLength);
                more = `... ${left} more character${left > 1 ? "s" : ""}`;
            }
            // Long texts are broken at their lines, as Node does inside of objects.
            if (context.compact !== true && text.length > 16 && text.length > context.breakLength - indent - 4) {
                const lines = text.split(/(?<=\n)/);
                return lines.map((line) => stylize(context, quoted(line), "string"))
                    .join(` +\n${" ".repeat(indent + 2)}`) + more;
            }
            return stylize(context, quoted(text), "string") + more;
        }
        case "number": return stylize(context, number(context, value), "number");
        case "bigint": return stylize(context, `${value}n`, "bigint");
        case "boolean": return stylize(context, `${value}`, "boolean");
        case "undefined": return stylize(context, "undefined", "undefined");
        case "symbol": return stylize(context, String(value), "symbol");
        default: return stylize(context, "null", "null");
    }
}

function number(context: Context, value: number): string {
    if (Object.is(value, -0)) return "-0";
    if (!context.numericSeparator) return `${value}`;
    const [whole, part] = String(value).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "_");
    return part === undefined ? grouped : `${grouped}.${part.replace(/(\d{3})(?=\d)/g, "$1_")}`;
}

function constructorName(value: any): string | null {
    for (let object = value; object !== null; object = Object.getPrototypeOf(object)) {
        const field = Object.getOwnPropertyDescriptor(object, "constructor");
        if (typeof field?.value === "function" && field.value.name !== "" && isInstance(value, field.value)) {
            return field.value.name;
        }
    }
    return null;
}

function isInstance(value: any, type: any): boolean {
    try {
        return value instanceof type;
    } catch {
        return false;
    }
}

function prefix(name: string | null, tag: string, fallback: string, size = ""): string {
    if (name === null) {
        return tag !== "" && tag !== fallback ? `[${fallback}${size}: null prototype] [${tag}] `
            : `[${fallback}${size}: null prototype] `;
    }
    return tag !== "" && tag !== name ? `${name}${size} [${tag}] ` : `${name}${size} `;
}

function inspect(value: any, options?: any, ...legacy: any[]): string {
    const context: Context = { ...defaults, seen: [], circular: undefined };
    if (typeof options === "boolean") {
        Object.assign(context, { showHidden: options });
        if (legacy[0] !== undefined) context.depth = legacy[0];
        if (legacy[1] !== undefined) context.colors = legacy[1];
    } else if (options) {
        for (const key of Object.keys(options)) {
            if (key in defaults || key === "stylize") context[key] = options[key];
        }
        context.own = options;
    }
    if (context.maxArrayLength === null) context.maxArrayLength = Infinity;
    if (context.maxStringLength === null) context.maxStringLength = Infinity;
    return show(context, value, 0, 0);
}

function show(context: Context, value: any, level: number, indent: number): string {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) {
        return primitive(context, value, indent);
    }
    const own = context.customInspect ? value[custom] : undefined;
    if (typeof own === "function" && own !== inspect && value.constructor?.prototype !== value) {
        const depth = context.depth === null ? null : context.depth - level;
        const { seen, circular, own: given, ...rest } = context;
        const options = { ...rest, ...given, depth, stylize: (text: string, style: string) => stylize(context, text, style) };
        const shown = own.call(value, depth, options, inspect);
        if (typeof shown === "string") return shown.replaceAll("\n", `\n${" ".repeat(indent)}`);
        if (shown !== value) return show(context, shown, level, indent);
    }
    if (context.seen.includes(value)) {
        context.circular ??= new Map();
        if (!context.circular.has(value)) context.circular.set(value, context.circular.size + 1);
        return stylize(context, `[Circular *${context.circular.get(value)}]`, "special");
    }
    return object(context, value, level, indent);
}

function keysOf(context: Context, value: any): PropertyKey[] {
    const symbols = Object.getOwnPropertySymbols(value);
    if (context.showHidden) return [...Object.getOwnPropertyNames(value), ...symbols];
    return [...Object.keys(value), ...symbols.filter((key) => Object.prototype.propertyIsEnumerable.call(value, key))];
}

/** How a value begins, what is in it, and the brackets around that. */
type Form = { base?: string; braces: [string, string]; entries: (indent: number) => string[]; keys: PropertyKey[]; array?: boolean };

function object(context: Context, value: any, level: number, indent: number): string {
    const name = constructorName(value);
    let tag = value[Symbol.toStringTag];
    if (typeof tag !== "string" || tag === "" || tag === name) tag = "";
    const form = formOf(context, value, name, tag, level);
    if (typeof form === "string") return form;
    if (form.keys.length === 0 && form.base !== undefined) return form.base;
    if (context.depth !== null && level > context.depth) {
        const shown = prefix(name, tag, Array.isArray(value) ? "Array" : "Object").slice(0, -1);
        return stylize(context, `[${shown}]`, "special");
    }
    context.seen.push(value);
    context.current = level;
    const output = form.entries(indent);
    for (const key of form.keys) output.push(property(context, value, key, level, indent));
    context.seen.pop();
    let braces = form.braces;
    if (context.circular?.has(value)) {
        const reference = stylize(context, `<ref *${context.circular.get(value)}>`, "special");
        braces = [`${reference} ${braces[0]}`, braces[1]];
    }
    if (context.sorted) output.sort(context.sorted === true ? undefined : context.sorted);
    return reduce(context, output, form, braces, level, indent, value);
}

function formOf(context: Context, value: any, name: string | null, tag: string, level: number): Form | string {
    const keys = keysOf(context, value);
    const none = () => [] as string[];
    if (Array.isArray(value)) {
        const start = name !== "Array" || tag !== "" ? prefix(name, tag, "Array", `(${value.length})`) : "";
        const extra = keys.filter((key) => typeof key === "symbol" || !/^(0|[1-9]\d*)$/.test(String(key)));
        if (value.length === 0 && extra.length === 0) return `${start}[]`;
        return { braces: [`${start}[`, "]"], entries: (indent) => items(context, value, level, indent), keys: extra, array: true };
    }
    if (value instanceof Set) {
        const start = prefix(name, tag, "Set", `(${value.size})`);
        if (value.size === 0 && keys.length === 0) return `${start}{}`;
        return { braces: [`${start}{`, "}"], keys, entries: (indent) =>
            [...value].map((one) => show(context, one, level + 1, indent + 2)) };
    }
    if (value instanceof Map) {
        const start = prefix(name, tag, "Map", `(${value.size})`);
        if (value.size === 0 && keys.length === 0) return `${start}{}`;
        return { braces: [`${start}{`, "}"], keys, entries: (indent) => [...value].map(([key, one]) =>
            `${show(context, key, level + 1, indent + 2)} => ${show(context, one, level + 1, indent + 2)}`) };
    }
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
        const list = value as any;
        const extra = keys.filter((key) => !/^\d+$/.test(String(key)));
        const start = prefix(name, tag === name ? "" : tag, "TypedArray", `(${list.length})`);
        if (list.length === 0 && extra.length === 0) return `${start}[]`;
        return { braces: [`${start}[`, "]"], keys: extra, array: true, entries: (indent) => items(context, list, level, indent) };
    }
    const plain = plainForm(context, value, name, tag, keys, none);
    if (plain !== undefined) return plain;
    const start = name === "Object" && tag === "" ? "" : prefix(name, tag, "Object");
    if (keys.length === 0) return `${start}{}`;
    return { braces: [`${start}{`, "}"], entries: none, keys };
}

/** Values that are one word, with braces only if somebody gave them properties. */
function plainForm(
    context: Context, value: any, name: string | null, tag: string, keys: PropertyKey[], none: () => string[],
): Form | string | undefined {
    const word = (base: string): Form => ({ base, braces: [`${base === "" ? "" : `${base} `}{`, "}"], entries: none, keys });
    if (typeof value === "function") return word(stylize(context, functionName(value, name, tag), "special"));
    if (value instanceof RegExp) return word(stylize(context, String(value), "regexp"));
    if (value instanceof Date) {
        return word(stylize(context, Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString(), "date"));
    }
    if (value instanceof Error) return errorForm(context, value, keys, none);
    if (value instanceof Promise) return { braces: [`${prefix(name, tag, "Promise")}{`, "}"], keys, entries: () =>
        [stylize(context, "<pending>", "special")] };
    if (value instanceof WeakMap || value instanceof WeakSet) {
        return { braces: [`${name} {`, "}"], keys, entries: () => [stylize(context, "<items unknown>", "special")] };
    }
    if (value instanceof ArrayBuffer) {
        const bytes: any = new Uint8Array(value);
        const hex = Array.from(bytes.subarray(0, 50) as Uint8Array, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
        const more = bytes.length > 50 ? ` ... ${bytes.length - 50} more bytes` : "";
        return { braces: [`${name} {`, "}"], keys, entries: () => [
            `[Uint8Contents]: <${hex}${more}>`, `byteLength: ${stylize(context, `${bytes.length}`, "number")}`] };
    }
    for (const [type, shown] of [[Number, "Number"], [String, "String"], [Boolean, "Boolean"], [BigInt, "BigInt"],
        [Symbol, "Symbol"]] as [any, string][]) {
        if (isInstance(value, type)) {
            const inner = primitive({ ...context, colors: false }, value.valueOf(), 0);
            const extra = shown === "String" ? keys.filter((key) => !/^\d+$/.test(String(key))) : keys;
            return { ...word(stylize(context, `[${shown}: ${inner}]`, shown.toLowerCase())), keys: extra };
        }
    }
    if (Object.prototype.toString.call(value) === "[object Arguments]") {
        return { braces: ["[Arguments] [", "]"], keys: keys.filter((key) => !/^\d+$/.test(String(key))), array: true,
            entries: (indent) => items(context, value, 0, indent) };
    }
    if (tag === "Module") return { braces: ["[Module: null prototype] {", "}"], keys, entries: none };
    return undefined;
}

function functionName(value: any, name: string | null, tag: string): string {
    const source = Function.prototype.toString.call(value);
    const own = typeof value.name === "string" ? value.name : "";
    if (source.startsWith("class") && source.endsWith("}")) {
        const parent = Object.getPrototypeOf(value);
        const shown = own === "" ? "(anonymous)" : own;
        return `[class ${shown}${parent?.name ? ` extends ${parent.name}` : ""}]`;
    }
    const kinds: Record<string, string> = {
        AsyncFunction: "AsyncFunction", GeneratorFunction: "GeneratorFunction",
        AsyncGeneratorFunction: "AsyncGeneratorFunction",
    };
    const kind = kinds[Object.prototype.toString.call(value).slice(8, -1)] ?? "Function";
    let shown = own === "" ? `[${kind} (anonymous)]` : `[${kind}: ${own}]`;
    if (name === null) shown += " [null prototype]";
    return tag !== "" && tag !== kind && name !== tag ? `${shown} [${tag}]` : shown;
}

function errorForm(context: Context, value: any, keys: PropertyKey[], none: () => string[]): Form {
    const name = value.name ?? "Error";
    const head = value.message ? `${name}: ${value.message}` : `${name}`;
    const frames = typeof value.stack === "string" ? value.stack : "";
    let stack = frames === "" ? "" : frames.startsWith(head) ? frames.slice(head.length).replace(/^\n/, "") : frames;
    stack = stack.split("\n").filter((line: string) => line.trim() !== "").map((line: string) => `    ${line.trim()}`).join("\n");
    const code = value.code !== undefined && typeof value.code === "string" && !head.includes(value.code) &&
        value instanceof TypeError ? head.replace(name, `${name} [${value.code}]`) : head;
    const base = stack === "" ? `[${code}]` : `${code}\n${stack}`;
    const shown = keys.filter((key) => key !== "stack" && key !== "message" && key !== "name");
    for (const hidden of ["cause", "errors"]) {
        if (hidden in value && Object.hasOwn(value, hidden) && !shown.includes(hidden)) shown.push(hidden);
    }
    return { base, braces: [`${base} {`, "}"], entries: none, keys: shown };
}

function items(context: Context, value: any, level: number, indent: number): string[] {
    const output: string[] = [];
    const most = Math.min(context.maxArrayLength, value.length);
    let at = 0;
    for (; at < value.length && output.length < most; at++) {
        if (!Object.hasOwn(value, at)) {
            let holes = 0;
            while (at < value.length && !Object.hasOwn(value, at)) { holes++; at++; }
            at--;
            output.push(stylize(context, `<${holes} empty item${holes > 1 ? "s" : ""}>`, "undefined"));
        } else {
            output.push(show(context, value[at], level + 1, indent + 2));
        }
    }
    const left = value.length - at;
    if (left > 0) output.push(`... ${left} more item${left > 1 ? "s" : ""}`);
    return output;
}

function property(context: Context, value: any, key: PropertyKey, level: number, indent: number): string {
    const field = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key], enumerable: true };
    let shown: string;
    if ("value" in field) {
        shown = show(context, field.value, level + 1, indent + 2);
    } else if (field.get !== undefined) {
        const label = field.set !== undefined ? "Getter/Setter" : "Getter";
        if (context.getters) {
            shown = `${stylize(context, `[${label}:`, "special")} ${show(context, value[key], level + 1, indent + 2)}` +
                stylize(context, "]", "special");
        } else shown = stylize(context, `[${label}]`, "special");
    } else {
        shown = field.set !== undefined ? stylize(context, "[Setter]", "special") : stylize(context, "undefined", "undefined");
    }
    const name = typeof key === "symbol" ? `[${stylize(context, String(key), "symbol")}]`
        : field.enumerable === false ? `[${String(key)}]`
            : PLAIN.test(String(key)) ? stylize(context, String(key), "name") : stylize(context, quoted(String(key)), "string");
    return `${name}: ${shown}`;
}

const plainLength = (text: string) => text.replace(/\u001b\[\d+m/g, "").length;

/** One line if it fits, else one line for each entry; long lists of short things in columns. */
function reduce(
    context: Context, output: string[], form: Form, braces: [string, string], level: number, indent: number, value: any,
): string {
    if (context.compact === true) return `${braces[0]} ${output.join(", ")} ${braces[1]}`;
    const deep = context.compact === false ? 0 : context.compact;
    const lines = form.array && deep >= 1 && output.length > 6 ? columns(context, output, indent, value) : output;
    // Only the innermost levels stand on one line.
    if (context.current - level < deep && lines === output) {
        const start = output.length + indent + braces[0].length + 10;
        const total = output.reduce((sum, line) => sum + plainLength(line), output.length + start);
        const line = output.join(", ");
        if (total <= context.breakLength && !line.includes("\n") && !(form.base ?? "").includes("\n")) {
            return `${braces[0]} ${line} ${braces[1]}`;
        }
    }
    const pad = `\n${" ".repeat(indent)}`;
    return `${braces[0]}${pad}  ${lines.join(`,${pad}  `)}${pad}${braces[1]}`;
}

/** Short entries of a list in columns; the same list if that does not look well. */
function columns(context: Context, output: string[], indent: number, value: any): string[] {
    const more = output[output.length - 1].startsWith("... ") ? 1 : 0;
    const count = output.length - more;
    const lengths = output.slice(0, count).map(plainLength);
    const total = lengths.reduce((sum, length) => sum + length + 2, 0);
    const longest = Math.max(...lengths);
    const widest = longest + 2;
    if (widest * 3 + indent >= context.breakLength || !(total / widest > 5 || longest <= 6)) return output;
    const biased = Math.max(widest - 3 - Math.sqrt(widest - total / output.length), 1);
    const wanted = Math.min(
        Math.round(Math.sqrt(2.5 * biased * count) / biased), Math.floor((context.breakLength - indent) / widest),
        context.compact * 4, 15,
    );
    if (wanted <= 1) return output;
    const widths: number[] = [];
    for (let column = 0; column < wanted; column++) {
        widths.push(Math.max(...lengths.filter((_, at) => at % wanted === column)) + 2);
    }
    const right = Array.prototype.every.call(value, (one: any) => typeof one === "number" || typeof one === "bigint");
    const lines: string[] = [];
    for (let at = 0; at < count; at += wanted) {
        const row = output.slice(at, Math.min(at + wanted, count)).map((text, column, all) => {
            const gap = " ".repeat(Math.max(widths[column] - 2 - lengths[at + column], 0));
            if (column === all.length - 1) return right ? gap + text : text;
            return right ? `${gap}${text}, ` : `${text}, ${gap}`;
        });
        lines.push(row.join(""));
    }
    return more === 1 ? [...lines, output[count]] : lines;
}

// ---------------------------------------------------------------- format

function formatWithOptions(options: any, ...values: any[]): string {
    const [first] = values;
    let at = 0;
    let text = "";
    if (typeof first === "string" && values.length > 1) {
        at = 1;
        text = first.replace(/%[sdifjoOc%]/g, (found) => {
            if (found === "%%") return "%";
            if (at >= values.length) return found;
            const value = values[at++];
            switch (found) {
                case "%s": return words(value, options);
                case "%d": return typeof value === "bigint" ? `${value}n` : typeof value === "symbol" ? "NaN"
                    : number(defaults, Number(value));
                case "%i": return typeof value === "bigint" ? `${value}n` : typeof value === "symbol" ? "NaN"
                    : number(defaults, Number.parseInt(value));
                case "%f": return typeof value === "symbol" ? "NaN" : number(defaults, Number.parseFloat(value));
                case "%j": return json(value);
                case "%o": return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
                case "%O": return inspect(value, options);
                default: return "";
            }
        });
    } else if (typeof first === "string") {
        at = 1;
        text = first;
    }
    for (let rest = at; rest < values.length; rest++) {
        const shown = typeof values[rest] === "string" ? values[rest] : inspect(values[rest], options);
        text = rest === 0 ? shown : `${text} ${shown}`;
    }
    return text;
}

function words(value: any, options: any): string {
    if (typeof value === "number") return number(defaults, value);
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value !== "object" || value === null) return String(value);
    const own = value.toString;
    if (typeof own === "function" && own !== Object.prototype.toString && own !== Array.prototype.toString &&
        own !== Error.prototype.toString && !ArrayBuffer.isView(value) &&
        !(value instanceof RegExp) && !(value instanceof Date)) return String(value);
    if (value instanceof Error && own !== Error.prototype.toString) return String(value);
    return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
}

function json(value: unknown): string {
    try {
        return JSON.stringify(value) as string;
    } catch (error) {
        if ((error as Error).message.includes("circular")) return "[Circular]";
        throw error;
    }
}

Object.assign(inspect, { custom, defaultOptions: { ...defaults }, colors, styles });
module.exports = {
    inspect, colors, formatWithOptions, format: (...values: any[]) => formatWithOptions(undefined, ...values),
};
