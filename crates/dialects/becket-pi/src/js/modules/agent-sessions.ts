// Session files as pi writes them: a line for the session and one for each entry. An extension that opens one works on
// that file alone; the session that runs is becket's, and `ctx.sessionManager` shows it.
import {
  appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { getAgentDir } from "pi:agent-folder";
import { buildSessionContext, migrateSessionEntries, parseSessionEntries } from "pi:agent-text";
import { treeOf } from "pi:session";

type Entry = { type: string; id: string; parentId: string | null; timestamp: string; [name: string]: any };

const VERSION = 3;

/** The folder of the sessions of a working directory. */
export function getDefaultSessionDir(cwd: string, agentDir: string = getAgentDir()): string {
  return join(agentDir, "sessions", `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`);
}

function entriesOf(file: string): any[] {
  const entries = existsSync(file) ? parseSessionEntries(readFileSync(file, "utf-8")) : [];
  if (entries[0]?.type !== "session") return [];
  migrateSessionEntries(entries);
  return entries;
}

const textOf = (content: any): string =>
  typeof content === "string"
    ? content
    : (content ?? []).filter((part: any) => part.type === "text").map((part: any) => part.text).join(" ");

/** What a list of sessions shows of a file. */
function infoOf(path: string): any {
  const [header, ...entries] = entriesOf(path);
  if (header === undefined) return undefined;
  const messages = entries.filter((entry) => entry.type === "message");
  const said = messages.filter(({ message }) => ["user", "assistant"].includes(message.role));
  const first = said.find(({ message }) => message.role === "user");
  const name = entries.findLast((entry) => entry.type === "session_info")?.name?.trim() || undefined;
  return {
    path, id: header.id, cwd: header.cwd ?? "", name, parentSessionPath: header.parentSession,
    created: new Date(header.timestamp), modified: statSync(path).mtime, messageCount: messages.length,
    firstMessage: (first && textOf(first.message.content)) || "(no messages)",
    allMessagesText: said.map(({ message }) => textOf(message.content)).join(" "),
  };
}

function sessionsIn(folder: string): any[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  const infos = files.map((name) => infoOf(join(folder, name))).filter((info) => info !== undefined);
  return infos.sort((one, other) => other.modified.getTime() - one.modified.getTime());
}

export class SessionManager {
  private header: any;
  private entries: Entry[] = [];
  private leaf: string | null = null;
  private file: string | undefined;
  private written = false;

  private constructor(private cwd: string, private folder: string, file: string | undefined, private kept: boolean) {
    if (file !== undefined) this.setSessionFile(file);
    else this.newSession();
  }

  static create(cwd: string, sessionDir?: string): SessionManager {
    return new SessionManager(cwd, sessionDir ?? getDefaultSessionDir(cwd), undefined, true);
  }
  static open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager {
    const [header] = entriesOf(path);
    const cwd = cwdOverride ?? header?.cwd ?? process.cwd();
    return new SessionManager(cwd, sessionDir ?? dirname(resolve(path)), path, true);
  }
  static continueRecent(cwd: string, sessionDir?: string): SessionManager {
    const folder = sessionDir ?? getDefaultSessionDir(cwd);
    return new SessionManager(cwd, folder, sessionsIn(folder)[0]?.path, true);
  }
  static inMemory(cwd: string = process.cwd()): SessionManager {
    return new SessionManager(cwd, "", undefined, false);
  }
  static forkFrom(sourcePath: string, targetCwd: string, sessionDir?: string): SessionManager {
    const [header, ...entries] = entriesOf(sourcePath);
    if (header === undefined) throw new Error(`Cannot fork: source session file is empty or invalid: ${sourcePath}`);
    const manager = SessionManager.create(targetCwd, sessionDir);
    manager.newSession({ parentSession: sourcePath });
    manager.take(entries);
    return manager;
  }
  static async list(cwd: string, sessionDir?: string, onProgress?: any): Promise<any[]> {
    const found = sessionsIn(sessionDir ?? getDefaultSessionDir(cwd));
    onProgress?.(found.length, found.length);
    return found;
  }
  static async listAll(...values: any[]): Promise<any[]> {
    const all = join(getAgentDir(), "sessions");
    const found = (existsSync(all) ? readdirSync(all) : []).flatMap((name) => sessionsIn(join(all, name)));
    values.find((value) => typeof value === "function")?.(found.length, found.length);
    return found.sort((one, other) => other.modified.getTime() - one.modified.getTime());
  }

  setSessionFile(file: string): void {
    this.file = resolve(file);
    const [header, ...entries] = entriesOf(this.file);
    if (header === undefined) {
      const path = this.file;
      this.newSession();
      this.file = path;
      return;
    }
    Object.assign(this, { header, entries, leaf: entries.at(-1)?.id ?? null, written: true });
  }
  newSession(options: { id?: string; parentSession?: string } = {}): string | undefined {
    const timestamp = new Date().toISOString();
    const id = options.id ?? crypto.randomUUID();
    const { parentSession } = options;
    this.header = { type: "session", version: VERSION, id, timestamp, cwd: this.cwd, parentSession };
    Object.assign(this, { entries: [], leaf: null, written: false });
    if (this.kept) this.file = join(this.folder, `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`);
    return this.file;
  }
  createBranchedSession(leafId: string): string | undefined {
    const branch = this.getBranch(leafId).filter((entry) => entry.type !== "label");
    if (branch.length === 0) throw new Error(`Entry ${leafId} not found`);
    const labels = branch.map(({ id }): [string, string | undefined] => [id, this.getLabel(id)]);
    this.newSession({ parentSession: this.kept ? this.file : undefined });
    this.take(branch);
    for (const [id, label] of labels) if (label !== undefined) this.appendLabelChange(id, label);
    return this.file;
  }

  appendMessage = (message: unknown): string => this.append("message", { message });
  appendThinkingLevelChange = (thinkingLevel: string): string =>
    this.append("thinking_level_change", { thinkingLevel });
  appendModelChange = (provider: string, modelId: string): string =>
    this.append("model_change", { provider, modelId });
  appendCompaction = (
    summary: string, firstKeptEntryId: string, tokensBefore: number, details?: unknown, fromHook?: boolean,
  ): string => this.append("compaction", { summary, firstKeptEntryId, tokensBefore, details, fromHook });
  appendCustomEntry = (customType: string, data?: unknown): string => this.append("custom", { customType, data });
  appendCustomMessageEntry = (customType: string, content: unknown, display: boolean, details?: unknown): string =>
    this.append("custom_message", { customType, content, display, details });
  appendSessionInfo = (name: string): string => this.append("session_info", { name: String(name).trim() });
  appendLabelChange(targetId: string, label?: string): string {
    this.must(targetId);
    return this.append("label", { targetId, label });
  }
  branch(id: string): void {
    this.leaf = this.must(id).id;
  }
  resetLeaf(): void {
    this.leaf = null;
  }
  branchWithSummary(id: string | null, summary: string, details?: unknown, fromHook?: boolean): string {
    this.leaf = id === null ? null : this.must(id).id;
    return this.append("branch_summary", { fromId: id ?? "root", summary, details, fromHook });
  }

  isPersisted = (): boolean => this.kept;
  getCwd = (): string => this.cwd;
  getSessionDir = (): string => this.folder;
  getSessionId = (): string => this.header.id;
  getSessionFile = (): string | undefined => this.file;
  getSessionName = (): string | undefined =>
    this.entries.findLast((entry) => entry.type === "session_info")?.name || undefined;
  getHeader = (): unknown => this.header;
  getEntries = (): Entry[] => [...this.entries];
  getEntryCount = (): number => this.entries.length;
  getEntry = (id: string | null): Entry | undefined => this.entries.find((entry) => entry.id === id);
  getLeafId = (): string | null => this.leaf;
  getLeafEntry = (): Entry | undefined => this.getEntry(this.leaf);
  getChildren = (id: string | null): Entry[] => this.entries.filter((entry) => entry.parentId === id);
  getLabel = (id: string): string | undefined =>
    this.entries.findLast((entry) => entry.type === "label" && entry.targetId === id)?.label || undefined;
  getTree = (): unknown[] => treeOf(this.entries);
  buildSessionContext = (): any => buildSessionContext(this.entries, this.leaf);
  getBranch(from: string | null = this.leaf): Entry[] {
    const way: Entry[] = [];
    for (let entry = this.getEntry(from); entry; entry = this.getEntry(entry.parentId)) way.unshift(entry);
    return way;
  }

  private must(id: string): Entry {
    const entry = this.getEntry(id);
    if (entry === undefined) throw new Error(`Entry ${id} not found`);
    return entry;
  }
  private take(entries: Entry[]): void {
    this.entries = entries;
    this.leaf = entries.at(-1)?.id ?? null;
    this.rewrite();
  }
  private append(type: string, fields: object): string {
    let id: string;
    do id = crypto.randomUUID().slice(0, 8);
    while (this.getEntry(id) !== undefined);
    const entry = { type, id, parentId: this.leaf, timestamp: new Date().toISOString(), ...fields };
    this.entries.push(entry);
    this.leaf = id;
    if (this.written) appendFileSync(this.file!, `${JSON.stringify(entry)}\n`);
    // As in pi, a session without an answer is not worth a file.
    else if (this.entries.some((each) => each.message?.role === "assistant")) this.rewrite();
    return id;
  }
  private rewrite(): void {
    if (!this.kept || this.file === undefined) return;
    mkdirSync(dirname(this.file), { recursive: true });
    writeFileSync(this.file, [this.header, ...this.entries].map((each) => `${JSON.stringify(each)}\n`).join(""));
    this.written = true;
  }
}

