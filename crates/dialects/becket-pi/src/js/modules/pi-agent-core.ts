// `pi-agent-core`: pi's loop. becket has a loop of its own, so of this package there is what computes and nothing that
// runs an agent.
import { room } from "pi:lazy";

export const DEFAULT_AGENT_IDENTITY = { attribution: { name: "becket" } };
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };
export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
export const GREP_MAX_LINE_LENGTH = 500;
export const utf8ByteLength = (text: string): number => Buffer.byteLength(text, "utf-8");
export const toError = (value: unknown): Error => (value instanceof Error ? value : new Error(String(value)));

export const { formatSize, truncateHead, truncateTail, truncateLine } = room("pi:tool-shared");
export const { createBashTool } = room("pi:tool-bash");
export const { createReadTool, createWriteTool, createEditTool } = room("pi:tool-files");
export const {
  bashExecutionToText, convertToLlm, serializeConversation, estimateTokens, estimateContextTokens,
  calculateContextTokens, getLastAssistantUsage, shouldCompact, createBranchSummaryMessage,
  createCompactionSummaryMessage, createCustomMessage,
} = room("pi:agent-text");
export const COMPACTION_SUMMARY_PREFIX =
  "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
export const COMPACTION_SUMMARY_SUFFIX = "\n</summary>";
export const BRANCH_SUMMARY_PREFIX =
  "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
export const BRANCH_SUMMARY_SUFFIX = "</summary>";
export const { uuidv7 } = room("pi:ai-text");
export * from "pi:pi-agent-core-rest";
