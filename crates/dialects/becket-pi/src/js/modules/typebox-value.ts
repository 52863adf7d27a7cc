// `typebox/value`: checks and changes of values by a JSON Schema, with typebox 1.x's messages. An error carries the
// fields of both generations: `instancePath` and `keyword` of 1.x, `path`, `value` and `schema` of 0.34.
import { FormatRegistry } from "pi:typebox-more";
import * as rest from "pi:typebox-value-rest";

type Schema = any;
interface Problem {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  params: Record<string, unknown>;
  message: string;
  path: string;
  value: unknown;
  schema: Schema;
  errors: Problem[];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === "object" && !Array.isArray(value);
const escapeKey = (key: string) => key.replace(/~/g, "~0").replace(/\//g, "~1");
const own = (value: object, key: string) => Object.prototype.hasOwnProperty.call(value, key);

const FORMATS: Record<string, RegExp> = {
  date: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/,
  time: /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]\d\d:\d\d)?$/i,
  "date-time": /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i,
  email: /^[^\s@"]+@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  uri: /^[a-z][a-z0-9+.-]*:[^\s]+$/i,
  url: /^https?:\/\/[^\s/$.?#][^\s]*$/i,
  ipv4: /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.|$)){4}$/,
};

function fitsFormat(format: string, text: string): boolean {
  const registered = FormatRegistry.Get(format);
  if (registered) return Boolean(registered(text));
  return FORMATS[format]?.test(text) ?? true;
}

function fitsType(type: string, value: any): boolean {
  switch (type) {
    case "string": return typeof value === "string";
    case "number": return typeof value === "number" && Number.isFinite(value);
    case "integer": return Number.isInteger(value);
    case "boolean": return typeof value === "boolean";
    case "null": return value === null;
    case "array": return Array.isArray(value);
    case "object": return isObject(value);
    case "undefined": case "void": return value === undefined;
    case "bigint": return typeof value === "bigint";
    case "symbol": return typeof value === "symbol";
    case "function": case "Function": case "constructor": case "Constructor": return typeof value === "function";
    case "Date": return value instanceof Date;
    case "Uint8Array": return value instanceof Uint8Array;
    case "Promise": return value instanceof Promise;
    case "RegExp": return typeof value === "string";
    default: return true;
  }
}

/** One walk over a value: `report` hears of each problem, and whether to go on after it. */
class Walk {
  readonly problems: Problem[] = [];
  private readonly names = new Map<string, Schema>();

  constructor(private readonly root: Schema, references: any) {
    for (const schema of Array.isArray(references) ? references : []) this.learn(schema);
    for (const [id, schema] of Object.entries(isObject(references) ? references : {})) this.names.set(id, schema);
    this.learn(root);
  }

  private learn(schema: Schema): void {
    if (!schema || typeof schema !== "object") return;
    if (typeof schema.$id === "string") this.names.set(schema.$id, schema);
    for (const [id, part] of Object.entries(schema.$defs ?? schema.definitions ?? {})) this.names.set(id, part);
  }

  resolve(ref: string): Schema {
    if (ref === "#") return this.root;
    if (!ref.startsWith("#/")) return this.names.get(ref);
    const keys = ref.slice(2).split("/").map((key) => key.replace(/~1/g, "/").replace(/~0/g, "~"));
    return keys.reduce((schema: any, key) => schema?.[key], this.root);
  }

  /** Whether the value fits; what does not is remembered. */
  check(schema: Schema, value: any, at: string, path: string): boolean {
    if (schema === true || schema === undefined) return true;
    const say = (keyword: string, params: Record<string, unknown>, message: string): false => {
      const place = { schemaPath: at, instancePath: path, path, value, schema, errors: [] };
      this.problems.push({ keyword, params, message, ...place });
      return false;
    };
    if (schema === false) return say("boolean", {}, "schema is false");
    if (typeof schema.$ref === "string") {
      const target = this.resolve(schema.$ref);
      if (!target) return say("$ref", { ref: schema.$ref }, `cannot find ${schema.$ref}`);
      if (target !== schema) return this.check(target, value, at, path);
    }
    const types = schema.type === undefined ? [] : [schema.type].flat();
    if (types.length > 0 && !types.some((type: string) => fitsType(type, value))) {
      return say("type", { type: schema.type }, `must be ${types.length > 1 ? "either " : ""}${types.join(" or ")}`);
    }
    const before = this.problems.length;
    if (isObject(value)) this.object(schema, value, at, path, say);
    if (Array.isArray(value)) this.array(schema, value, at, path, say);
    if (typeof value === "string") this.text(schema, value, say);
    if (typeof value === "number" || typeof value === "bigint") this.number(schema, Number(value), say);
    this.value(schema, value, say);
    this.combined(schema, value, at, path, say);
    for (const { check, message } of schema["~refine"] ?? []) if (!check(value)) say("~refine", {}, message(value));
    return this.problems.length === before;
  }

  private object(schema: Schema, value: Record<string, unknown>, at: string, path: string, say: any): void {
    const properties = schema.properties ?? {};
    const patterns = Object.entries(schema.patternProperties ?? {});
    const missing = (schema.required ?? []).filter((key: string) => !own(value, key) || value[key] === undefined);
    if (missing.length > 0) {
      say("required", { requiredProperties: missing }, `must have required properties ${missing.join(", ")}`);
    }
    const extra: string[] = [];
    for (const key of Object.keys(value)) {
      const inner = `${path}/${escapeKey(key)}`;
      if (schema.propertyNames) this.check(schema.propertyNames, key, `${at}/propertyNames`, inner);
      const matching = patterns.filter(([pattern]) => new RegExp(pattern, "u").test(key));
      for (const [pattern, part] of matching) this.check(part, value[key], `${at}/patternProperties/${pattern}`, inner);
      if (own(properties, key) || matching.length > 0 || schema.additionalProperties === undefined) continue;
      if (!this.check(schema.additionalProperties, value[key], `${at}/additionalProperties`, inner)) extra.push(key);
    }
    if (extra.length > 0) {
      say("additionalProperties", { additionalProperties: extra }, "must not have additional properties");
    }
    for (const [key, part] of Object.entries(properties)) {
      if (!own(value, key) || value[key] === undefined) continue;
      this.check(part, value[key], `${at}/properties/${key}`, `${path}/${escapeKey(key)}`);
    }
    const { minProperties: least, maxProperties: most } = schema;
    const count = Object.keys(value).length;
    if (count < least) say("minProperties", { limit: least }, `must not have fewer than ${least} properties`);
    if (count > most) say("maxProperties", { limit: most }, `must not have more than ${most} properties`);
  }

  private array(schema: Schema, value: unknown[], at: string, path: string, say: any): void {
    const prefix = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []);
    const others = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
    value.forEach((item, index) => {
      const [part, where] = index < prefix.length ? [prefix[index], `/${index}`] : [others, ""];
      if (part !== undefined) this.check(part, item, `${at}/items${where}`, `${path}/${index}`);
    });
    const { minItems, maxItems } = schema;
    if (value.length < minItems) say("minItems", { limit: minItems }, `must not have fewer than ${minItems} items`);
    if (value.length > maxItems) say("maxItems", { limit: maxItems }, `must not have more than ${maxItems} items`);
    if (schema.uniqueItems && new Set(value.map((item) => JSON.stringify(item))).size < value.length) {
      say("uniqueItems", {}, "must not have duplicate items");
    }
    if (schema.contains && !value.some((item) => fits(schema.contains, item, this))) {
      say("contains", { minContains: 1 }, "must contain at least 1 valid item");
    }
  }

  private text(schema: Schema, value: string, say: any): void {
    const { minLength, maxLength, pattern, format } = schema;
    const length = [...value].length;
    if (length < minLength) say("minLength", { limit: minLength }, `must not have fewer than ${minLength} characters`);
    if (length > maxLength) say("maxLength", { limit: maxLength }, `must not have more than ${maxLength} characters`);
    if (pattern !== undefined && !new RegExp(pattern, "u").test(value)) {
      say("pattern", { pattern }, `must match pattern "${pattern}"`);
    }
    if (schema.source !== undefined && !new RegExp(schema.source, schema.flags).test(value)) {
      say("pattern", { pattern: schema.source }, `must match pattern "${schema.source}"`);
    }
    if (format !== undefined && !fitsFormat(format, value)) say("format", { format }, `must match format "${format}"`);
  }

  private number(schema: Schema, value: number, say: any): void {
    const bound = (keyword: string, comparison: string, ok: boolean) => {
      const limit = schema[keyword];
      if (limit !== undefined && !ok) say(keyword, { comparison, limit }, `must be ${comparison} ${limit}`);
    };
    bound("minimum", ">=", value >= schema.minimum);
    bound("maximum", "<=", value <= schema.maximum);
    bound("exclusiveMinimum", ">", value > schema.exclusiveMinimum);
    bound("exclusiveMaximum", "<", value < schema.exclusiveMaximum);
    const { multipleOf } = schema;
    if (multipleOf !== undefined && Math.abs(value / multipleOf - Math.round(value / multipleOf)) > 1e-9) {
      say("multipleOf", { multipleOf }, `must be multiple of ${multipleOf}`);
    }
  }

  private value(schema: Schema, value: unknown, say: any): void {
    if (schema.const !== undefined && !Equal(schema.const, value)) {
      say("const", { allowedValue: schema.const }, "must be equal to constant");
    }
    if (Array.isArray(schema.enum) && !schema.enum.some((allowed: unknown) => Equal(allowed, value))) {
      say("enum", { allowedValues: schema.enum }, "must be equal to one of the allowed values");
    }
  }

  private combined(schema: Schema, value: unknown, at: string, path: string, say: any): void {
    (schema.allOf ?? []).forEach((part: Schema, i: number) => this.check(part, value, `${at}/allOf/${i}`, path));
    if (schema.anyOf) {
      const before = this.problems.length;
      const any = schema.anyOf.some((part: Schema, i: number) => this.check(part, value, `${at}/anyOf/${i}`, path));
      if (any) this.problems.length = before;
      else say("anyOf", {}, "must match a schema in anyOf");
    }
    if (schema.oneOf) {
      const matching = schema.oneOf.filter((part: Schema) => fits(part, value, this));
      if (matching.length !== 1) say("oneOf", {}, "must match exactly one schema in oneOf");
    }
    if (schema.not && fits(schema.not, value, this)) say("not", {}, "must not be valid");
    if (schema.if) {
      const branch = fits(schema.if, value, this) ? schema.then : schema.else;
      if (branch) this.check(branch, value, at, path);
    }
  }
}

/** Whether a value fits a part of the schema that `walk` goes over, without a word about it. */
function fits(schema: Schema, value: unknown, walk: Walk): boolean {
  const before = walk.problems.length;
  const ok = walk.check(schema, value, "#", "");
  walk.problems.length = before;
  return ok;
}

/** Both orders of arguments: with references (`schemas`, by name or in a list) or without. */
function split(args: any[]): { references: any; schema: Schema; value: any } {
  if (args.length < 3) return { references: undefined, schema: args[0], value: args[1] };
  return Array.isArray(args[1])
    ? { references: args[1], schema: args[0], value: args[2] }
    : { references: args[0], schema: args[1], value: args[2] };
}

export function Check(...args: any[]): boolean {
  const { references, schema, value } = split(args);
  return new Walk(schema, references).check(schema, value, "#", "");
}

/** All problems, in a list that can also be asked for its first one. */
export function Errors(...args: any[]): Problem[] & { First(): Problem | undefined } {
  const { references, schema, value } = split(args);
  const walk = new Walk(schema, references);
  walk.check(schema, value, "#", "");
  const first = { value: () => walk.problems[0], enumerable: false };
  return Object.defineProperty(walk.problems, "First", first) as any;
}

export function Equal(left: any, right: any): boolean {
  if (Object.is(left, right)) return true;
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  if (left instanceof Date && right instanceof Date) return left.getTime() === right.getTime();
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => own(right, key) && Equal(left[key], right[key]));
}

/** A copy in depth; what is neither a list nor a plain object stays the same. */
export function Clone(value: any): any {
  if (Array.isArray(value)) return value.map(Clone);
  if (value instanceof Date) return new Date(value.getTime());
  if (!isObject(value) || ![Object.prototype, null].includes(Object.getPrototypeOf(value))) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, Clone(item)]));
}

const childOf = (schema: Schema, key: string, walk: Walk): Schema => {
  if (schema.properties && own(schema.properties, key)) return schema.properties[key];
  const pattern = Object.keys(schema.patternProperties ?? {}).find((text) => new RegExp(text, "u").test(key));
  if (pattern !== undefined) return schema.patternProperties[pattern];
  return isObject(schema.additionalProperties) ? schema.additionalProperties : undefined;
};

const deref = (schema: Schema, walk: Walk): Schema =>
  typeof schema?.$ref === "string" ? (walk.resolve(schema.$ref) ?? schema) : schema;

function fill(given: Schema, value: any, walk: Walk): any {
  const schema = deref(given, walk);
  const base = schema?.default;
  let result = value === undefined && base !== undefined ? Clone(typeof base === "function" ? base() : base) : value;
  for (const part of schema.allOf ?? []) result = fill(part, result, walk);
  for (const part of schema.anyOf ?? []) {
    const candidate = fill(part, Clone(result), walk);
    if (fits(part, candidate, walk)) return candidate;
  }
  if (isObject(result)) {
    for (const [key, part] of Object.entries<Schema>(schema.properties ?? {})) {
      const filled = fill(part, result[key], walk);
      if (filled !== undefined) result[key] = filled;
    }
  }
  if (Array.isArray(result) && schema.items && !Array.isArray(schema.items)) {
    result.forEach((item, index) => (result[index] = fill(schema.items, item, walk)));
  }
  return result;
}

/** Puts defaults in the places where nothing is. */
export function Default(...args: any[]): any {
  const { references, schema, value } = split(args);
  return fill(schema, value, new Walk(schema, references));
}

function convertTo(type: string, value: any): any {
  switch (type) {
    case "string":
      return value === null || ["number", "boolean", "bigint"].includes(typeof value) ? String(value) : value;
    case "number":
    case "integer": {
      const text = typeof value === "string" ? value.trim().toLowerCase() : value;
      const none = text === false || text === "false" || text === null;
      const truth = text === true || text === "true" ? 1 : none ? 0 : text;
      const real = typeof truth === "string" && truth !== "" ? Number(truth) : truth;
      if (typeof real !== "number" || !Number.isFinite(real)) return value;
      return type === "integer" ? Math.trunc(real) : real;
    }
    case "boolean":
      if (value === 1 || (typeof value === "string" && /^(true|1)$/i.test(value))) return true;
      if (value === 0 || value === null) return false;
      return typeof value === "string" && /^(false|0)$/i.test(value) ? false : value;
    case "null": return typeof value === "string" && value.toLowerCase() === "null" ? null : value;
    default: return value;
  }
}

function convert(given: Schema, value: any, walk: Walk): any {
  const schema = deref(given, walk);
  if (schema.anyOf) {
    if (schema.anyOf.some((part: Schema) => fits(part, value, walk))) return value;
    for (const part of schema.anyOf) {
      const candidate = convert(part, Clone(value), walk);
      if (fits(part, candidate, walk)) return candidate;
    }
    return value;
  }
  let result = value;
  for (const part of schema.allOf ?? []) result = convert(part, result, walk);
  if (schema.const !== undefined && String(schema.const) === String(result)) return schema.const;
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type: string) => fitsType(type, result))) {
    const wrap = types[0] === "array" && !Array.isArray(schema.items) && result !== undefined;
    result = wrap ? [result] : convertTo(types[0], result);
  }
  if (isObject(result)) {
    for (const key of Object.keys(result)) {
      const part = childOf(schema, key, walk);
      if (part) result[key] = convert(part, result[key], walk);
    }
  }
  if (Array.isArray(result)) {
    result.forEach((item, index) => {
      const part = Array.isArray(schema.items) ? schema.items[index] : schema.items;
      if (part) result[index] = convert(part, item, walk);
    });
  }
  return result;
}

/** Brings values into the type that is asked for, where nothing is lost: `"3"` to `3`. */
export function Convert(...args: any[]): any {
  const { references, schema, value } = split(args);
  return convert(schema, value, new Walk(schema, references));
}

function clean(given: Schema, value: any, walk: Walk): any {
  const schema = deref(given, walk);
  if (schema.anyOf) {
    const fit = (candidate: Schema) => fits(candidate, clean(candidate, Clone(value), walk), walk);
    const part = schema.anyOf.find(fit);
    return part ? clean(part, value, walk) : value;
  }
  if (schema.allOf) {
    const parts = schema.allOf.map((part: Schema) => deref(part, walk).properties);
    return clean({ properties: Object.assign({}, ...parts) }, value, walk);
  }
  if (isObject(value) && (schema.properties || schema.patternProperties)) {
    for (const key of Object.keys(value)) {
      const part = childOf(schema, key, walk);
      if (part) value[key] = clean(part, value[key], walk);
      else if (schema.additionalProperties !== true) delete value[key];
    }
  }
  if (Array.isArray(value) && schema.items && !Array.isArray(schema.items)) {
    value.forEach((item, index) => (value[index] = clean(schema.items, item, walk)));
  }
  return value;
}

/** Takes away what the schema does not know. */
export function Clean(...args: any[]): any {
  const { references, schema, value } = split(args);
  return clean(schema, value, new Walk(schema, references));
}

function create(given: Schema, walk: Walk): any {
  const schema = deref(given, walk);
  const base = schema.default;
  if (base !== undefined) return Clone(typeof base === "function" ? base() : base);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return create(schema.anyOf[0], walk);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part: Schema) => create(part, walk)));
  switch ([schema.type].flat()[0]) {
    case "string": return " ".repeat(schema.minLength ?? 0);
    case "number":
    case "integer": return schema.minimum ?? (schema.exclusiveMinimum !== undefined ? schema.exclusiveMinimum + 1 : 0);
    case "boolean": return false;
    case "null": return null;
    case "array":
      if (Array.isArray(schema.items)) return schema.items.map((item: Schema) => create(item, walk));
      return Array.from({ length: schema.minItems ?? 0 }, () => create(schema.items, walk));
    case "object": {
      const keys: string[] = schema.required ?? [];
      const entries = Object.entries<Schema>(schema.properties ?? {}).filter(([key]) => keys.includes(key));
      return Object.fromEntries(entries.map(([key, part]) => [key, create(part, walk)]));
    }
    case undefined: return schema.not ? undefined : {};
    default: return undefined;
  }
}

/** The smallest value of a type. */
export function Create(...args: any[]): any {
  const [references, schema] = args.length > 1 && !Array.isArray(args[1]) ? args : [args[1], args[0]];
  return create(schema, new Walk(schema, references));
}

function repair(given: Schema, value: any, walk: Walk): any {
  const schema = deref(given, walk);
  if (fits(schema, value, walk)) return clean(schema, value, walk);
  if (Array.isArray(value) && schema.items && !Array.isArray(schema.items)) {
    const items = value.slice(0, schema.maxItems).map((item) => repair(schema.items, item, walk));
    return fits(schema, items, walk) ? items : create(schema, walk);
  }
  if (!isObject(value) || !schema.properties) return create(schema, walk);
  const required: string[] = schema.required ?? [];
  const wanted = (key: string) => own(value, key) || required.includes(key);
  const entries = Object.entries<Schema>(schema.properties).filter(([key]) => wanted(key));
  return Object.fromEntries(
    entries.map(([key, part]) => [key, own(value, key) ? repair(part, value[key], walk) : create(part, walk)]),
  );
}

/** A value of the type that keeps what it can of the given one. */
export function Repair(...args: any[]): any {
  const { references, schema, value } = split(args);
  const walk = new Walk(schema, references);
  return repair(schema, convert(schema, Clone(value), walk), walk);
}
export const Cast = Repair;

/** What a value that does not fit is told as, under the name of the function that was called. */
export class AssertError extends Error {
  readonly error: Problem | undefined;
  readonly value: unknown;
  constructor(source: string, value: unknown, readonly errors: Problem[]) {
    const problem = errors[0];
    super(problem ? `${source}: ${problem.instancePath || "value"} ${problem.message}` : source);
    this.error = problem;
    this.value = value;
    this.cause = { source, errors, value };
  }
}
export class ParseError extends AssertError {}
export class DecodeError extends AssertError {}
export class EncodeError extends AssertError {}

export function Assert(...args: any[]): void {
  const { value } = split(args);
  if (!Check(...args)) throw new AssertError("Assert", value, Errors(...args));
}

function code(given: Schema, value: any, way: "decode" | "encode", walk: Walk): any {
  const schema = deref(given, walk);
  const codec = schema?.["~codec"];
  const inside = (): any => {
    if (isObject(value)) {
      const entries = Object.entries(value).map(([key, item]) => {
        const part = childOf(schema, key, walk);
        return [key, part ? code(part, item, way, walk) : item];
      });
      return Object.fromEntries(entries);
    }
    if (!Array.isArray(value) || !schema.items) return value;
    return value.map((item, i) => code(Array.isArray(schema.items) ? schema.items[i] : schema.items, item, way, walk));
  };
  if (way === "encode" && codec) value = codec.encode(value);
  const result = inside();
  return way === "decode" && codec ? codec.decode(result) : result;
}

export function Decode(...args: any[]): any {
  const { references, schema, value } = split(args);
  if (!Check(...args)) throw new DecodeError("Decode", value, Errors(...args));
  return code(schema, value, "decode", new Walk(schema, references));
}

export function Encode(...args: any[]): any {
  const { references, schema, value } = split(args);
  const walk = new Walk(schema, references);
  const encoded = code(schema, value, "encode", walk);
  if (!walk.check(schema, encoded, "#", "")) throw new EncodeError("Encode", value, walk.problems);
  return encoded;
}
export const DecodeUnsafe = (...args: any[]) => {
  const { references, schema, value } = split(args);
  return code(schema, value, "decode", new Walk(schema, references));
};
export function HasCodec(schema: Schema): boolean {
  if (schema === null || typeof schema !== "object") return false;
  return Boolean(schema["~codec"]) || Object.values(schema).some(HasCodec);
}
export const HasTransform = HasCodec;

/** Defaults, conversion and cleaning, then the check: a value that fits, or an error. */
export function Parse(...args: any[]): any {
  const { references, schema, value } = split(args);
  const walk = new Walk(schema, references);
  if (fits(schema, value, walk)) return code(schema, value, "decode", walk);
  const made = clean(schema, convert(schema, fill(schema, Clone(value), walk), walk), walk);
  if (walk.check(schema, made, "#", "")) return code(schema, made, "decode", walk);
  throw new ParseError("Parse", value, Errors(...args));
}

/** A number of 64 bits over the JSON of a value, as text. */
export function Hash(value: unknown): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(JSON.stringify(value) ?? "undefined")) {
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  }
  return hash.toString(16).padStart(16, "0");
}

// Pointers, differences

const keysOf = (pointer: string) =>
  pointer === "" ? [] : pointer.slice(1).split("/").map((key) => key.replace(/~1/g, "/").replace(/~0/g, "~"));

export const ValuePointer = {
  Get: (value: any, pointer: string): any => keysOf(pointer).reduce((inner, key) => inner?.[key], value),
  Has: (value: any, pointer: string): boolean => ValuePointer.Get(value, pointer) !== undefined,
  Set(value: any, pointer: string, next: any): any {
    const keys = keysOf(pointer);
    const last = keys.pop();
    if (last === undefined) throw new Error("the root of a value cannot be set");
    keys.reduce((inner, key) => (inner[key] ??= {}), value)[last] = next;
    return value;
  },
  Delete(value: any, pointer: string): any {
    const keys = keysOf(pointer);
    const last = keys.pop();
    if (last === undefined) throw new Error("the root of a value cannot be deleted");
    const inner = keys.reduce((part, key) => part?.[key], value);
    if (Array.isArray(inner)) inner.splice(Number(last), 1);
    else if (inner) delete inner[last];
    return value;
  },
};
export const Pointer = ValuePointer;

/** The steps from one value to another: inserts, updates and deletes. */
export function Diff(left: any, right: any, path = ""): any[] {
  if (Equal(left, right)) return [];
  const both = (isObject(left) && isObject(right)) || (Array.isArray(left) && Array.isArray(right));
  if (!both) return [{ type: "update", path, value: right }];
  const keys = (value: any) => Object.keys(value);
  const at = (key: string) => `${path}/${escapeKey(key)}`;
  const added = keys(right).filter((key) => !own(left, key));
  const kept = keys(right).filter((key) => own(left, key));
  const gone = keys(left).filter((key) => !own(right, key));
  return [
    ...added.map((key) => ({ type: "insert", path: at(key), value: right[key] })),
    ...kept.flatMap((key) => Diff(left[key], right[key], at(key))),
    ...gone.reverse().map((key) => ({ type: "delete", path: at(key) })),
  ];
}

/** Goes the steps that `Diff` gave. */
export function Patch(value: any, edits: any[]): any {
  if (edits[0]?.path === "" && edits[0].type === "update") return Clone(edits[0].value);
  const result = Clone(value);
  for (const edit of edits) {
    if (edit.type === "delete") ValuePointer.Delete(result, edit.path);
    else ValuePointer.Set(result, edit.path, Clone(edit.value));
  }
  return result;
}

/** Makes one value equal to another without replacing it. */
export function Mutate(value: any, next: any): void {
  if (Array.isArray(value)) value.length = 0;
  else for (const key of Object.keys(value)) delete value[key];
  Object.assign(value, Clone(next));
}

export const Value: any = {
  ...rest.valueMembers, Assert, Cast, Check, Clean, Clone, Convert, Create, Decode, Default, Diff, Encode, Equal,
  Errors, HasCodec, Hash, Mutate, Parse, Patch, Pointer, Repair,
};
export default Value;

export const IsArray = Array.isArray;
export const IsObject = (value: unknown) => value !== null && typeof value === "object";
export const IsStandardObject = isObject;
export const IsString = (value: unknown) => typeof value === "string";
export const IsNumber = (value: unknown) => typeof value === "number";
export const IsInteger = (value: unknown) => Number.isInteger(value);
export const IsBoolean = (value: unknown) => typeof value === "boolean";
export const IsNull = (value: unknown) => value === null;
export const IsUndefined = (value: unknown) => value === undefined;
export const IsBigInt = (value: unknown) => typeof value === "bigint";
export const IsSymbol = (value: unknown) => typeof value === "symbol";
export const IsFunction = (value: unknown) => typeof value === "function";
export const IsDate = (value: unknown) => value instanceof Date;
export const IsUint8Array = (value: unknown) => value instanceof Uint8Array;
export const HasPropertyKey = (value: object, key: string) => key in value;
export * from "pi:typebox-value-rest";
