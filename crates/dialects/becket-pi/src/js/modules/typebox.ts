// `typebox` and `@sinclair/typebox`: builders of JSON Schema. The texts are those of typebox 1.x (type first, the
// caller's options last), and what only 0.34 knows is added. What a schema knows about itself beyond JSON (its kind,
// whether it is optional) stands in properties that no listing and no JSON shows.
//
// Here is what nearly every extension uses. The rest is in `typebox-more.ts`, and is loaded when somebody looks for it:
// every extension has an engine of its own.
declare const __becket: { load(name: string): any };

type Schema = any;
type Options = Record<string, unknown> | undefined;

export const Kind = Symbol.for("TypeBox.Kind");
export const Hint = Symbol.for("TypeBox.Hint");
export const OptionalKind = Symbol.for("TypeBox.Optional");
export const ReadonlyKind = Symbol.for("TypeBox.Readonly");

/** A property that neither JSON nor a spread sees. */
function hide(schema: Schema, key: string | symbol, value: unknown): Schema {
  return Object.defineProperty(schema, key, { value, enumerable: false, configurable: true, writable: true });
}

function make(kind: string, body: Schema, options?: Options): Schema {
  const schema = Object.assign({}, body, options);
  hide(schema, "~kind", kind);
  return hide(schema, Kind, kind);
}

function copy(schema: Schema): Schema {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema));
}

const kindOf = (schema: Schema): string | undefined => schema?.["~kind"] ?? schema?.[Kind];
const isOptional = (schema: Schema): boolean => Boolean(schema?.["~optional"]);
const plain = (kind: string, type: string) => (options?: Options) => make(kind, { type }, options);

// Plain types

const Any = (options?: Options) => make("Any", {}, options);
const Unknown = (options?: Options) => make("Unknown", {}, options);
const Never = (options?: Options) => make("Never", { not: {} }, options);
const String_ = plain("String", "string");
const Number_ = plain("Number", "number");
const Integer = plain("Integer", "integer");
const Boolean_ = plain("Boolean", "boolean");
const Null = plain("Null", "null");
const Literal = (value: any, options?: Options) => make("Literal", { type: typeof value, const: value }, options);
const Unsafe = (schema: Schema = {}, options?: Options) => Object.assign(copy(schema), options);
const Ref = (target: any, options?: Options) =>
  make("Ref", { $ref: typeof target === "string" ? target : target.$id }, options);
// What holds other types

const Array_ = (items: Schema, options?: Options) => make("Array", { type: "array", items }, options);
const Tuple = (items: Schema[], options?: Options) =>
  make("Tuple", { type: "array", additionalItems: false, items, minItems: items.length }, options);
const Union = (anyOf: Schema[], options?: Options) => make("Union", { anyOf }, options);
const Intersect = (allOf: Schema[], options?: Options) => make("Intersect", { allOf }, options);
function Object_(properties: Record<string, Schema> = {}, options?: Options): Schema {
  const required = Object.keys(properties).filter((key) => !isOptional(properties[key]));
  return make("Object", { type: "object", ...(required.length > 0 && { required }), properties }, options);
}

/** The values of an array, an object or a TypeScript enum, whose numbers lead back to their names. */
function enumValues(source: any): unknown[] {
  if (Array.isArray(source)) return source;
  const keys = Object.keys(source).filter((key) => Number.isNaN(Number(key)));
  return [...new Set(keys.map((key) => source[key]))];
}

const Enum = (source: any, options?: Options) => make("Enum", { enum: enumValues(source) }, options);

const NUMBER_KEY = "^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$";
const INTEGER_KEY = "^-?(?:0|[1-9][0-9]*)$";
const STRING_KEY = "^.*$";

function Record_(key: Schema, value: Schema, options?: Options): Schema {
  const names = literalsOf(key);
  if (names) return Object_(Object.fromEntries(names.map((name) => [name, value])), options);
  const pattern =
    key.pattern ?? (kindOf(key) === "Number" ? NUMBER_KEY : kindOf(key) === "Integer" ? INTEGER_KEY : STRING_KEY);
  return make("Record", { type: "object", patternProperties: { [pattern]: value } }, options);
}

/** The literals that a schema consists of, or nothing if it is something else. */
function literalsOf(schema: Schema): string[] | undefined {
  if (Array.isArray(schema)) return schema.map(String);
  if (schema.const !== undefined) return [String(schema.const)];
  if (Array.isArray(schema.enum)) return schema.enum.map(String);
  if (!Array.isArray(schema.anyOf)) return undefined;
  const parts = schema.anyOf.map(literalsOf);
  return parts.every(Boolean) ? parts.flat() : undefined;
}

// Marks

function mark(schema: Schema, key: string, symbol: symbol, on: boolean, word: string): Schema {
  const marked = copy(schema);
  delete marked[key];
  delete marked[symbol];
  if (!on) return marked;
  hide(marked, key, true);
  return hide(marked, symbol, word);
}

const Optional = (schema: Schema, on: any = true) => mark(schema, "~optional", OptionalKind, on !== false, "Optional");
const Readonly_ = (schema: Schema, on: any = true) => mark(schema, "~readonly", ReadonlyKind, on !== false, "Readonly");
// All under one name

const builders = {
  Any, Unknown, Never, String: String_, Number: Number_, Integer, Boolean: Boolean_, Null, Literal, Unsafe, Ref,
  Array: Array_, Tuple, Union, Intersect, Object: Object_, Enum, Record: Record_, Optional, Readonly: Readonly_,
};

/** A builder that is not here, or one that is not there yet and says so when it is used. */
function other(key: string | symbol): any {
  return __becket.load("pi:typebox-more").builders[key] ?? __becket.load("pi:typebox-rest").typeMembers[key];
}

const others = new Proxy(Object.prototype as any, {
  get: (target, key) => (key in target ? target[key] : other(key)),
  has: (target, key) => key in target || other(key) !== undefined,
});

/** All builders. */
export const Type: any = Object.setPrototypeOf(builders, others);
export default Type;

export {
  Any, Unknown, Never, String_ as String, Number_ as Number, Integer, Boolean_ as Boolean, Null, Literal, Unsafe, Ref,
  Array_ as Array, Tuple, Union, Intersect, Object_ as Object, Enum, Record_ as Record, Optional,
  Readonly_ as Readonly,
};

/** What the other room is made of. */
export const inner = {
  hide, make, copy, kindOf, isOptional, plain, enumValues, literalsOf, builders, NUMBER_KEY, INTEGER_KEY, STRING_KEY,
};
