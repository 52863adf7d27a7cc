// `pi-coding-agent`: what pi gives to extensions beside the API object. Small things and constants stand here; tools,
// texts of messages and parts of screens are in rooms that are loaded when they are used.
import { room } from "pi:lazy";

/** The version of pi whose behaviour this is. */
export const VERSION = "0.73.1";
export const CONFIG_DIR_NAME = ".pi";
export const CURRENT_SESSION_VERSION = 3;
export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
export const GREP_MAX_LINE_LENGTH = 500;
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };
export const VIRTUAL_MODEL_STATE_ENTRY = "pi.virtual-model-state";

export const defineTool = <T>(tool: T): T => tool;
export const isToolCallEventType = (name: string, event: any): boolean => event.toolName === name;

const resultOf = (name: string) => (event: any): boolean => event.toolName === name;
export const isBashToolResult = resultOf("bash");
export const isReadToolResult = resultOf("read");
export const isEditToolResult = resultOf("edit");
export const isWriteToolResult = resultOf("write");
export const isGrepToolResult = resultOf("grep");
export const isFindToolResult = resultOf("find");
export const isLsToolResult = resultOf("ls");
export const isPowerShellToolResult = resultOf("powershell");

export const { getAgentDir } = room("pi:agent-folder");

export const { formatSize, truncateHead, truncateTail, truncateLine, withFileMutationQueue } = room(
  "pi:tool-shared",
);
export const { createBashTool, createBashToolDefinition, createLocalBashOperations, getShellConfig } = room(
  "pi:tool-bash",
);
export const {
  createReadTool, createReadToolDefinition, createWriteTool, createWriteToolDefinition, createEditTool,
  createEditToolDefinition, detectSupportedImageMimeTypeFromFile,
} = room("pi:tool-files");
export const {
  createGrepTool, createGrepToolDefinition, createFindTool, createFindToolDefinition, createLsTool,
  createLsToolDefinition,
} = room("pi:tool-search");
export const {
  createCodingTools, createReadOnlyTools, readTool, bashTool, editTool, writeTool, grepTool, findTool, lsTool,
  codingTools, readOnlyTools,
} = room("pi:tool-sets");
export const { generateDiffString, generateUnifiedPatch } = room("pi:diff");

export const {
  parseFrontmatter, stripFrontmatter, convertToLlm, serializeConversation, estimateTokens, calculateContextTokens,
  getLastAssistantUsage, shouldCompact, parseSessionEntries, migrateSessionEntries, getLatestCompactionEntry,
  sessionEntryToContextMessages, buildSessionContext, parseSkillBlock, createEventBus,
} = room("pi:agent-text");

export const {
  Theme, initTheme, getMarkdownTheme, getSelectListTheme, getSettingsListTheme, keyHint, keyText, rawKeyHint, editorKey,
  appKey, appKeyHint, highlightCode, getLanguageFromPath, renderDiff, truncateToVisualLines, DynamicBorder,
  BorderedLoader, CustomEditor,
} = room("pi:agent-screen");
export const { SettingsManager } = room("pi:agent-settings");
export const { SessionManager, getDefaultSessionDir } = room("pi:agent-sessions");
export const {
  loadSkills, loadSkillsFromDir, formatSkillsForPrompt, loadProjectContextFiles, createSyntheticSourceInfo,
} = room("pi:agent-skills");
export const { createAgentSession, AgentSession, DefaultResourceLoader, AuthStorage, ModelRegistry } = room(
  "pi:agent-session",
);
export const {
  compact, generateSummary, generateSummaryWithUsage, copyToClipboard, getPackageDir, getReadmePath, getDocsPath,
  getExamplesPath,
} = room("pi:agent-chores");
export const {
  AssistantMessageComponent, UserMessageComponent, CustomMessageComponent, BashExecutionComponent,
  BranchSummaryMessageComponent, CompactionSummaryMessageComponent, SkillInvocationMessageComponent,
  ToolExecutionComponent,
} = room("pi:agent-components");
export * from "pi:pi-coding-agent-rest";
