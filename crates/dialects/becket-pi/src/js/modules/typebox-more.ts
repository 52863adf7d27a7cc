// The builders of typebox that few extensions use, questions about schemas, and names that only 0.34 knows.
import first, { inner } from "pi:typebox";

type Schema = any;
type Options = Record<string, unknown> | undefined;

const { hide, make, copy, kindOf, isOptional, plain, enumValues, literalsOf } = inner;
const { NUMBER_KEY, INTEGER_KEY, STRING_KEY } = inner;
const {
  Never, Null, Literal, Tuple, Union, Integer, Optional, Array: Array_, Object: Object_, String: String_,
  Number: Number_, Readonly: Readonly_,
} = inner.builders;

export const TransformKind = Symbol.for("TypeBox.Transform");

// Plain types

const Void = plain("Void", "void");
const Undefined = plain("Undefined", "undefined");
const BigInt_ = plain("BigInt", "bigint");
const Symbol_ = plain("Symbol", "symbol");
const Date_ = plain("Date", "Date");
const Uint8Array_ = plain("Uint8Array", "Uint8Array");
const This = (options?: Options) => make("This", { $ref: "#" }, options);
const RegExp_ = (pattern: RegExp | string, options?: Options) =>
  typeof pattern === "string"
    ? make("RegExp", { type: "RegExp", source: pattern, flags: "" }, options)
    : make("RegExp", { type: "RegExp", source: pattern.source, flags: pattern.flags }, options);
const Promise_ = (item: Schema, options?: Options) => make("Promise", { type: "Promise", item }, options);
const AsyncIterator = (items: Schema, options?: Options) =>
  make("AsyncIterator", { type: "AsyncIterator", items }, options);
const Iterator_ = (items: Schema, options?: Options) => make("Iterator", { type: "Iterator", items }, options);
const Function_ = (parameters: Schema[], returnType: Schema, options?: Options) =>
  make("Function", { type: "function", parameters, returnType }, options);
const Constructor = (parameters: Schema[], instanceType: Schema, options?: Options) =>
  make("Constructor", { type: "constructor", parameters, instanceType }, options);
const Not = (not: Schema, options?: Options) => make("Not", { not }, options);

// Marks

const ReadonlyOptional = (schema: Schema) => Readonly_(Optional(schema));
const Immutable = (schema: Schema) => hide(copy(schema), "~immutable", true);

// Types made of types

/** The properties that a type has: its own, or those of all its parts. */
function propertiesOf(schema: Schema): Record<string, Schema> {
  if (schema.properties) return schema.properties;
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(propertiesOf));
  return {};
}

function mapProperties(schema: Schema, change: (properties: Record<string, Schema>) => any, options?: Options): Schema {
  if (schema.anyOf) return Union(schema.anyOf.map((part: Schema) => mapProperties(part, change)), options);
  return Object_(change(propertiesOf(schema)), options);
}

const mapValues = (change: (value: Schema) => Schema) => (properties: Record<string, Schema>) =>
  Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, change(value)]));
const keepKeys = (keep: (key: string) => boolean) => (properties: Record<string, Schema>) =>
  Object.fromEntries(Object.entries(properties).filter(([key]) => keep(key)));

const Partial_ = (schema: Schema, options?: Options) => mapProperties(schema, mapValues((v) => Optional(v)), options);
const Required_ = (schema: Schema, options?: Options) =>
  mapProperties(schema, mapValues((value) => Optional(value, false)), options);
const ReadonlyObject = (schema: Schema, options?: Options) =>
  mapProperties(schema, mapValues((value) => Readonly_(value)), options);
function Pick_(schema: Schema, keys: any, options?: Options): Schema {
  const names = new Set(literalsOf(keys) ?? []);
  return mapProperties(schema, keepKeys((key) => names.has(key)), options);
}
function Omit_(schema: Schema, keys: any, options?: Options): Schema {
  const names = new Set(literalsOf(keys) ?? []);
  return mapProperties(schema, keepKeys((key) => !names.has(key)), options);
}
const Composite = (schemas: Schema[], options?: Options) =>
  Object_(Object.assign({}, ...schemas.map(propertiesOf)), options);
const Interface = (heritage: Schema[], properties: Record<string, Schema>, options?: Options) =>
  Object_(Object.assign({}, ...heritage.map(propertiesOf), properties), options);

/** A union of several, the one itself, or never. */
function either(parts: Schema[], options?: Options): Schema {
  if (parts.length === 0) return Never(options);
  return parts.length === 1 ? Object.assign(copy(parts[0]), options) : Union(parts, options);
}

const KeyOf = (schema: Schema, options?: Options) =>
  either(Object.keys(propertiesOf(schema)).map((key) => Literal(key)), options);
function Index(schema: Schema, keys: any, options?: Options): Schema {
  const found = (literalsOf(keys) ?? []).map((key) => propertiesOf(schema)[key] ?? schema.items?.[key] ?? schema.items);
  return either(found.filter(Boolean).map((value) => Optional(value, false)), options);
}

/** Whether every value of the one is a value of the other, as far as the shapes of JSON Schema say. */
function fits(left: Schema, right: Schema): boolean {
  const kind = kindOf(right);
  if (kind === "Any" || kind === "Unknown") return true;
  if (Array.isArray(left.anyOf)) return left.anyOf.every((part: Schema) => fits(part, right));
  if (Array.isArray(right.anyOf)) return right.anyOf.some((part: Schema) => fits(left, part));
  if (right.const !== undefined) return left.const === right.const;
  if (left.type === "integer" && right.type === "number") return true;
  if (left.type !== right.type) return false;
  return Object.entries(right.properties ?? {}).every(([key, value]) => {
    const own = left.properties?.[key];
    return own ? fits(own, value) : isOptional(value);
  });
}

const members = (schema: Schema): Schema[] => schema.anyOf ?? (schema.enum?.map((v: any) => Literal(v))) ?? [schema];
const Exclude_ = (left: Schema, right: Schema, options?: Options) =>
  either(members(left).filter((part) => !fits(part, right)), options);
const Extract_ = (left: Schema, right: Schema, options?: Options) =>
  either(members(left).filter((part) => fits(part, right)), options);
const NonNullable_ = (schema: Schema, options?: Options) =>
  either(members(schema).filter((part) => part.type !== "null" && part.type !== "undefined"), options);
const Conditional = (left: Schema, right: Schema, yes: Schema, no: Schema) => (fits(left, right) ? yes : no);

/** The type of exactly this value. */
function Const(value: any, options?: Options): Schema {
  if (Array.isArray(value)) return Tuple(value.map((item) => Const(item)), options);
  if (value !== null && typeof value === "object") return Object_(mapValues((v) => Const(v))(value), options);
  return value === null ? Null(options) : Literal(value, options);
}

function Mapped(keys: Schema, change: (key: Schema) => Schema, options?: Options): Schema {
  const names = literalsOf(keys) ?? [];
  return Object_(Object.fromEntries(names.map((name) => [name, change(Literal(name))])), options);
}

function mapText(change: (text: string) => string) {
  return function apply(schema: Schema, options?: Options): Schema {
    if (schema.anyOf) return Union(schema.anyOf.map((part: Schema) => apply(part)), options);
    return typeof schema.const === "string" ? Literal(change(schema.const), options) : schema;
  };
}

const Capitalize_ = mapText((text) => text.charAt(0).toUpperCase() + text.slice(1));
const Uncapitalize_ = mapText((text) => text.charAt(0).toLowerCase() + text.slice(1));
const Uppercase_ = mapText((text) => text.toUpperCase());
const Lowercase_ = mapText((text) => text.toLowerCase());

/** A type that contains itself: inside, `self` refers to the whole by its `$id`. */
let unnamed = 0;
function Recursive(build: (self: Schema) => Schema, options: any = {}): Schema {
  const id = options.$id ?? `T${unnamed++}`;
  const schema = build(make("This", { $ref: id }));
  return Object.assign(copy(schema), { ...options, $id: id });
}

function Cyclic($defs: Record<string, Schema>, $ref: string, options?: Options): Schema {
  const named = Object.entries($defs).map(([id, schema]) => [id, Object.assign(copy(schema), { $id: id })]);
  return make("Cyclic", { $defs: Object.fromEntries(named), $ref }, options);
}

/** Named types that refer to each other. 1.x gives them as properties, 0.34 by `Import`. */
function Module(definitions: Record<string, Schema>): any {
  const inline = (schema: Schema, seen: string[]): Schema => {
    if (schema === null || typeof schema !== "object") return schema;
    const target = typeof schema.$ref === "string" ? definitions[schema.$ref] : undefined;
    if (target && seen.includes(schema.$ref)) return schema;
    if (target) return inline(target, [...seen, schema.$ref]);
    if (Array.isArray(schema)) return schema.map((part) => inline(part, seen));
    const result = copy(schema);
    for (const key of Object.keys(result)) result[key] = inline(result[key], seen);
    return result;
  };
  const module = Object.fromEntries(Object.keys(definitions).map((key) => [key, inline(definitions[key], [key])]));
  return hide(module, "Import", (key: string, options?: Options) => Cyclic(definitions, key, options));
}

const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The pattern of one part of a template. */
function patternOf(part: Schema): string {
  if (part.pattern) return part.pattern.replace(/^\^|\$$/g, "");
  if (part.const !== undefined) return escape(String(part.const));
  if (part.anyOf) return `(${part.anyOf.map(patternOf).join("|")})`;
  if (part.enum) return `(${part.enum.map((value: unknown) => escape(String(value))).join("|")})`;
  const kind = kindOf(part);
  if (kind === "Boolean") return "(true|false)";
  if (kind === "Number" || kind === "BigInt") return NUMBER_KEY.slice(1, -1);
  return kind === "Integer" ? INTEGER_KEY.slice(1, -1) : ".*";
}

/** `"a${b|c}"` or a list of parts. */
function TemplateLiteral(template: string | Schema[], options?: Options): Schema {
  const parts =
    typeof template !== "string"
      ? template
      : template.split(/(\$\{[^}]*\})/).filter(Boolean).map((piece) => {
          if (!piece.startsWith("${")) return Literal(piece);
          const words = piece.slice(2, -1).split("|").map((word) => word.trim());
          if (words.length === 1 && words[0] === "string") return String_();
          if (words.length === 1 && words[0] === "number") return Number_();
          return Union(words.map((word) => Literal(word.replace(/^["']|["']$/g, ""))));
        });
  return make("TemplateLiteral", { type: "string", pattern: `^${parts.map(patternOf).join("")}$` }, options);
}

// Values that are changed on the way in and out

class Way {
  constructor(private readonly schema: Schema, private readonly decode: (value: any) => any) {}
  Encode(encode: (value: any) => any): Schema {
    const codec = hide(copy(this.schema), "~codec", { decode: this.decode, encode });
    return hide(codec, TransformKind, { Decode: this.decode, Encode: encode });
  }
}

const Codec = (schema: Schema) => ({ Decode: (decode: (value: any) => any) => new Way(schema, decode) });
const Decode = (schema: Schema, decode: (value: any) => any) =>
  new Way(schema, decode).Encode(() => {
    throw new Error("this type can only be decoded");
  });
const Encode = (schema: Schema, encode: (value: any) => any) =>
  new Way(schema, () => {
    throw new Error("this type can only be encoded");
  }).Encode(encode);
function Refine(schema: Schema, check: (value: any) => boolean, message: any = "refine error"): Schema {
  const text = typeof message === "function" ? message : () => message?.message ?? message;
  return hide(copy(schema), "~refine", [...(schema["~refine"] ?? []), { check, message: text }]);
}

const With = (schema: Schema, options: Options) => Object.assign(copy(schema), options);
const Parameters_ = (schema: Schema, options?: Options) => Tuple(schema.parameters ?? [], options);
const ReturnType_ = (schema: Schema) => schema.returnType;
const InstanceType_ = (schema: Schema) => schema.instanceType;
const Awaited_ = (schema: Schema) => schema.item ?? schema;
const Evaluate = (schema: Schema) => (schema.allOf ? Composite(schema.allOf) : schema);
const RecordPattern = (schema: Schema) => Object.keys(schema.patternProperties)[0];
const RecordValue = (schema: Schema) => schema.patternProperties[RecordPattern(schema)];
const RecordKey = (schema: Schema) => {
  const pattern = RecordPattern(schema);
  return pattern === NUMBER_KEY ? Number_() : pattern === INTEGER_KEY ? Integer() : String_();
};

// Questions about schemas

const isKind = (kind: string) => (schema: any): boolean => kindOf(schema) === kind;
const IsSchema = (value: any): boolean => value !== null && typeof value === "object" && !Array.isArray(value);
const IsKind = (schema: any, kind: string): boolean => kindOf(schema) === kind;
const IsOptional = (schema: any): boolean => isOptional(schema);
const IsReadonly = (schema: any): boolean => Boolean(schema?.["~readonly"]);
const IsCodec = (schema: any): boolean => Boolean(schema?.["~codec"]);
const IsRefine = (schema: any): boolean => Boolean(schema?.["~refine"]);
const IsImmutable = (schema: any): boolean => Boolean(schema?.["~immutable"]);
const GUARDS = [
  "Any", "Array", "BigInt", "Boolean", "Constructor", "Cyclic", "Date", "Enum", "Function", "Integer", "Intersect",
  "Literal", "Never", "Not", "Null", "Number", "Object", "Record", "Ref", "String", "Symbol", "TemplateLiteral", "This",
  "Tuple", "Undefined", "Union", "Unknown", "Void",
];
const guards: Record<string, (schema: any) => boolean> = {
  ...Object.fromEntries(GUARDS.map((kind) => [`Is${kind}`, isKind(kind)])),
  IsSchema, IsOptional, IsReadonly, IsCodec, IsRefine, IsImmutable,
};

export const TypeGuard: any = { ...guards, IsKind: (schema: any) => kindOf(schema) !== undefined };
export const KindGuard: any = TypeGuard;

export class TypeBoxError extends Error {}

/** A table of named things, as 0.34 has two of: formats and types of one's own. */
function registry(): any {
  const entries = new Map<string, any>();
  return {
    Entries: () => new Map(entries),
    Clear: () => entries.clear(),
    Delete: (name: string) => entries.delete(name),
    Has: (name: string) => entries.has(name),
    Set: (name: string, check: any) => void entries.set(name, check),
    Get: (name: string) => entries.get(name),
  };
}

export const FormatRegistry = registry();
export const TypeRegistry = registry();
export const CloneType = (schema: Schema, options?: Options) => Object.assign(copy(schema), options);
export const CreateType = CloneType;
export const PatternString = "(.*)";
export const PatternNumber = "(0|[1-9][0-9]*)";
export const PatternBoolean = "(true|false)";
export const PatternNever = "(?!.*)";
export const PatternStringExact = `^${PatternString}$`;
export const PatternNumberExact = `^${PatternNumber}$`;
export const PatternBooleanExact = `^${PatternBoolean}$`;
export const PatternNeverExact = `^${PatternNever}$`;
export const StringPattern = ".*";
export const NumberPattern = NUMBER_KEY.slice(1, -1);
export const IntegerPattern = INTEGER_KEY.slice(1, -1);
export const BigIntPattern = `${IntegerPattern}n`;
export const NeverPattern = "(?!)";
export const StringKey = STRING_KEY;
export const NumberKey = NUMBER_KEY;
export const IntegerKey = INTEGER_KEY;

/** What stands here and belongs to all builders. */
export const builders: any = {
  Void, Undefined, BigInt: BigInt_, Symbol: Symbol_, Date: Date_, Uint8Array: Uint8Array_, This, RegExp: RegExp_,
  Promise: Promise_, AsyncIterator, Iterator: Iterator_, Function: Function_, Constructor, Not, ReadonlyType: Readonly_,
  ReadonlyOptional, Immutable, Partial: Partial_, Required: Required_, ReadonlyObject, Pick: Pick_, Omit: Omit_,
  Composite, Interface, KeyOf, Index, Exclude: Exclude_, Extract: Extract_, NonNullable: NonNullable_, Conditional,
  Extends: Conditional, Const, Mapped, Capitalize: Capitalize_, Uncapitalize: Uncapitalize_, Uppercase: Uppercase_,
  Lowercase: Lowercase_, Recursive, Cyclic, Module, TemplateLiteral, Codec, Transform: Codec, Decode, Encode, Refine,
  With, Parameters: Parameters_, ConstructorParameters: Parameters_, ReturnType: ReturnType_,
  InstanceType: InstanceType_, Awaited: Awaited_, Evaluate, RecordKey, RecordPattern, RecordValue, IsKind, ...guards,
};

export const JsonTypeBuilder: any = class {};
export const JavaScriptTypeBuilder: any = JsonTypeBuilder;
Object.setPrototypeOf(JsonTypeBuilder.prototype, first);

export {
  Void, Undefined, BigInt_ as BigInt, Symbol_ as Symbol, Date_ as Date, Uint8Array_ as Uint8Array, This,
  RegExp_ as RegExp, Promise_ as Promise, AsyncIterator, Iterator_ as Iterator, Function_ as Function,
  Function_ as _Function_, Constructor, Array_ as _Array_, Not, Object_ as _Object_, Readonly_ as ReadonlyType,
  ReadonlyOptional, Immutable, Partial_ as Partial, Required_ as Required, ReadonlyObject, Pick_ as Pick,
  Omit_ as Omit, Composite, Interface, KeyOf, Index, Exclude_ as Exclude, Extract_ as Extract,
  NonNullable_ as NonNullable, Conditional, Conditional as Extends, Const, Mapped, Capitalize_ as Capitalize,
  Uncapitalize_ as Uncapitalize, Uppercase_ as Uppercase, Lowercase_ as Lowercase, Recursive, Cyclic, Module,
  TemplateLiteral, Codec, Codec as Transform, Decode, Encode, Refine, With, Parameters_ as Parameters,
  Parameters_ as ConstructorParameters, ReturnType_ as ReturnType, InstanceType_ as InstanceType, Awaited_ as Awaited,
  Evaluate, RecordKey, RecordPattern, RecordValue, IsKind, IsSchema, IsOptional, IsReadonly, IsCodec, IsRefine,
  IsImmutable, enumValues as TypeScriptEnumToEnumValues,
};
export const {
  IsAny, IsArray, IsBigInt, IsBoolean, IsConstructor, IsCyclic, IsEnum, IsFunction, IsInteger, IsIntersect, IsLiteral,
  IsNever, IsNull, IsNumber, IsObject, IsRecord, IsRef, IsString, IsSymbol, IsTemplateLiteral, IsThis, IsTuple,
  IsUndefined, IsUnion, IsUnknown, IsVoid,
} = guards;
