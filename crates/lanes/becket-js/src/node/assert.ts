// Assertions.

const { argument } = require("internal/errors");
const { inspect } = require("internal/inspect");

const operators: Record<string, string> = {
    deepStrictEqual: "Expected values to be strictly deep-equal:",
    strictEqual: "Expected values to be strictly equal:",
    deepEqual: "Expected values to be loosely deep-equal:",
    notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
    notStrictEqual: 'Expected "actual" to be strictly unequal to:',
    notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
};

class AssertionError extends Error {
    actual: unknown;
    expected: unknown;
    operator: string;
    generatedMessage: boolean;
    code = "ERR_ASSERTION";

    constructor(options: any) {
        if (options === null || typeof options !== "object") throw argument("options", "of type object", options);
        super(options.message !== undefined ? String(options.message) : described(options));
        this.generatedMessage = options.message === undefined;
        this.actual = options.actual;
        this.expected = options.expected;
        this.operator = options.operator;
        Object.defineProperty(this, "name", { configurable: true, writable: true, enumerable: false, value: "AssertionError" });
    }

    toString() { return `${this.name} [${this.code}]: ${this.message}`; }
}

const shown = (value: unknown) => inspect(value, {
    compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, sorted: true, getters: true,
});

/** What differs, line by line. */
function described({ actual, expected, operator }: any): string {
    const head = operators[operator];
    if (head === undefined) return `${inspect(actual)} ${operator} ${inspect(expected)}`;
    if (operator.startsWith("not")) {
        const text = shown(expected);
        return text.includes("\n") ? `${head}\n\n${text}\n` : `${head} ${text}`;
    }
    const [a, b] = [shown(actual).split("\n"), shown(expected).split("\n")];
    const isPlain = (value: unknown) => (typeof value !== "object" || value === null) && typeof value !== "function";
    if (a.length === 1 && b.length === 1 && a[0] !== b[0] && isPlain(actual) && isPlain(expected) &&
        a[0].length + b[0].length <= 12 && (actual !== 0 || expected !== 0)) return `${head}\n\n${a[0]} !== ${b[0]}\n`;
    if (operator === "deepEqual") return `${head}\n\n${a.join("\n")}\n\nshould loosely deep-equal\n\n${b.join("\n")}`;
    return `${head}\n+ actual - expected\n\n${difference(a, b).join("\n")}`;
}

function difference(a: string[], b: string[]): string[] {
    const lengths = a.map(() => new Array(b.length + 1).fill(0)).concat([new Array(b.length + 1).fill(0)]);
    for (let x = a.length - 1; x >= 0; x--) {
        for (let y = b.length - 1; y >= 0; y--) {
            lengths[x][y] = a[x] === b[y] ? lengths[x + 1][y + 1] + 1 : Math.max(lengths[x + 1][y], lengths[x][y + 1]);
        }
    }
    const lines: string[] = [];
    let [x, y] = [0, 0];
    while (x < a.length || y < b.length) {
        if (x < a.length && y < b.length && a[x] === b[y]) { lines.push(`  ${a[x++]}`); y++; }
        else if (x < a.length && (y >= b.length || lengths[x + 1][y] >= lengths[x][y + 1])) lines.push(`+ ${a[x++]}`);
        else lines.push(`- ${b[y++]}`);
    }
    return lines;
}

function fail(actual: unknown, expected: unknown, message: any, operator: string): never {
    if (message instanceof Error) throw message;
    throw new AssertionError({ actual, expected, message, operator });
}

function ok(value: unknown, message?: any): void {
    if (value) return;
    if (arguments.length === 0) {
        throw new AssertionError({ actual: value, expected: true, operator: "==",
            message: "No value argument passed to `assert.ok()`" });
    }
    fail(value, true, message ?? "The expression evaluated to a falsy value", "==");
}

const same = (a: unknown, b: unknown, strict: boolean) => require("util").equal(a, b, strict, []);

function matches(error: any, expected: any, message: any): void {
    if (expected === undefined) return;
    if (typeof expected === "function") {
        if (expected.prototype !== undefined && error instanceof expected) return;
        if (Error.isPrototypeOf(expected)) {
            const words = `The error is expected to be an instance of "${expected.name}". Received ` +
                `"${error?.constructor?.name}"\n\nError message:\n\n${error?.message}`;
            fail(error, expected, message ?? words, "throws");
        }
        if (expected.call({}, error) === true) return;
        fail(error, expected, message ?? `The ${expected.name ? `"${expected.name}" ` : ""}validation function is expected ` +
            `to return "true". Received ${inspect(expected.call({}, error))}\n\nCaught error:\n\n${error}`, "throws");
    }
    if (expected instanceof RegExp) {
        if (expected.test(String(error))) return;
        fail(error, expected, message ?? `The input did not match the regular expression ${inspect(expected)}. Input:\n\n` +
            `${inspect(String(error))}\n`, "throws");
    }
    const keys = Object.keys(expected);
    if (expected instanceof Error) keys.push("name", "message");
    for (const key of keys) {
        const wanted = expected[key];
        if (wanted instanceof RegExp && typeof error?.[key] === "string" && wanted.test(error[key])) continue;
        if (!same(error?.[key], wanted, true)) fail(error, expected, message, "throws");
    }
}

const missing = (name: string, expected: any, message: any) => {
    const type = expected?.name ? ` (${expected.name})` : "";
    const rest = typeof message === "string" ? `: ${message}` : ".";
    return `Missing expected ${name}${type}${rest}`;
};

function sorted(expected: any, message: any): [any, any] {
    return typeof expected === "string" ? [undefined, expected] : [expected, message];
}

const assert: any = Object.assign((value: unknown, ...rest: any[]) => ok(value, ...rest), {
    ok, AssertionError,
    fail(message: any = "Failed") {
        if (message instanceof Error) throw message;
        throw new AssertionError({ message, operator: "fail" });
    },
    equal(a: any, b: any, message?: any) {
        if (!(a == b || (Number.isNaN(a) && Number.isNaN(b)))) fail(a, b, message, "==");
    },
    notEqual(a: any, b: any, message?: any) {
        if (a == b || (Number.isNaN(a) && Number.isNaN(b))) fail(a, b, message, "!=");
    },
    strictEqual(a: any, b: any, message?: any) { if (!Object.is(a, b)) fail(a, b, message, "strictEqual"); },
    notStrictEqual(a: any, b: any, message?: any) { if (Object.is(a, b)) fail(a, b, message, "notStrictEqual"); },
    deepEqual(a: any, b: any, message?: any) { if (!same(a, b, false)) fail(a, b, message, "deepEqual"); },
    notDeepEqual(a: any, b: any, message?: any) { if (same(a, b, false)) fail(a, b, message, "notDeepEqual"); },
    deepStrictEqual(a: any, b: any, message?: any) { if (!same(a, b, true)) fail(a, b, message, "deepStrictEqual"); },
    notDeepStrictEqual(a: any, b: any, message?: any) { if (same(a, b, true)) fail(a, b, message, "notDeepStrictEqual"); },
    match(text: any, pattern: RegExp, message?: any) {
        if (typeof text === "string" && pattern.test(text)) return;
        fail(text, pattern, message ?? (typeof text !== "string"
            ? `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`
            : `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`), "match");
    },
    doesNotMatch(text: any, pattern: RegExp, message?: any) {
        if (!pattern.test(text)) return;
        fail(text, pattern, message ?? `The input was expected to not match the regular expression ${inspect(pattern)}. ` +
            `Input:\n\n${inspect(text)}\n`, "doesNotMatch");
    },
    throws(run: any, given?: any, more?: any) {
        if (typeof run !== "function") throw argument("fn", "of type function", run);
        const [expected, message] = sorted(given, more);
        let caught: any;
        try {
            run();
        } catch (error) {
            caught = { error };
        }
        if (!caught) fail(undefined, expected, missing("exception", expected, message), "throws");
        matches(caught.error, expected, message);
    },
    doesNotThrow(run: any, given?: any, more?: any) {
        const [expected, message] = sorted(given, more);
        try {
            run();
        } catch (error: any) {
            fail(error, expected, `Got unwanted exception${message ? `: ${message}` : "."}\n` +
                `Actual message: "${error?.message}"`, "doesNotThrow");
        }
    },
    async rejects(given: any, first?: any, more?: any) {
        const [expected, message] = sorted(first, more);
        let caught: any;
        try {
            await (typeof given === "function" ? given() : given);
        } catch (error) {
            caught = { error };
        }
        if (!caught) fail(undefined, expected, missing("rejection", expected, message), "rejects");
        matches(caught.error, expected, message);
    },
    async doesNotReject(given: any, first?: any, more?: any) {
        const [expected, message] = sorted(first, more);
        try {
            await (typeof given === "function" ? given() : given);
        } catch (error: any) {
            fail(error, expected, `Got unwanted rejection${message ? `: ${message}` : "."}\n` +
                `Actual message: "${error?.message}"`, "doesNotReject");
        }
    },
    ifError(value: any) {
        if (value === null || value === undefined) return;
        const words = typeof value === "object" && typeof value.message === "string" ? value.message : inspect(value);
        fail(value, null, `ifError got unwanted exception: ${words}`, "ifError");
    },
});
assert.strict = Object.assign((value: unknown, ...rest: any[]) => ok(value, ...rest), assert, {
    equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual,
    notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict.strict = assert.strict;
module.exports = assert;
