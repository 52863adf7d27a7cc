// Errors as Node words them.

function coded(Type: any, code: string, message: string, properties: object = {}): any {
    const error = new Type(message);
    Object.defineProperty(error, "toString", {
        configurable: true, writable: true, value: () => `${error.name} [${code}]: ${error.message}`,
    });
    return Object.assign(error, { code }, properties);
}

function received(value: any): string {
    if (value === null || value === undefined) return `Received ${value}`;
    if (typeof value === "function") return `Received function ${value.name}`;
    if (typeof value === "object") {
        return value.constructor?.name ? `Received an instance of ${value.constructor.name}` : "Received an object";
    }
    let shown = typeof value === "string" ? `'${value}'` : `${String(value)}${typeof value === "bigint" ? "n" : ""}`;
    if (shown.length > 28) shown = `${shown.slice(0, 25)}...`;
    return `Received type ${typeof value} (${shown})`;
}

/** An argument of a wrong type. `expected` reads like `of type string`. */
function argument(name: string, expected: string, value: unknown): any {
    const what = name.endsWith(" argument") ? name : `"${name}" ${name.includes(".") ? "property" : "argument"}`;
    return coded(TypeError, "ERR_INVALID_ARG_TYPE", `The ${what} must be ${expected}. ${received(value)}`);
}

function range(name: string, expected: string, value: unknown): any {
    const shown = typeof value === "number" && Number.isInteger(value) && Math.abs(value) > 2 ** 32
        ? String(value).replace(/\B(?=(\d{3})+$)/g, "_") : String(value);
    return coded(RangeError, "ERR_OUT_OF_RANGE",
        `The value of "${name}" is out of range. It must be ${expected}. Received ${shown}`);
}

function aborted(signal: any): any {
    const error = coded(Error, "ABORT_ERR", "The operation was aborted");
    error.name = "AbortError";
    if (signal?.reason !== undefined) error.cause = signal.reason;
    return error;
}

/** A function or class that Node has and the embedded engine has not: it can be extended, and throws when used. */
function refusing(name: string): any {
    const words = `not supported by becket's embedded engine: ${name}`;
    const short = name.slice(name.lastIndexOf(".") + 1);
    return { [short]: function (): never { throw coded(Error, "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", words); } }[short];
}

/** Adds what is refused to what a module exports. */
function refuse(exported: any, module: string, names: string): void {
    for (const name of names.split(" ")) exported[name] ??= refusing(`${module}.${name}`);
}

module.exports = { coded, received, argument, range, aborted, refusing, refuse };
