// What pi's tools share: limits and how texts are cut to them, paths as models write them, and how a call is ended.
import { accessSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, resolve } from "node:path";

export const MAX_LINES = 2000;
export const MAX_BYTES = 50 * 1024;
export const MAX_GREP_CHARS = 500;

const bytesOf = (text: string): number => Buffer.byteLength(text, "utf-8");

export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  const kilobytes = bytes / 1024;
  return kilobytes < 1024 ? `${kilobytes.toFixed(1)}KB` : `${(kilobytes / 1024).toFixed(1)}MB`;
}

export interface Truncation {
  content: string;
  truncated: boolean;
  truncatedBy: "lines" | "bytes" | null;
  totalLines: number;
  totalBytes: number;
  outputLines: number;
  outputBytes: number;
  lastLinePartial: boolean;
  firstLineExceedsLimit: boolean;
  maxLines: number;
  maxBytes: number;
}

interface Limits {
  maxLines?: number;
  maxBytes?: number;
}

/** As many of the lines, in the given order, as fit the limits. */
function fitting(lines: string[], maxLines: number, maxBytes: number): { kept: string[]; by: "lines" | "bytes" } {
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    if (kept.length >= maxLines) return { kept, by: "lines" };
    bytes += bytesOf(line) + (kept.length > 0 ? 1 : 0);
    if (bytes > maxBytes) return { kept, by: "bytes" };
    kept.push(line);
  }
  return { kept, by: "lines" };
}

function measured(content: string, { maxLines = MAX_LINES, maxBytes = MAX_BYTES }: Limits) {
  const lines = content.split("\n");
  const totalBytes = bytesOf(content);
  const whole: Truncation = {
    content, truncated: false, truncatedBy: null, totalLines: lines.length, totalBytes, outputLines: lines.length,
    outputBytes: totalBytes, lastLinePartial: false, firstLineExceedsLimit: false, maxLines, maxBytes,
  };
  return { lines, whole, fits: lines.length <= maxLines && totalBytes <= maxBytes };
}

function cut(whole: Truncation, kept: string[], by: "lines" | "bytes", extra: Partial<Truncation> = {}): Truncation {
  const content = kept.join("\n");
  const output = { outputLines: kept.length, outputBytes: bytesOf(content) };
  return { ...whole, content, truncated: true, truncatedBy: by, ...output, ...extra };
}

/** The beginning of a text, in whole lines. */
export function truncateHead(content: string, limits: Limits = {}): Truncation {
  const { lines, whole, fits } = measured(content, limits);
  if (fits) return whole;
  if (bytesOf(lines[0]) > whole.maxBytes) return cut(whole, [], "bytes", { firstLineExceedsLimit: true });
  const { kept, by } = fitting(lines, whole.maxLines, whole.maxBytes);
  return cut(whole, kept, by);
}

/** The end of a text, in whole lines, or the end of its last line if not even that fits. */
export function truncateTail(content: string, limits: Limits = {}): Truncation {
  const { lines, whole, fits } = measured(content, limits);
  if (fits) return whole;
  const { kept, by } = fitting(lines.reverse(), whole.maxLines, whole.maxBytes);
  if (kept.length > 0 || by === "lines") return cut(whole, kept.reverse(), by);
  return cut(whole, [endOf(lines[0], whole.maxBytes)], "bytes", { lastLinePartial: true });
}

/** The last bytes of a text, beginning with a whole character. */
export function endOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, "utf-8");
  let start = Math.max(0, bytes.length - maxBytes);
  while (start < bytes.length && (bytes[start] & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString("utf-8");
}

export const truncateLine = (line: string, maxChars = MAX_GREP_CHARS) =>
  line.length <= maxChars
    ? { text: line, wasTruncated: false }
    : { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };

// Paths

/** A path as a model writes it: perhaps with `@` before it, `~` in it, or a space that is none. */
function expand(path: string): string {
  const text = path.replace(/^@/, "").replace(/[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g, " ");
  return text === "~" || text.startsWith("~/") ? homedir() + text.slice(1) : text;
}

export function resolveToCwd(path: string, cwd: string): string {
  const expanded = expand(path);
  return isAbsolute(expanded) ? expanded : resolve(cwd, expanded);
}

/** Passes on that files are not allowed: it must not look as if there were none. */
export function unlessRefused(error: any): void {
  if (error?.code === "ERR_ACCESS_DENIED") throw error;
}

const exists = (path: string): boolean => {
  try {
    accessSync(path);
    return true;
  } catch (error) {
    unlessRefused(error);
    return false;
  }
};

/** The path of a file to read; names that macOS spells otherwise than people type them are found too. */
export function resolveReadPath(path: string, cwd: string): string {
  const resolved = resolveToCwd(path, cwd);
  const decomposed = resolved.normalize("NFD");
  const spellings = [
    resolved,
    resolved.replace(/ (AM|PM)\./gi, "\u202F$1."),
    decomposed,
    resolved.replace(/'/g, "\u2019"),
    decomposed.replace(/'/g, "\u2019"),
  ];
  return spellings.find(exists) ?? resolved;
}

// Calls

/** Lets `work` go on until the signal says otherwise; `goOn` between its steps keeps it from doing any more. */
export function abortable<T>(signal: AbortSignal | undefined, work: (goOn: () => void) => Promise<T>): Promise<T> {
  const aborted = () => new Error("Operation aborted");
  if (signal?.aborted) return Promise.reject(aborted());
  return new Promise((done, fail) => {
    const stop = () => fail(aborted());
    signal?.addEventListener("abort", stop, { once: true });
    const goOn = () => {
      if (signal?.aborted) throw aborted();
    };
    work(goOn).then(done, fail).finally(() => signal?.removeEventListener("abort", stop));
  });
}

const queues = new Map<string, Promise<unknown>>();

/** Runs what changes a file after everything that already waits to change it. */
export async function withFileMutationQueue<T>(path: string, work: () => Promise<T>): Promise<T> {
  let key = resolve(path);
  try {
    key = realpathSync(key);
  } catch {
    // A file that does not exist yet is known by its path.
  }
  const turn = (queues.get(key) ?? Promise.resolve()).then(work);
  const over = turn.catch(() => {});
  queues.set(key, over);
  try {
    return await turn;
  } finally {
    if (queues.get(key) === over) queues.delete(key);
  }
}

export const textResult = (text: string, details?: unknown): any => ({ content: [{ type: "text", text }], details });

/** A tool as the agent's loop wants it: without what is only for prompts and screens. */
export function plainTool(definition: any): any {
  const { name, label, description, parameters, prepareArguments, executionMode } = definition;
  const execute = (id: string, params: any, signal?: AbortSignal, onUpdate?: any, ctx?: any) =>
    definition.execute(id, params, signal, onUpdate, ctx);
  return { name, label, description, parameters, prepareArguments, executionMode, execute };
}
