// Globs and ignore files: which names a pattern means, and what `.gitignore` leaves out.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { unlessRefused } from "pi:tool-shared";

const escaped = (char: string) => char.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** The text of a regular expression for a glob; `*` and `?` do not cross a slash, `**` does. */
function source(glob: string): string {
  let text = "";
  let groups = 0;
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at];
    if (char === "*" && glob[at + 1] === "*") {
      const folder = glob[at + 2] === "/" && (at === 0 || glob[at - 1] === "/");
      text += folder ? "(?:[^/]*/)*" : ".*";
      at += folder ? 2 : 1;
    } else if (char === "*") text += "[^/]*";
    else if (char === "?") text += "[^/]";
    else if (char === "[" && glob.indexOf("]", at + 2) !== -1) {
      const end = glob.indexOf("]", at + 2);
      text += `[${glob.slice(at + 1, end).replace(/^!/, "^").replace(/\\/g, "\\\\")}]`;
      at = end;
    } else if (char === "{") text += (groups++, "(?:");
    else if (char === "}" && groups > 0) text += (groups--, ")");
    else if (char === "," && groups > 0) text += "|";
    else if (char === "\\" && at + 1 < glob.length) text += escaped(glob[++at]);
    else text += escaped(char);
  }
  return text + ")".repeat(groups);
}

export const globPattern = (glob: string, flags = ""): RegExp => new RegExp(`^${source(glob)}$`, flags);

/** Whether a path below the search's root is meant: by its name, or by all of it if the glob has a slash. */
export function globMatcher(glob: string, flags = ""): (path: string) => boolean {
  if (!glob.includes("/")) {
    const pattern = globPattern(glob, flags);
    return (path) => pattern.test(path.slice(path.lastIndexOf("/") + 1));
  }
  const anywhere = glob.startsWith("/") ? glob.slice(1) : glob.startsWith("**/") ? glob : `**/${glob}`;
  const pattern = globPattern(anywhere, flags);
  return (path) => pattern.test(path);
}

/** One line of an ignore file. */
interface Rule {
  pattern: RegExp;
  keep: boolean;
  folderOnly: boolean;
}

function rules(folder: string): Rule[] {
  const found: Rule[] = [];
  for (const name of [".gitignore", ".ignore"]) {
    let text: string;
    try {
      text = readFileSync(join(folder, name), "utf-8");
    } catch (error) {
      unlessRefused(error);
      continue;
    }
    for (const line of text.split(/\r?\n/)) {
      let glob = line.replace(/(?<!\\)\s+$/, "");
      if (glob === "" || glob.startsWith("#")) continue;
      const keep = glob.startsWith("!");
      glob = keep ? glob.slice(1) : glob;
      const folderOnly = glob.endsWith("/");
      glob = folderOnly ? glob.slice(0, -1) : glob;
      const anchored = glob.includes("/");
      found.push({ pattern: globPattern(anchored ? glob.replace(/^\//, "") : `**/${glob}`), keep, folderOnly });
    }
  }
  return found;
}

/** The last rule that says something about a path decides; rules of a folder speak of paths below it. */
function ignored(path: string, isFolder: boolean, levels: { base: string; rules: Rule[] }[]): boolean {
  for (let level = levels.length - 1; level >= 0; level--) {
    const { base, rules } = levels[level];
    const inside = path.slice(base.length);
    const rule = rules.findLast((each) => (isFolder || !each.folderOnly) && each.pattern.test(inside));
    if (rule) return !rule.keep;
  }
  return false;
}

export interface Found {
  /** The path below the root, with slashes. */
  path: string;
  isFolder: boolean;
}

/** All files and folders below a root but what is ignored and what git keeps for itself, in order of their names. */
export function* walk(root: string): Generator<Found> {
  function* below(path: string, levels: { base: string; rules: Rule[] }[]): Generator<Found> {
    const folder = join(root, path);
    const here = [...levels, { base: path, rules: rules(folder) }];
    let entries: any[];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch (error) {
      unlessRefused(error);
      return;
    }
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const inner = path + entry.name;
      const isFolder = entry.isDirectory();
      if (entry.name === ".git" || ignored(inner, isFolder, here)) continue;
      yield { path: inner, isFolder };
      if (isFolder) yield* below(`${inner}/`, here);
    }
  }
  if (statSync(root).isDirectory()) yield* below("", []);
}
