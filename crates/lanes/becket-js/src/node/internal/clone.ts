// `structuredClone`.

function refused(value: any): never {
    const shown = typeof value === "symbol" ? String(value) : typeof value === "function" ? `${value}` : "#<Object>";
    throw new DOMException(`${shown} could not be cloned.`, "DataCloneError");
}

function clone(value: any, known: Map<any, any>): any {
    if (typeof value === "symbol" || typeof value === "function") refused(value);
    if (typeof value !== "object" || value === null) return value;
    if (known.has(value)) return known.get(value);
    const keep = (copy: any): any => { known.set(value, copy); return copy; };
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) {
        const { buffer, byteOffset, constructor } = value as any;
        // A buffer of Node is plain bytes afterwards.
        const Type = constructor.name === "Buffer" ? Uint8Array : constructor;
        const length = value instanceof DataView ? value.byteLength : (value as any).length;
        return keep(new Type(clone(buffer, known), byteOffset, length));
    }
    if (value instanceof Map) {
        const copy = keep(new Map());
        for (const [key, one] of value) copy.set(clone(key, known), clone(one, known));
        return copy;
    }
    if (value instanceof Set) {
        const copy = keep(new Set());
        for (const one of value) copy.add(clone(one, known));
        return copy;
    }
    if (value instanceof Error) return keep(clonedError(value, known));
    if (value instanceof Number || value instanceof String || value instanceof Boolean) return keep(Object(value.valueOf()));
    if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) {
        throw new DOMException(`#<${(value as any).constructor.name}> could not be cloned.`, "DataCloneError");
    }
    const copy: any = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) copy[key] = clone(value[key], known);
    return copy;
}

function clonedError(value: any, known: Map<any, any>): any {
    const types: Record<string, any> = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
    const copy = new (types[value.name] ?? Error)(value.message);
    const set = (name: string, one: any) => Object.defineProperty(copy, name, {
        configurable: true, writable: true, enumerable: false, value: one,
    });
    set("stack", value.stack);
    if ("cause" in value) set("cause", clone(value.cause, known));
    return copy;
}

function structuredClone(value: any, options?: any): any {
    if (arguments.length === 0) throw new TypeError("The \"value\" argument must be specified");
    const copy = clone(value, new Map());
    for (const one of options?.transfer ?? []) one.transfer?.();
    return copy;
}

module.exports = { structuredClone };
