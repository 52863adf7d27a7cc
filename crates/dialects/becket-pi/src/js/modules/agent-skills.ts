// Skills and instruction files, found as pi finds them.
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { getAgentDir } from "pi:agent-folder";
import { parseFrontmatter } from "pi:agent-text";

type Found = { skills: any[]; diagnostics: any[] };

const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 1024;

export function createSyntheticSourceInfo(path: string, options: any): any {
  const { source, scope = "temporary", origin = "top-level", baseDir } = options;
  return { path, source, scope, origin, baseDir };
}

/** What is wrong with a name. */
function nameProblems(name: string, folder: string): string[] {
  const problems: [boolean, string][] = [
    [name !== folder, `name "${name}" does not match parent directory "${folder}"`],
    [name.length > LONGEST_NAME, `name exceeds ${LONGEST_NAME} characters (${name.length})`],
    [!/^[a-z0-9-]+$/.test(name), "name contains invalid characters (must be lowercase a-z, 0-9, hyphens only)"],
    [/^-|-$/.test(name), "name must not start or end with a hyphen"],
    [name.includes("--"), "name must not contain consecutive hyphens"],
  ];
  return problems.filter(([is]) => is).map(([, words]) => words);
}

function skillIn(filePath: string, source: string): Found {
  const problem = (message: string) => ({ type: "warning", message, path: filePath });
  try {
    const { frontmatter } = parseFrontmatter(readFileSync(filePath, "utf-8"));
    const baseDir = dirname(filePath);
    const name = String(frontmatter.name || basename(baseDir));
    const description = String(frontmatter.description ?? "");
    const problems = nameProblems(name, basename(baseDir));
    if (description.length > LONGEST_DESCRIPTION) {
      problems.unshift(`description exceeds ${LONGEST_DESCRIPTION} characters (${description.length})`);
    }
    if (description.trim() === "") {
      return { skills: [], diagnostics: ["description is required", ...problems].map(problem) };
    }
    const scope = ["user", "project"].includes(source) ? source : undefined;
    const kind = scope || source === "path" ? "local" : source;
    const sourceInfo = createSyntheticSourceInfo(filePath, { source: kind, scope, baseDir });
    const disableModelInvocation = frontmatter["disable-model-invocation"] === true;
    const skill = { name, description, filePath, baseDir, sourceInfo, disableModelInvocation };
    return { skills: [skill], diagnostics: problems.map(problem) };
  } catch (error) {
    return { skills: [], diagnostics: [problem(error instanceof Error ? error.message : String(error))] };
  }
}

const together = (found: Found[]): Found => ({
  skills: found.flatMap(({ skills }) => skills),
  diagnostics: found.flatMap(({ diagnostics }) => diagnostics),
});

const kindOf = (path: string): "file" | "folder" | undefined => {
  const stats = existsSync(path) ? statSync(path) : undefined;
  return stats?.isFile() ? "file" : stats?.isDirectory() ? "folder" : undefined;
};

/** The skills of a folder: it is one itself, or holds some. Only at the top are single files skills. */
function skillsIn(dir: string, source: string, isTop: boolean): Found {
  if (kindOf(dir) !== "folder") return together([]);
  const own = join(dir, "SKILL.md");
  if (kindOf(own) === "file") return skillIn(own, source);
  const names = readdirSync(dir).filter((name) => !name.startsWith(".") && name !== "node_modules").sort();
  const found = names.map((name) => {
    const path = join(dir, name);
    if (kindOf(path) === "folder") return skillsIn(path, source, false);
    return isTop && name.endsWith(".md") ? skillIn(path, source) : together([]);
  });
  return together(found);
}

export const loadSkillsFromDir = ({ dir, source }: { dir: string; source: string }): Found =>
  skillsIn(dir, source, true);

const fromHome = (path: string): string => path.trim().replace(/^~(?=\/|$)/, homedir());

export function loadSkills(options: any = {}): Found {
  const { cwd = process.cwd(), agentDir = getAgentDir(), skillPaths = [], includeDefaults = true } = options;
  const usual = includeDefaults
    ? [skillsIn(join(agentDir, "skills"), "user", true), skillsIn(resolve(cwd, ".pi", "skills"), "project", true)]
    : [];
  const named = skillPaths.map((given: string) => {
    const path = resolve(cwd, fromHome(given));
    const kind = kindOf(path);
    if (kind === "folder") return skillsIn(path, "path", true);
    if (kind === "file" && path.endsWith(".md")) return skillIn(path, "path");
    const message = kind === undefined ? "skill path does not exist" : "skill path is not a markdown file";
    return { skills: [], diagnostics: [{ type: "warning", message, path }] };
  });
  const all = together([...usual, ...named]);
  const skills = new Map<string, any>();
  for (const skill of all.skills) {
    const winner = skills.get(skill.name);
    if (winner === undefined) skills.set(skill.name, skill);
    else if (realpathSync(winner.filePath) !== realpathSync(skill.filePath)) {
      const collision = {
        resourceType: "skill", name: skill.name, winnerPath: winner.filePath, loserPath: skill.filePath,
      };
      const message = `name "${skill.name}" collision`;
      all.diagnostics.push({ type: "collision", message, path: skill.filePath, collision });
    }
  }
  return { skills: [...skills.values()], diagnostics: all.diagnostics };
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character]);

export function formatSkillsForPrompt(skills: any[]): string {
  const seen = skills.filter((skill) => !skill.disableModelInvocation);
  if (seen.length === 0) return "";
  const lines = seen.flatMap(({ name, description, filePath }) => [
    "  <skill>", `    <name>${escaped(name)}</name>`, `    <description>${escaped(description)}</description>`,
    `    <location>${escaped(filePath)}</location>`, "  </skill>",
  ]);
  const head = "\n\nSkills hold instructions for certain tasks. Read the file of one with the read tool when a task " +
    "fits its description; paths in it are relative to its folder.";
  return [head, "", "<available_skills>", ...lines, "</available_skills>"].join("\n");
}

/** The instruction files for a working directory: the user's, then those from the root down. */
export function loadProjectContextFiles(options: any = {}): { path: string; content: string }[] {
  const { cwd = process.cwd(), agentDir = getAgentDir() } = options;
  const folders: string[] = [];
  for (let folder = resolve(cwd); !folders.includes(folder); folder = dirname(folder)) folders.unshift(folder);
  return [agentDir, ...folders].flatMap((folder) => {
    const names = ["AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"].map((name) => join(folder, name));
    const path = names.find((name) => kindOf(name) === "file");
    return path === undefined ? [] : [{ path, content: readFileSync(path, "utf-8") }];
  });
}
