// pi's `grep`, `find` and `ls`. pi runs ripgrep and fd; here the folders are walked in the engine, with the same
// results in an order that does not change.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { type Found, globMatcher, walk } from "pi:glob";
import { Type } from "pi:typebox";
import {
  MAX_BYTES, MAX_GREP_CHARS, abortable, formatSize, plainTool, resolveToCwd, textResult, truncateHead, truncateLine,
  unlessRefused,
} from "pi:tool-shared";

/** A break after so many files, so that a cancel and everything else is heard. */
const FILES_AT_ONCE = 64;
const pause = () => new Promise<void>((resume) => setTimeout(resume, 0));

/** Goes over the files and folders below a root, with breaks. */
async function* strolled(root: string, goOn: () => void): AsyncGenerator<Found> {
  let count = 0;
  for (const found of walk(root)) {
    if (++count % FILES_AT_ONCE === 0) {
      await pause();
      goOn();
    }
    yield found;
  }
}

/** A list within the limit of bytes, with the notices under it; the last one stands behind that of the limit. */
function listed(lines: string[], notices: string[], details: any, last: string[] = []): any {
  const truncation = truncateHead(lines.join("\n"), { maxLines: Number.MAX_SAFE_INTEGER });
  if (truncation.truncated) {
    notices.push(`${formatSize(MAX_BYTES)} limit reached`);
    details.truncation = truncation;
  }
  notices.push(...last);
  const text = truncation.content + (notices.length > 0 ? `\n\n[${notices.join(". ")}]` : "");
  return textResult(text, Object.keys(details).length > 0 ? details : undefined);
}

// grep

const GREP_LIMIT = 100;

function lineTest(pattern: string, literal: boolean, ignoreCase: boolean): RegExp {
  const inline = literal ? null : /^\(\?([ims]+)\)/.exec(pattern);
  const text = literal ? pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : pattern.slice(inline?.[0].length ?? 0);
  const flags = ignoreCase || inline?.[1].includes("i") ? "i" : "";
  try {
    return new RegExp(text, flags);
  } catch (error: any) {
    throw new Error(`regex parse error: ${error.message}`);
  }
}

const linesOf = (text: string) => text.replace(/\r\n?/g, "\n").split("\n");

/** The lines of a text file, or nothing if it is none. */
async function textLines(operations: any, path: string): Promise<string[]> {
  let text: string;
  try {
    text = String(await operations.readFile(path));
  } catch (error) {
    unlessRefused(error);
    return [];
  }
  if (text.slice(0, 8192).includes("\0")) return [];
  const lines = linesOf(text);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

interface Match {
  name: string;
  line: number;
  lines: string[];
}

type GoOn = () => void;

async function matches(operations: any, root: string, isFolder: boolean, input: any, goOn: GoOn): Promise<Match[]> {
  const { pattern, glob, ignoreCase = false, literal = false } = input;
  const limit = Math.max(1, input.limit ?? GREP_LIMIT);
  const test = lineTest(pattern, literal, ignoreCase);
  const wanted = glob ? globMatcher(glob.replace(/^!/, "")) : () => true;
  const inverted = Boolean(glob?.startsWith("!"));
  const found: Match[] = [];
  const search = async (path: string, name: string) => {
    const lines = await textLines(operations, path);
    for (let at = 0; at < lines.length && found.length < limit; at++) {
      if (test.test(lines[at])) found.push({ name, line: at + 1, lines });
    }
  };
  if (!isFolder) await search(root, basename(root));
  else {
    for await (const { path, isFolder: folder } of strolled(root, goOn)) {
      if (folder || wanted(path) === inverted) continue;
      await search(join(root, path), path);
      if (found.length >= limit) break;
    }
  }
  return found;
}

async function runGrep(operations: any, cwd: string, input: any, goOn: () => void): Promise<any> {
  const root = resolveToCwd(input.path || ".", cwd);
  let isFolder: boolean;
  try {
    isFolder = await operations.isDirectory(root);
  } catch (error) {
    unlessRefused(error);
    throw new Error(`Path not found: ${root}`);
  }
  const found = await matches(operations, root, isFolder, input, goOn);
  if (found.length === 0) return textResult("No matches found");
  const around = Math.max(0, input.context ?? 0);
  let shortened = false;
  const shown = found.flatMap(({ name, line, lines }) => {
    const first = Math.max(1, line - around);
    return lines.slice(first - 1, line + around).map((text, index) => {
      const number = first + index;
      const cut = truncateLine(text);
      shortened ||= cut.wasTruncated;
      return number === line ? `${name}:${number}: ${cut.text}` : `${name}-${number}- ${cut.text}`;
    });
  });
  const limit = Math.max(1, input.limit ?? GREP_LIMIT);
  const [notices, details]: [string[], any] = [[], {}];
  if (found.length >= limit) {
    notices.push(`${limit} matches limit reached. Use limit=${limit * 2} for more, or refine pattern`);
    details.matchLimitReached = limit;
  }
  if (!shortened) return listed(shown, notices, details);
  details.linesTruncated = true;
  const last = `Some lines truncated to ${MAX_GREP_CHARS} chars. Use read tool to see full lines`;
  return listed(shown, notices, details, [last]);
}

const grepParameters = Type.Object({
  pattern: Type.String({ description: "Search pattern (regex or literal string)" }),
  path: Type.Optional(Type.String({ description: "Directory or file to search (default: current directory)" })),
  glob: Type.Optional(Type.String({ description: "Filter files by glob pattern, e.g. '*.ts' or '**/*.spec.ts'" })),
  ignoreCase: Type.Optional(Type.Boolean({ description: "Case-insensitive search (default: false)" })),
  literal: Type.Optional(
    Type.Boolean({ description: "Treat pattern as literal string instead of regex (default: false)" }),
  ),
  context: Type.Optional(
    Type.Number({ description: "Number of lines to show before and after each match (default: 0)" }),
  ),
  limit: Type.Optional(Type.Number({ description: "Maximum number of matches to return (default: 100)" })),
});

const localGrep = {
  isDirectory: (path: string) => statSync(path).isDirectory(),
  // Pipes and devices have no lines that could be searched.
  readFile: (path: string) => (statSync(path).isFile() ? readFileSync(path, "utf-8") : ""),
};

export function createGrepToolDefinition(cwd: string, options: any = {}): any {
  return {
    name: "grep",
    label: "grep",
    description:
      "Search file contents for a pattern. Returns matching lines with file paths and line numbers. Respects " +
      `.gitignore. Output is truncated to ${GREP_LIMIT} matches or ${MAX_BYTES / 1024}KB (whichever is hit first). ` +
      `Long lines are truncated to ${MAX_GREP_CHARS} chars.`,
    promptSnippet: "Search file contents for patterns (respects .gitignore)",
    parameters: grepParameters,
    execute: (_id: string, input: any, signal?: AbortSignal) =>
      abortable(signal, (goOn) => runGrep(options.operations ?? localGrep, cwd, input, goOn)),
  };
}

export const createGrepTool = (cwd: string, options?: any) => plainTool(createGrepToolDefinition(cwd, options));

// find

const FIND_LIMIT = 1000;

/** What is below the root and meant by the glob. Without capitals in it, their case does not count. */
async function located(root: string, pattern: string, limit: number, goOn: () => void): Promise<string[]> {
  const wanted = globMatcher(pattern, /\p{Lu}/u.test(pattern) ? "" : "i");
  const found: string[] = [];
  for await (const { path, isFolder } of strolled(root, goOn)) {
    if (wanted(path)) found.push(isFolder ? `${path}/` : path);
    if (found.length >= limit) break;
  }
  return found;
}

async function runFind(operations: any, cwd: string, input: any, goOn: () => void): Promise<any> {
  const root = resolveToCwd(input.path || ".", cwd);
  const limit = input.limit ?? FIND_LIMIT;
  if (!(await (operations?.exists ?? existsSync)(root))) throw new Error(`Path not found: ${root}`);
  goOn();
  let found: string[];
  if (operations?.glob) {
    const ignore = ["**/node_modules/**", "**/.git/**"];
    const paths: string[] = await operations.glob(input.pattern, root, { ignore, limit });
    found = paths.map((path) => (path.startsWith(root) ? path.slice(root.length + 1) : relative(root, path)));
  } else found = await located(root, input.pattern, limit, goOn);
  goOn();
  if (found.length === 0) return textResult("No files found matching pattern");
  if (found.length < limit) return listed(found, [], {});
  const help = operations?.glob ? "" : `. Use limit=${limit * 2} for more, or refine pattern`;
  return listed(found, [`${limit} results limit reached${help}`], { resultLimitReached: limit });
}

const findParameters = Type.Object({
  pattern: Type.String({
    description: "Glob pattern to match files, e.g. '*.ts', '**/*.json', or 'src/**/*.spec.ts'",
  }),
  path: Type.Optional(Type.String({ description: "Directory to search in (default: current directory)" })),
  limit: Type.Optional(Type.Number({ description: "Maximum number of results (default: 1000)" })),
});

export function createFindToolDefinition(cwd: string, options: any = {}): any {
  return {
    name: "find",
    label: "find",
    description:
      "Search for files by glob pattern. Returns matching file paths relative to the search directory. Respects " +
      `.gitignore. Output is truncated to ${FIND_LIMIT} results or ${MAX_BYTES / 1024}KB (whichever is hit first).`,
    promptSnippet: "Find files by glob pattern (respects .gitignore)",
    parameters: findParameters,
    execute: (_id: string, input: any, signal?: AbortSignal) =>
      abortable(signal, (goOn) => runFind(options.operations, cwd, input, goOn)),
  };
}

export const createFindTool = (cwd: string, options?: any) => plainTool(createFindToolDefinition(cwd, options));

// ls

const LS_LIMIT = 500;

async function runLs(operations: any, cwd: string, input: any, goOn: () => void): Promise<any> {
  const folder = resolveToCwd(input.path || ".", cwd);
  const limit = input.limit ?? LS_LIMIT;
  if (!(await operations.exists(folder))) throw new Error(`Path not found: ${folder}`);
  if (!(await operations.stat(folder)).isDirectory()) throw new Error(`Not a directory: ${folder}`);
  let names: string[];
  try {
    names = [...(await operations.readdir(folder))];
  } catch (error: any) {
    unlessRefused(error);
    throw new Error(`Cannot read directory: ${error.message}`);
  }
  goOn();
  names.sort((a, b) => a.toLowerCase().localeCompare(b.toLowerCase()));
  const shown: string[] = [];
  let more = false;
  for (const name of names) {
    more = shown.length >= limit;
    if (more) break;
    try {
      shown.push((await operations.stat(join(folder, name))).isDirectory() ? `${name}/` : name);
    } catch {
      // What cannot be looked at, such as a link that leads nowhere, is left out.
    }
  }
  if (shown.length === 0) return textResult("(empty directory)");
  if (!more) return listed(shown, [], {});
  const notice = `${limit} entries limit reached. Use limit=${limit * 2} for more`;
  return listed(shown, [notice], { entryLimitReached: limit });
}

const lsParameters = Type.Object({
  path: Type.Optional(Type.String({ description: "Directory to list (default: current directory)" })),
  limit: Type.Optional(Type.Number({ description: "Maximum number of entries to return (default: 500)" })),
});

const localLs = { exists: existsSync, stat: statSync, readdir: readdirSync };

export function createLsToolDefinition(cwd: string, options: any = {}): any {
  return {
    name: "ls",
    label: "ls",
    description:
      "List directory contents. Returns entries sorted alphabetically, with '/' suffix for directories. Includes " +
      `dotfiles. Output is truncated to ${LS_LIMIT} entries or ${MAX_BYTES / 1024}KB (whichever is hit first).`,
    promptSnippet: "List directory contents",
    parameters: lsParameters,
    execute: (_id: string, input: any, signal?: AbortSignal) =>
      abortable(signal, (goOn) => runLs(options.operations ?? localLs, cwd, input, goOn)),
  };
}

export const createLsTool = (cwd: string, options?: any) => plainTool(createLsToolDefinition(cwd, options));
