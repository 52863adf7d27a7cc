// Schemas with the texts of typebox 1.x, and values that are checked and changed by them.
import { Type } from "typebox";
import { Value } from "typebox/value";
import { Compile } from "typebox/compile";
// A name that is not there yet: this import is of the whole package, the first of a part of it.
import { Argument, Type as Old } from "@sinclair/typebox";
import { Type as Ai, StringEnum } from "@mariozechner/pi-ai";
import { report, same } from "./check.ts";

const text = (schema: unknown) => JSON.stringify(schema);

function parts() {
  same("one package, in part and whole", Old === Type, true);
  same("what is not there yet", [typeof Argument, typeof Type.Script, "Script" in Type, "Nothing" in Type], [
    "function", "function", true, false,
  ]);
}

function schemas() {
  const person = Type.Object(
    { name: Type.String({ description: "who" }), age: Type.Optional(Type.Number({ minimum: 1 })) },
    { description: "a person", additionalProperties: false },
  );
  const rows: [string, unknown, string][] = [
    [
      "object",
      person,
      '{"type":"object","required":["name"],"properties":{"name":{"type":"string","description":"who"},' +
        '"age":{"type":"number","minimum":1}},"description":"a person","additionalProperties":false}',
    ],
    [
      "nothing required",
      Type.Object({ a: Type.Optional(Type.Null()) }),
      '{"type":"object","properties":{"a":{"type":"null"}}}',
    ],
    ["literal", Type.Literal("a", { title: "t" }), '{"type":"string","const":"a","title":"t"}'],
    [
      "union",
      Type.Union([Type.Literal(1), Type.Boolean()]),
      '{"anyOf":[{"type":"number","const":1},{"type":"boolean"}]}',
    ],
    [
      "array",
      Type.Array(Type.Integer(), { minItems: 1 }),
      '{"type":"array","items":{"type":"integer"},"minItems":1}',
    ],
    ["record", Type.Record(Type.String(), Type.Any()), '{"type":"object","patternProperties":{"^.*$":{}}}'],
    [
      "record of names",
      Type.Record(Type.Union([Type.Literal("a")]), Type.Null()),
      '{"type":"object","required":["a"],"properties":{"a":{"type":"null"}}}',
    ],
    [
      "tuple",
      Type.Tuple([Type.String()]),
      '{"type":"array","additionalItems":false,"items":[{"type":"string"}],"minItems":1}',
    ],
    ["enum", Type.Enum({ A: "a", B: "b" }), '{"enum":["a","b"]}'],
    [
      "partial",
      Type.Partial(person),
      '{"type":"object","properties":{"name":{"type":"string","description":"who"},' +
        '"age":{"type":"number","minimum":1}}}',
    ],
    [
      "pick",
      Type.Pick(person, ["age"]),
      '{"type":"object","properties":{"age":{"type":"number","minimum":1}}}',
    ],
    [
      "omit",
      Type.Omit(person, ["age"]),
      '{"type":"object","required":["name"],"properties":{"name":{"type":"string","description":"who"}}}',
    ],
    [
      "keys",
      Type.KeyOf(person),
      '{"anyOf":[{"type":"string","const":"name"},{"type":"string","const":"age"}]}',
    ],
    [
      "intersect",
      Type.Intersect([Type.Object({}), Type.Object({})]),
      '{"allOf":[{"type":"object","properties":{}},{"type":"object","properties":{}}]}',
    ],
    ["unsafe", Type.Unsafe({ type: "string", format: "x" }), '{"type":"string","format":"x"}'],
    [
      "template",
      Type.TemplateLiteral([Type.Literal("a."), Type.String()]),
      '{"type":"string","pattern":"^a\\\\..*$"}',
    ],
    [
      "recursive",
      Old.Recursive((self) => Old.Object({ next: Old.Optional(self) }), { $id: "Node" }),
      '{"type":"object","properties":{"next":{"$ref":"Node"}},"$id":"Node"}',
    ],
    [
      "composite",
      Old.Composite([Old.Object({ a: Old.String() }), Old.Object({ b: Old.Null() })]),
      '{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"null"}}}',
    ],
    [
      "from pi-ai",
      Ai.Object({ kind: StringEnum(["a", "b"], { description: "which" }) }),
      '{"type":"object","required":["kind"],"properties":{"kind":{"type":"string","enum":["a","b"],' +
        '"description":"which"}}}',
    ],
  ];
  for (const [name, schema, wanted] of rows) same(name, text(schema), wanted);
  same("kinds are hidden", Object.keys(Type.Optional(Type.String())), ["type"]);
}

function values() {
  const schema = Type.Object(
    { name: Type.String({ minLength: 2 }), count: Type.Number({ minimum: 0, default: 5 }) },
    { additionalProperties: false },
  );
  same("fits", Value.Check(schema, { name: "ab", count: 1 }), true);
  const problems = Value.Errors(schema, { name: "a", count: -1, other: 1 });
  same(
    "does not fit",
    problems.map((each: any) => `${each.instancePath} ${each.message}`),
    [
      "/other schema is false",
      " must not have additional properties",
      "/name must not have fewer than 2 characters",
      "/count must be >= 0",
    ],
  );
  same("what is missing", Value.Errors(schema, {})[0].message, "must have required properties name, count");
  same("defaults", Value.Default(schema, { name: "ab" }), { name: "ab", count: 5 });
  same("conversion", Value.Convert(schema, { name: 12, count: "3.5" }), { name: "12", count: 3.5 });
  same("cleaning", Value.Clean(schema, { name: "ab", count: 1, other: 2 }), { name: "ab", count: 1 });
  same("parsing", Value.Parse(schema, { name: "ab", count: "7", other: 2 }), { name: "ab", count: 7 });
  same("creation", Value.Create(schema), { name: "  ", count: 5 });
  same("a validator", Compile(schema).Errors({ name: "ab", count: "x" })[0].message, "must be number");
  const list = Old.Recursive((self) => Old.Object({ next: Old.Optional(self) }), { $id: "List" });
  same(
    "a type inside of itself",
    [Value.Check(list, { next: { next: {} } }), Value.Check(list, { next: 1 })],
    [true, false],
  );
  const upper = Old.Transform(Old.String())
    .Decode((word: string) => word.length)
    .Encode((n: number) => "x".repeat(n));
  same("a codec", [Value.Decode(upper, "abc"), Value.Encode(upper, 2)], [3, "xx"]);
  same("a difference", Value.Patch({ a: 1, c: 3 }, Value.Diff({ a: 1, c: 3 }, { a: 2, b: [1] })), {
    a: 2,
    b: [1],
  });
}

export default function () {
  parts();
  schemas();
  values();
  return report();
}
