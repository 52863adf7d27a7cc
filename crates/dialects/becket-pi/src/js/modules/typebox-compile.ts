// `typebox/compile` and `@sinclair/typebox/compiler`: a schema with its checks bound to it. Nothing is compiled here;
// the checks are those of `typebox/value`.
import * as value from "pi:typebox-value";

export class Validator {
  constructor(private readonly schema: any, private readonly references: any = {}) {}
  private run(name: string, input: unknown): any {
    return (value as any)[name](this.references, this.schema, input);
  }
  IsAccelerated = () => false;
  Context = () => this.references;
  Type = () => this.schema;
  Schema = () => this.schema;
  References = () => this.references;
  Code = () => "";
  Check = (input: unknown): boolean => this.run("Check", input);
  Errors = (input: unknown): any => this.run("Errors", input);
  Parse = (input: unknown): any => this.run("Parse", input);
  Clean = (input: unknown): any => this.run("Clean", input);
  Convert = (input: unknown): any => this.run("Convert", input);
  Default = (input: unknown): any => this.run("Default", input);
  Decode = (input: unknown): any => this.run("Decode", input);
  Encode = (input: unknown): any => this.run("Encode", input);
  Create = (): any => value.Create(this.references, this.schema);
}

/** `Compile(schema)`, or with named schemas that it may refer to. */
export function Compile(...args: any[]): Validator {
  const [first, second] = args;
  const named = second !== undefined && !Array.isArray(second);
  return named ? new Validator(second, first) : new Validator(first, byName(second));
}

const byName = (schemas: any[] = []): any => Object.fromEntries(schemas.map((schema) => [schema.$id, schema]));

export { Validator as TypeCheck };
export const TypeCompiler = { Compile, Code: () => "" };
export const Code = () => "";
export default Compile;
export * from "pi:typebox-compile-rest";
