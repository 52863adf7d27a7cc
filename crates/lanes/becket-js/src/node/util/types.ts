// What a value really is, whatever it says about itself.

const tag = (value: unknown) => Object.prototype.toString.call(value).slice(8, -1);
const typed = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)!.get!;
const typedName = (value: unknown) => typed.call(value);

/** Whether a method that only the real thing has works on a value. */
function works(probe: () => unknown): boolean {
    try {
        probe();
        return true;
    } catch {
        return false;
    }
}

const boxed = (type: any, value: any) => typeof value === "object" && value !== null &&
    works(() => type.prototype.valueOf.call(value));
const types: Record<string, (value: any) => boolean> = {
    isPromise: (value) => value instanceof Promise,
    isRegExp: (value) => value instanceof RegExp,
    isDate: (value) => typeof value === "object" && works(() => Date.prototype.getTime.call(value)),
    isNativeError: (value) => value instanceof Error,
    isMap: (value) => works(() => Map.prototype.has.call(value, 0)),
    isSet: (value) => works(() => Set.prototype.has.call(value, 0)),
    isWeakMap: (value) => works(() => WeakMap.prototype.has.call(value, types)),
    isWeakSet: (value) => works(() => WeakSet.prototype.has.call(value, types)),
    isMapIterator: (value) => tag(value) === "Map Iterator",
    isSetIterator: (value) => tag(value) === "Set Iterator",
    isGeneratorFunction: (value) => typeof value === "function" && tag(value).endsWith("GeneratorFunction"),
    isAsyncFunction: (value) => typeof value === "function" && tag(value).startsWith("Async"),
    isGeneratorObject: (value) => tag(value) === "Generator",
    isArrayBuffer: (value) => value instanceof ArrayBuffer,
    isSharedArrayBuffer: (value) => tag(value) === "SharedArrayBuffer",
    isAnyArrayBuffer: (value) => ["ArrayBuffer", "SharedArrayBuffer"].includes(tag(value)),
    isArrayBufferView: (value) => ArrayBuffer.isView(value),
    isDataView: (value) => value instanceof DataView,
    isTypedArray: (value) => typedName(value) !== undefined,
    isArgumentsObject: (value) => tag(value) === "Arguments",
    isNumberObject: (value) => boxed(Number, value),
    isStringObject: (value) => boxed(String, value),
    isBooleanObject: (value) => boxed(Boolean, value),
    isBigIntObject: (value) => boxed(BigInt, value),
    isSymbolObject: (value) => boxed(Symbol, value),
    isModuleNamespaceObject: (value) => tag(value) === "Module",
    isProxy: () => false,
    isExternal: () => false,
    isKeyObject: (value) => value?.constructor?.name === "KeyObject",
    isCryptoKey: (value) => tag(value) === "CryptoKey",
};
types.isBoxedPrimitive = (value) => ["Number", "String", "Boolean", "BigInt", "Symbol"].some((name) =>
    types[`is${name}Object`](value));
for (const name of ["Uint8Array", "Uint8ClampedArray", "Uint16Array", "Uint32Array", "Int8Array", "Int16Array",
    "Int32Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"]) {
    types[`is${name}`] = (value) => typedName(value) === name;
}
module.exports = types;
