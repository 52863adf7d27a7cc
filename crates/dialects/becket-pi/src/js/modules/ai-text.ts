// What models write and what tools are given: arguments are checked against a tool's schema, JSON that is broken or not
// complete is read as far as it goes, and errors are told apart.
import { Check, Clone, Convert, Errors } from "pi:typebox-value";

// Arguments of tools

const placeOf = (problem: any): string => {
  const path = problem.instancePath.replace(/^\//, "").replace(/\//g, ".");
  const missing = problem.keyword === "required" ? problem.params.requiredProperties?.[0] : undefined;
  if (missing) return path ? `${path}.${missing}` : missing;
  return path || "root";
};

/** The arguments in the types that the tool's schema asks for, or an error that says what is wrong with them. */
export function validateToolArguments(tool: any, call: any): any {
  const args = Convert(tool.parameters, Clone(call.arguments));
  if (Check(tool.parameters, args)) return args;
  const problems = Errors(tool.parameters, args).map((problem) => `  - ${placeOf(problem)}: ${problem.message}`);
  const received = JSON.stringify(call.arguments, null, 2);
  const told = `Validation failed for tool "${call.name}":\n${problems.join("\n")}`;
  throw new Error(`${told}\n\nReceived arguments:\n${received}`);
}

export function validateToolCall(tools: any[], call: any): any {
  const tool = tools.find((candidate) => candidate.name === call.name);
  if (!tool) throw new Error(`Tool "${call.name}" not found`);
  return validateToolArguments(tool, call);
}

// JSON

const SHORT: Record<string, string> = { "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const visible = (char: string) => SHORT[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Makes texts inside of JSON legal: control characters and backslashes that escape nothing are escaped. */
export function repairJson(json: string): string {
  return json.replace(/"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)/g, (text) =>
    text
      .replace(/\\(u[0-9a-fA-F]{4}|["\\/bfnrt]|$)?/g, (whole, escaped) => (escaped ? whole : "\\\\"))
      .replace(/[\u0000-\u001f]/g, visible),
  );
}

export function parseJsonWithRepair(json: string): any {
  try {
    return JSON.parse(json);
  } catch (error) {
    const repaired = repairJson(json);
    if (repaired === json) throw error;
    return JSON.parse(repaired);
  }
}

/** Reads a beginning of JSON as far as it goes; `at` stands at its end as soon as something is not complete. */
class Beginning {
  private at = 0;
  constructor(private readonly text: string) {}

  /** A value, or undefined if none has begun. */
  value(): any {
    this.skip(/\s*/y);
    const char = this.text[this.at];
    if (char === "{") return this.members();
    if (char === "[") return this.items();
    if (char === '"') return this.string().value;
    const word = this.skip(/[-+.\w]+/y);
    if (word === "") this.at = this.text.length;
    const whole = ["true", "false", "null"].find((known) => word !== "" && known.startsWith(word));
    const number = /^-?\d+(\.\d+)?([eE][-+]?\d+)?/.exec(word)?.[0];
    return whole ? JSON.parse(whole) : number && Number(number);
  }

  private skip(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  private string(): { value: string; whole: boolean } {
    const raw = this.skip(/"(?:[^"\\]|\\[\s\S])*/y);
    const whole = this.skip(/"/y) !== "";
    const body = whole ? raw : raw.replace(/\\u[0-9a-fA-F]{0,3}$/, "");
    if (!whole) this.at = this.text.length;
    return { value: JSON.parse(repairJson(`${body}"`)), whole };
  }

  private members(): any {
    const object: any = {};
    for (this.at++; this.skip(/[\s,]*/y) !== undefined && this.text[this.at] === '"'; ) {
      const { value: key, whole } = this.string();
      if (!whole || !this.skip(/\s*:/y)) break;
      const value = this.value();
      if (value !== undefined) object[key] = value;
    }
    this.skip(/\}/y);
    return object;
  }

  private items(): any[] {
    const list: any[] = [];
    for (this.at++; this.skip(/[\s,]*/y) !== undefined && this.at < this.text.length && this.text[this.at] !== "]"; ) {
      const value = this.value();
      if (value !== undefined) list.push(value);
    }
    this.skip(/\]/y);
    return list;
  }
}

/** The value of a beginning of JSON, as far as it goes; an empty object if it does not go anywhere. */
export function parseStreamingJson(partial: string | undefined): any {
  if (!partial || partial.trim() === "") return {};
  try {
    return parseJsonWithRepair(partial);
  } catch {
    return new Beginning(partial).value() ?? {};
  }
}

// Errors

const OVERFLOW = [
  /prompt is too long/i, /request_too_large/i, /input is too long for requested model/i, /exceeds the context window/i,
  /input token count.*exceeds the maximum/i, /maximum prompt length is \d+/i, /reduce the length of the messages/i,
  /maximum context length is \d+ tokens/i, /exceeds the limit of \d+/i, /exceeds the available context size/i,
  /greater than the context length/i, /context window exceeds limit/i, /exceeded model token limit/i,
  /too large for model with \d+ maximum context length/i, /model_context_window_exceeded/i,
  /prompt too long; exceeded (?:max )?context length/i, /context[_ ]length[_ ]exceeded/i, /too many tokens/i,
  /token limit exceeded/i, /^4(?:00|13)\s*(?:status code)?\s*\(no body\)/i,
];
const NO_OVERFLOW = [/^(Throttling error|Service unavailable):/i, /rate limit/i, /too many requests/i];

export const getOverflowPatterns = (): RegExp[] => [...OVERFLOW];

/** Whether a message says, by its error or by its numbers, that the conversation was too long for the model. */
export function isContextOverflow(message: any, contextWindow?: number): boolean {
  const { stopReason, errorMessage, usage } = message;
  if (stopReason === "error" && errorMessage) {
    const matches = (patterns: RegExp[]) => patterns.some((pattern) => pattern.test(errorMessage));
    if (!matches(NO_OVERFLOW) && matches(OVERFLOW)) return true;
  }
  if (!contextWindow || !usage) return false;
  const input = usage.input + usage.cacheRead;
  if (stopReason === "stop") return input > contextWindow;
  return stopReason === "length" && usage.output === 0 && input >= contextWindow * 0.99;
}

const RETRYABLE = new RegExp(
  "overloaded|rate.?limit|too many requests|429|500|502|503|504|529|service.?unavailable|server error|internal error|" +
    "network|connection|socket|fetch failed|timed? ?out|terminated",
  "i",
);

/** Whether trying again makes sense after this error. */
export const isRetryableAssistantError = (message: any): boolean =>
  message.stopReason === "error" && !isContextOverflow(message) && RETRYABLE.test(message.errorMessage ?? "");

export const retryDelayMs = (policy: { baseDelayMs: number; maxAgentDelayMs?: number }, attempt: number): number =>
  Math.min(policy.baseDelayMs * 2 ** Math.max(0, attempt - 1), policy.maxAgentDelayMs ?? 60_000);

export const formatThrownValue = (value: unknown): string =>
  value instanceof Error ? value.message || value.name : String(value);

export function extractDiagnosticError(error: any): any {
  if (!(error instanceof Error)) return { name: "ThrownValue", message: formatThrownValue(error) };
  const { name, message, stack } = error;
  const code = (error as any).code;
  const told = typeof code === "string" || typeof code === "number" ? code : undefined;
  return { name: name || undefined, message: message || name, stack, code: told };
}

export const createAssistantMessageDiagnostic = (type: string, error: unknown, details?: unknown) => ({
  type, timestamp: Date.now(), error: extractDiagnosticError(error), details,
});

export function appendAssistantMessageDiagnostic(message: any, diagnostic: unknown): void {
  message.diagnostics = [...(message.diagnostics ?? []), diagnostic];
}

// Texts of messages, and what a session leaves behind

export const contentText = (content: any, separator = "\n"): string =>
  typeof content === "string"
    ? content
    : content.filter((block: any) => block.type === "text").map((block: any) => block.text).join(separator);

export const getSystemMessageText = (message: any): string =>
  [contentText(message.content), ...Object.values(message.sections ?? {})].filter(Boolean).join("\n\n");

const cleanups = new Set<(session?: string) => void>();

export function registerSessionResourceCleanup(cleanup: (session?: string) => void): () => void {
  cleanups.add(cleanup);
  return () => void cleanups.delete(cleanup);
}

export function cleanupSessionResources(session?: string): void {
  const errors: unknown[] = [];
  for (const cleanup of cleanups) {
    try {
      cleanup(session);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, "Failed to cleanup session resources");
}

/** An identifier that sorts by time. */
export function uuidv7(at: number = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let i = 0; i < 6; i++) bytes[i] = Math.floor(at / 2 ** (8 * (5 - i))) & 0xff;
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
