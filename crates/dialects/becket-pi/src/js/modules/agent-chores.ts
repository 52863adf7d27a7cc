// Small things that pi's program does for extensions: the clipboard, summaries, and where its own files are.
import { spawnSync } from "node:child_process";
import { complete } from "pi:ai-stream";
import { convertToLlm, serializeConversation } from "pi:agent-text";
import { getAgentDir } from "pi:agent-folder";
import { join } from "node:path";

const CLIPBOARDS: [string, string[]][] = [
  ["pbcopy", []], ["wl-copy", []], ["xclip", ["-selection", "clipboard"]], ["xsel", ["--clipboard", "--input"]],
  ["clip.exe", []], ["termux-clipboard-set", []],
];

/** Puts a text where the desktop keeps what was copied, by the first program that does so. */
export async function copyToClipboard(text: string): Promise<void> {
  for (const [program, args] of CLIPBOARDS) {
    const { status, error } = spawnSync(program, args, { input: text, timeout: 5000 });
    if (status === 0 && error === undefined) return;
  }
  throw new Error("Failed to copy to clipboard: no program for it is installed");
}

const INSTRUCTIONS = "You sum up conversations between a user and a coding agent. You do not continue them and do " +
  "not answer questions in them: you give only the summary.";
const FORMAT = "Sum up the conversation above for a model that goes on with the work. Use these headings: ## Goal, " +
  "## Constraints & Preferences, ## Progress (Done, In Progress, Blocked), ## Key Decisions, ## Next Steps, " +
  "## Critical Context. Keep paths, names and error messages as they are.";
const UPDATE = "The conversation above goes on from the summary in <previous-summary>. Bring that up to date: keep " +
  "what holds, add what is new. Use the same headings.";

/** A summary of messages, by the model that is given. */
export async function generateSummary(
  messages: any[], model: any, reserveTokens: number, _apiKey?: string, _headers?: unknown, signal?: AbortSignal,
  customInstructions?: string, previousSummary?: string, thinkingLevel?: string,
): Promise<string> {
  const before = previousSummary ? `\n\n<previous-summary>\n${previousSummary}\n</previous-summary>` : "";
  const focus = customInstructions ? `\n\nAdditional focus: ${customInstructions}` : "";
  const conversation = serializeConversation(convertToLlm(messages));
  const text = `<conversation>\n${conversation}\n</conversation>${before}\n\n${before ? UPDATE : FORMAT}${focus}`;
  const asked = [{ role: "user", content: [{ type: "text", text }], timestamp: Date.now() }];
  const reasoning = thinkingLevel === "off" ? undefined : thinkingLevel;
  const options = { maxTokens: Math.floor(0.8 * reserveTokens), signal, reasoning };
  const answer: any = await complete(model, { systemPrompt: INSTRUCTIONS, messages: asked }, options);
  if (answer.stopReason === "error" || answer.stopReason === "aborted") {
    throw new Error(`Summarization failed: ${answer.errorMessage ?? "Unknown error"}`);
  }
  return answer.content.filter((part: any) => part.type === "text").map((part: any) => part.text).join("\n");
}

export async function generateSummaryWithUsage(...values: Parameters<typeof generateSummary>): Promise<unknown> {
  return { summary: await generateSummary(...values) };
}

const listed = (tag: string, files: string[]): string =>
  files.length === 0 ? "" : `\n\n<${tag}>\n${files.join("\n")}\n</${tag}>`;

/** Sums up what a compaction leaves out, as it was prepared. */
export async function compact(
  preparation: any, model: any, apiKey?: string, headers?: unknown, customInstructions?: string, signal?: AbortSignal,
  thinkingLevel?: string,
): Promise<any> {
  const { messagesToSummarize, turnPrefixMessages = [], previousSummary } = preparation;
  const { firstKeptEntryId, tokensBefore } = preparation;
  const reserve = preparation.settings?.reserveTokens ?? 16384;
  const messages = [...messagesToSummarize, ...turnPrefixMessages];
  const text = await generateSummary(
    messages, model, reserve, apiKey, headers, signal, customInstructions, previousSummary, thinkingLevel,
  );
  const { read = [], written = [], edited = [] } = preparation.fileOps ?? {};
  const modifiedFiles = [...new Set<string>([...written, ...edited])].sort();
  const readFiles = [...new Set<string>(read)].filter((file) => !modifiedFiles.includes(file)).sort();
  const summary = text + listed("read-files", readFiles) + listed("modified-files", modifiedFiles);
  return { summary, firstKeptEntryId, tokensBefore, details: { readFiles, modifiedFiles } };
}

/** There is no package of pi's here: what it would hold is in pi's folder, if anywhere. */
export const getPackageDir = (): string => getAgentDir();
export const getReadmePath = (): string => join(getPackageDir(), "README.md");
export const getDocsPath = (): string => join(getPackageDir(), "docs");
export const getExamplesPath = (): string => join(getPackageDir(), "examples");
