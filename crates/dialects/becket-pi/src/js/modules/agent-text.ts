// Texts and sessions as pi knows them: heads of Markdown files, messages for models and for summaries, estimates of
// tokens, and what a session's entries say to a model. All of it is computed; nothing asks becket.
import { parseYaml } from "pi:yaml";

// Markdown files with a head

export function parseFrontmatter(content: string): { frontmatter: any; body: string } {
  const text = content.replace(/\r\n?/g, "\n");
  const end = text.startsWith("---") ? text.indexOf("\n---", 3) : -1;
  if (end === -1) return { frontmatter: {}, body: text };
  return { frontmatter: parseYaml(text.slice(4, end)) ?? {}, body: text.slice(end + 4).trim() };
}

export const stripFrontmatter = (content: string): string => parseFrontmatter(content).body;

// Messages

export const COMPACTION_SUMMARY_PREFIX =
  "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
export const COMPACTION_SUMMARY_SUFFIX = "\n</summary>";
export const BRANCH_SUMMARY_PREFIX =
  "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
export const BRANCH_SUMMARY_SUFFIX = "</summary>";

/** A command of the user's, as a model is told of it. */
export function bashExecutionToText(message: any): string {
  const { command, output, cancelled, exitCode, truncated, fullOutputPath } = message;
  let text = `Ran \`${command}\`\n${output ? `\`\`\`\n${output}\n\`\`\`` : "(no output)"}`;
  if (cancelled) text += "\n\n(command cancelled)";
  else if (exitCode) text += `\n\nCommand exited with code ${exitCode}`;
  return truncated && fullOutputPath ? `${text}\n\n[Output truncated. Full output: ${fullOutputPath}]` : text;
}

function toLlm(message: any): any {
  const user = (text: string) => ({ role: "user", content: [{ type: "text", text }], timestamp: message.timestamp });
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult": return message;
    case "bashExecution": return message.excludeFromContext ? undefined : user(bashExecutionToText(message));
    case "branchSummary": return user(BRANCH_SUMMARY_PREFIX + message.summary + BRANCH_SUMMARY_SUFFIX);
    case "compactionSummary": return user(COMPACTION_SUMMARY_PREFIX + message.summary + COMPACTION_SUMMARY_SUFFIX);
    case "custom": {
      const { content, timestamp } = message;
      return typeof content === "string" ? user(content) : { role: "user", content, timestamp };
    }
  }
}

/** Messages in the three roles that models know. */
export const convertToLlm = (messages: any[]): any[] => messages.map(toLlm).filter((message) => message !== undefined);

const MAX_RESULT_CHARS = 2000;

const textOf = (content: any): string =>
  typeof content === "string" ? content : content.map((c: any) => (c.type === "text" ? c.text : "")).join("");

function serialized(message: any): string[] {
  if (message.role === "user") {
    const text = textOf(message.content);
    return text ? [`[User]: ${text}`] : [];
  }
  if (message.role === "toolResult") {
    const text = textOf(message.content);
    const more = text.length - MAX_RESULT_CHARS;
    const notice = `\n\n[... ${more} more characters truncated]`;
    return text ? [`[Tool result]: ${more > 0 ? text.slice(0, MAX_RESULT_CHARS) + notice : text}`] : [];
  }
  if (message.role !== "assistant") return [];
  const blocks = (type: string, show: (block: any) => string) =>
    message.content.filter((block: any) => block.type === type).map(show);
  const call = ({ name, arguments: args }: any) =>
    `${name}(${Object.entries(args).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`;
  const parts: [string, string[], string][] = [
    ["Assistant thinking", blocks("thinking", (block) => block.thinking), "\n"],
    ["Assistant", blocks("text", (block) => block.text), "\n"],
    ["Assistant tool calls", blocks("toolCall", call), "; "],
  ];
  return parts.filter(([, texts]) => texts.length > 0).map(([who, texts, by]) => `[${who}]: ${texts.join(by)}`);
}

/** A conversation as one text, so that a model sums it up and does not go on with it. */
export const serializeConversation = (messages: any[]): string => messages.flatMap(serialized).join("\n\n");

export const createBranchSummaryMessage = (summary: string, fromId: string, timestamp: string) => ({
  role: "branchSummary", summary, fromId, timestamp: new Date(timestamp).getTime(),
});
export const createCompactionSummaryMessage = (summary: string, tokensBefore: number, timestamp: string) => ({
  role: "compactionSummary", summary, tokensBefore, timestamp: new Date(timestamp).getTime(),
});
export const createCustomMessage = (customType: string, content: any, display: any, details: any, timestamp: any) => ({
  role: "custom", customType, content, display, details, timestamp: new Date(timestamp).getTime(),
});

// Tokens

const IMAGE_CHARS = 4800;

const contentChars = (content: any, imageChars: number): number =>
  typeof content === "string"
    ? content.length
    : content.reduce((sum: number, c: any) => sum + (c.type === "image" ? imageChars : (c.text?.length ?? 0)), 0);

const blockChars = (block: any): number =>
  block.type === "toolCall"
    ? block.name.length + JSON.stringify(block.arguments).length
    : (block.text ?? block.thinking ?? "").length;

function charsOf(message: any): number {
  switch (message.role) {
    case "user": return contentChars(message.content, 0);
    case "assistant": return message.content.reduce((sum: number, block: any) => sum + blockChars(block), 0);
    case "custom":
    case "toolResult": return contentChars(message.content, IMAGE_CHARS);
    case "bashExecution": return message.command.length + message.output.length;
    case "branchSummary":
    case "compactionSummary": return message.summary.length;
    default: return 0;
  }
}

/** Four characters to a token, which is rather too many tokens than too few. */
export const estimateTokens = (message: any): number => Math.ceil(charsOf(message) / 4);

export const calculateContextTokens = (usage: any): number =>
  usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;

const usageOf = (message: any): any =>
  message?.role === "assistant" && message.stopReason !== "aborted" && message.stopReason !== "error"
    ? message.usage
    : undefined;

export const getLastAssistantUsage = (entries: any[]): any =>
  usageOf(entries.findLast((entry) => entry.type === "message" && usageOf(entry.message))?.message);

/** What the last answer reported, and an estimate of what came after it. */
export function estimateContextTokens(messages: any[]): any {
  const last = messages.findLastIndex((message) => usageOf(message));
  const usageTokens = last === -1 ? 0 : calculateContextTokens(usageOf(messages[last]));
  const trailingTokens = messages.slice(last + 1).reduce((sum, message) => sum + estimateTokens(message), 0);
  const lastUsageIndex = last === -1 ? null : last;
  return { tokens: usageTokens + trailingTokens, usageTokens, trailingTokens, lastUsageIndex };
}

export const shouldCompact = (tokens: number, contextWindow: number, settings: any): boolean =>
  settings.enabled && tokens > contextWindow - settings.reserveTokens;

// Sessions

export function parseSessionEntries(content: string): any[] {
  return content.split("\n").flatMap((line) => {
    try {
      return line.trim() ? [JSON.parse(line)] : [];
    } catch {
      return [];
    }
  });
}

/** Brings entries of older versions into today's form, in place: a tree since version 2, another role since 3. */
export function migrateSessionEntries(entries: any[]): void {
  const header = entries.find((entry) => entry.type === "session");
  const version = header?.version ?? 1;
  const others = entries.filter((entry) => entry.type !== "session");
  if (version < 2) {
    others.forEach((entry, index) => {
      entry.id = crypto.randomUUID().slice(0, 8);
      entry.parentId = others[index - 1]?.id ?? null;
    });
    for (const entry of others.filter((each) => typeof each.firstKeptEntryIndex === "number")) {
      const target = entries[entry.firstKeptEntryIndex];
      if (target && target.type !== "session") entry.firstKeptEntryId = target.id;
      delete entry.firstKeptEntryIndex;
    }
  }
  if (version < 3) {
    for (const entry of others) if (entry.message?.role === "hookMessage") entry.message.role = "custom";
    if (header) header.version = 3;
  }
}

export const getLatestCompactionEntry = (entries: any[]): any =>
  entries.findLast((entry) => entry.type === "compaction") ?? null;

/** The messages that an entry stands for: one or none. */
export function sessionEntryToContextMessages(entry: any): any[] {
  const { type, message, customType, content, display, details, summary, fromId, timestamp } = entry;
  if (type === "message") return [message];
  if (type === "custom_message") return [createCustomMessage(customType, content, display, details, timestamp)];
  if (type === "branch_summary" && summary) return [createBranchSummaryMessage(summary, fromId, timestamp)];
  return [];
}

/** The entries from the root to a leaf: the given one, or the last. */
function pathTo(entries: any[], leafId: string | null | undefined, byId?: Map<string, any>): any[] {
  if (leafId === null) return [];
  const known = byId ?? new Map(entries.map((entry) => [entry.id, entry]));
  const path: any[] = [];
  for (let entry = known.get(leafId as string) ?? entries.at(-1); entry; entry = known.get(entry.parentId)) {
    path.unshift(entry);
  }
  return path;
}

/** What a model sees of a session at a leaf, with the level of thinking and the model that were chosen last. */
export function buildSessionContext(entries: any[], leafId?: string | null, byId?: Map<string, any>): any {
  const path = pathTo(entries, leafId, byId);
  let thinkingLevel = "off";
  let model: any = null;
  for (const entry of path) {
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    if (entry.type === "message" && entry.message.role === "assistant") {
      model = { provider: entry.message.provider, modelId: entry.message.model };
    }
  }
  const at = path.findLastIndex((entry) => entry.type === "compaction");
  if (at === -1) return { messages: path.flatMap(sessionEntryToContextMessages), thinkingLevel, model };
  const { summary, tokensBefore, timestamp, firstKeptEntryId } = path[at];
  const first = path.findIndex((entry) => entry.id === firstKeptEntryId);
  const kept = first === -1 || first > at ? [] : path.slice(first, at);
  const messages = [
    createCompactionSummaryMessage(summary, tokensBefore, timestamp),
    ...[...kept, ...path.slice(at + 1)].flatMap(sessionEntryToContextMessages),
  ];
  return { messages, thinkingLevel, model };
}

/** `/skill:name` after it was written out: the skill's text and what the user said to it. */
export function parseSkillBlock(text: string): any {
  const head = /^<skill name="([^"]+)" location="([^"]+)">\n/.exec(text);
  const end = text.indexOf("\n</skill>");
  if (!head || end < head[0].length) return null;
  const said = text.slice(end + "\n</skill>".length);
  if (said !== "" && !said.startsWith("\n\n")) return null;
  const [opening, name, location] = head;
  return { name, location, content: text.slice(opening.length, end), userMessage: said.trim() || undefined };
}

// Events on a bus of one's own

export function createEventBus(): any {
  const handlers = new Map<string, Set<(data: unknown) => unknown>>();
  return {
    emit(channel: string, data: unknown): void {
      for (const handler of [...(handlers.get(channel) ?? [])]) {
        const report = (error: unknown) => console.error(`Event handler error (${channel}):`, error);
        try {
          Promise.resolve(handler(data)).catch(report);
        } catch (error) {
          report(error);
        }
      }
    },
    on(channel: string, handler: (data: unknown) => unknown): () => void {
      const known = handlers.get(channel) ?? new Set();
      handlers.set(channel, known.add(handler));
      return () => void known.delete(handler);
    },
    clear: () => handlers.clear(),
  };
}
