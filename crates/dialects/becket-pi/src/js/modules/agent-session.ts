// Sessions that an extension runs beside the one it lives in (`createAgentSession`): a model, tools, and the loop
// between them. The model is asked by becket. pi's own tools pass the gate of the session in which the extension works,
// so they only run within a call of one of its tools; tools that the extension brings run as they are.
import { getAgentDir } from "pi:agent-folder";
import { SessionManager } from "pi:agent-sessions";
import { SettingsManager } from "pi:agent-settings";
import { formatSkillsForPrompt, loadProjectContextFiles, loadSkills } from "pi:agent-skills";
import { convertToLlm } from "pi:agent-text";
import { streamSimple } from "pi:ai-stream";
import { validateToolArguments } from "pi:ai-text";
import { authStorage } from "pi:auth";
import { ask } from "pi:host";
import { modelRegistry } from "pi:models";
import { callNow, callTool, contextNow } from "pi:run-tools";
import { createBashToolDefinition } from "pi:tool-bash";
import { createEditToolDefinition, createReadToolDefinition, createWriteToolDefinition } from "pi:tool-files";
import { createFindToolDefinition, createGrepToolDefinition, createLsToolDefinition } from "pi:tool-search";

/** Keys stay with becket, so there is one storage, whatever file is named. */
export class AuthStorage {
  static create = (): unknown => authStorage;
  static inMemory = (): unknown => authStorage;
  static fromStorage = (): unknown => authStorage;
}

/** The models are becket's. */
export class ModelRegistry {
  static create = (): unknown => modelRegistry;
  static inMemory = (): unknown => modelRegistry;
}

const NOTHING = () => ({ extensions: [], errors: [], runtime: {} });

/** What a session of its own starts with. Extensions are those of the run: their guards are asked by the gate. */
export class DefaultResourceLoader {
  private skills: any = { skills: [], diagnostics: [] };
  private files: any[] = [];
  constructor(private readonly options: any = {}) {}

  async reload(): Promise<void> {
    const { options } = this;
    const { cwd = process.cwd(), agentDir = getAgentDir(), additionalSkillPaths = [] } = options;
    const skills = options.noSkills
      ? loadSkills({ cwd, agentDir, skillPaths: additionalSkillPaths, includeDefaults: false })
      : loadSkills({ cwd, agentDir, skillPaths: additionalSkillPaths, includeDefaults: true });
    this.skills = options.skillsOverride?.(skills) ?? skills;
    const agentsFiles = options.noContextFiles ? [] : loadProjectContextFiles({ cwd, agentDir });
    this.files = (options.agentsFilesOverride?.({ agentsFiles }) ?? { agentsFiles }).agentsFiles;
  }
  getExtensions = () => this.options.extensionsOverride?.(NOTHING()) ?? NOTHING();
  getSkills = () => this.skills;
  getPrompts = () => {
    const none = { prompts: [], diagnostics: [] };
    return this.options.promptsOverride?.(none) ?? none;
  };
  getThemes = () => ({ themes: [], diagnostics: [] });
  getAgentsFiles = () => ({ agentsFiles: this.files });
  getSystemPrompt(): string | undefined {
    const { systemPrompt, systemPromptOverride } = this.options;
    return systemPromptOverride ? systemPromptOverride(systemPrompt) : systemPrompt;
  }
  getAppendSystemPrompt(): string[] {
    const { appendSystemPrompt, appendSystemPromptOverride } = this.options;
    const given = [appendSystemPrompt ?? []].flat();
    return appendSystemPromptOverride?.(given) ?? given;
  }
  getPathMetadata = () => new Map();
  extendResources(): void {}
}

const OWN = ["read", "bash", "edit", "write", "grep", "find", "ls"];

function definitionsOf(cwd: string): any[] {
  return [
    createReadToolDefinition(cwd), createBashToolDefinition(cwd), createEditToolDefinition(cwd),
    createWriteToolDefinition(cwd), createGrepToolDefinition(cwd), createFindToolDefinition(cwd),
    createLsToolDefinition(cwd),
  ].map((definition) => ({ ...definition, execute: throughGate(definition.name) }));
}

/** One of pi's tools, called as the tool within which the session runs may call it. */
const throughGate = (name: string) => async (_id: string, params: unknown, signal?: AbortSignal) => {
  const within = callNow();
  if (within === undefined) {
    throw new Error(`becket runs ${name} in a session of an extension's only while one of its tools is called`);
  }
  const { text, isError } = await callTool(within, name, params, signal);
  if (isError) throw new Error(text);
  return { content: [{ type: "text", text }], details: undefined };
};

/** The tools of a session: pi's by their names, tools as they are given, and the extension's own. */
function toolsOf({ cwd, tools, customTools = [], noTools }: any): any[] {
  const known = definitionsOf(cwd);
  const named = (name: string) => known.filter((tool) => tool.name === name);
  const given: any[] = tools ?? (noTools ? [] : ["read", "bash", "edit", "write"]);
  const chosen = given.flatMap((tool) => {
    if (typeof tool === "string") return named(tool);
    return OWN.includes(tool?.name) ? named(tool.name) : [tool];
  });
  const own = noTools === "all" && tools === undefined ? [] : customTools;
  const isWanted = (tool: any) => !given.some((each) => typeof each === "string") || given.includes(tool.name);
  return [...chosen.filter((tool) => !own.some((each: any) => each.name === tool.name)), ...own.filter(isWanted)];
}

const PROMPT = "You are a coding agent. You help by reading files, running commands, and editing and writing files.";

function systemPromptOf(loader: any, cwd: string): string {
  const files = loader.getAgentsFiles?.().agentsFiles ?? [];
  const parts = [
    loader.getSystemPrompt?.() ?? PROMPT,
    ...(loader.getAppendSystemPrompt?.() ?? []),
    ...files.map(({ path, content }: any) => `## ${path}\n\n${content}`),
  ];
  const skills = formatSkillsForPrompt(loader.getSkills?.().skills ?? []);
  return `${parts.join("\n\n")}${skills}\n\nCurrent working directory: ${cwd}`;
}

const userMessage = (text: string, images: any[] = []) => ({
  role: "user", content: [{ type: "text", text }, ...images], timestamp: Date.now(),
});

const textOf = ({ content }: any): string =>
  typeof content === "string" ? content : content.map((part: any) => part.text ?? "").join("");

const LEVELS = ["off", "minimal", "low", "medium", "high"];

/** What a session of the run can do and one of an extension's cannot: these members say so when they are called. */
const ABSENT = [
  "compact", "cycleModel", "executeBash", "exportToHtml", "exportToJsonl", "navigateTree", "recordBashResult",
];

export class AgentSession {
  readonly state: any;
  readonly agent: any;
  readonly sessionManager: any;
  readonly settingsManager: any;
  readonly modelRegistry = modelRegistry;
  autoCompactionEnabled = false;
  autoRetryEnabled = false;
  steeringMode = "one-at-a-time";
  followUpMode = "one-at-a-time";
  private scoped: any[] = [];
  private readonly listeners = new Set<(event: any) => unknown>();
  private readonly steering: any[] = [];
  private readonly followUps: any[] = [];
  private all: any[];
  private running: Promise<void> | undefined;
  private controller = new AbortController();

  constructor(options: any, readonly resourceLoader: any) {
    const { cwd, model, thinkingLevel = "off" } = options;
    this.sessionManager = options.sessionManager ?? SessionManager.inMemory(cwd);
    this.settingsManager = options.settingsManager ?? SettingsManager.inMemory();
    this.all = toolsOf(options);
    const { messages } = this.sessionManager.buildSessionContext();
    const systemPrompt = systemPromptOf(resourceLoader, cwd);
    this.state = {
      systemPrompt, model, thinkingLevel, tools: [...this.all], messages, isStreaming: false, errorMessage: undefined,
    };
    const { state } = this;
    this.agent = { state, abort: () => this.abort(), waitForIdle: async () => this.running };
  }

  get model() { return this.state.model; }
  get thinkingLevel() { return this.state.thinkingLevel; }
  get messages() { return this.state.messages; }
  get systemPrompt() { return this.state.systemPrompt; }
  get isStreaming() { return this.state.isStreaming; }
  get isCompacting() { return false; }
  get isRetrying() { return false; }
  get isBashRunning() { return false; }
  get hasPendingBashMessages() { return false; }
  get retryAttempt() { return 0; }
  get promptTemplates() { return []; }
  get scopedModels() { return this.scoped; }
  get sessionId() { return this.sessionManager.getSessionId(); }
  get sessionFile() { return this.sessionManager.getSessionFile(); }
  get sessionName() { return this.sessionManager.getSessionName(); }
  get pendingMessageCount() { return this.steering.length + this.followUps.length; }
  getActiveToolNames = (): string[] => this.state.tools.map((tool: any) => tool.name);
  getAllTools = (): unknown[] => this.all;
  getToolDefinition = (name: string): unknown => this.all.find((tool) => tool.name === name);
  setActiveToolsByName(names: string[]): void {
    this.state.tools = this.all.filter((tool) => names.includes(tool.name));
  }
  async setModel(model: any): Promise<void> {
    this.state.model = model;
  }
  setThinkingLevel(level: string): void {
    this.state.thinkingLevel = level;
  }
  setScopedModels(models: any[]): void {
    this.scoped = models;
  }
  setSessionName(name: string): void {
    this.sessionManager.appendSessionInfo(name);
    this.emit("session_info_changed", { name: this.sessionName });
  }
  supportsThinking = (): boolean => this.model?.reasoning === true;
  getAvailableThinkingLevels = (): string[] => (this.supportsThinking() ? LEVELS : ["off"]);
  cycleThinkingLevel(): string | undefined {
    if (!this.supportsThinking()) return undefined;
    this.setThinkingLevel(LEVELS[(LEVELS.indexOf(this.thinkingLevel) + 1) % LEVELS.length]!);
    return this.thinkingLevel;
  }
  getSteeringMessages = (): string[] => this.steering.map(textOf);
  getFollowUpMessages = (): string[] => this.followUps.map(textOf);
  clearQueue(): { steering: string[]; followUp: string[] } {
    return { steering: this.steering.splice(0).map(textOf), followUp: this.followUps.splice(0).map(textOf) };
  }
  getUserMessagesForForking(): { entryId: string; text: string }[] {
    const asked = this.sessionManager.getEntries().filter((entry: any) => entry.message?.role === "user");
    return asked.map((entry: any) => ({ entryId: entry.id, text: textOf(entry.message) }));
  }
  getContextUsage(): any {
    const window = this.model?.contextWindow;
    if (!window) return undefined;
    const { usage } = this.messages.findLast((message: any) => message.role === "assistant") ?? {};
    const tokens = usage === undefined ? null : usage.totalTokens ?? usage.input + usage.output;
    return { tokens, contextWindow: window, percent: tokens === null ? null : (tokens / window) * 100 };
  }
  getSessionStats(): any {
    const of = (role: string) => this.messages.filter((message: any) => message.role === role);
    const answers = of("assistant");
    const sum = (read: (usage: any) => number | undefined) =>
      answers.reduce((all: number, { usage = {} }: any) => all + (read(usage) ?? 0), 0);
    const tokens = {
      input: sum((usage) => usage.input), output: sum((usage) => usage.output),
      cacheRead: sum((usage) => usage.cacheRead), cacheWrite: sum((usage) => usage.cacheWrite), total: 0,
    };
    tokens.total = tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite;
    const calls = answers.flatMap(({ content }: any) => content.filter((part: any) => part.type === "toolCall"));
    return {
      sessionFile: this.sessionFile, sessionId: this.sessionId, userMessages: of("user").length,
      assistantMessages: answers.length, toolCalls: calls.length, toolResults: of("toolResult").length,
      totalMessages: this.messages.length, tokens, cost: sum((usage) => usage.cost?.total),
      contextUsage: this.getContextUsage(),
    };
  }
  hasExtensionHandlers = (): boolean => false;
  // Nothing of the kind is ever under way.
  abortCompaction(): void {}
  abortBranchSummary(): void {}
  abortRetry(): void {}
  abortBash(): void {}
  setAutoCompactionEnabled(enabled: boolean): void {
    this.autoCompactionEnabled = enabled;
  }
  setAutoRetryEnabled(enabled: boolean): void {
    this.autoRetryEnabled = enabled;
  }
  setSteeringMode(mode: string): void {
    this.steeringMode = mode;
  }
  setFollowUpMode(mode: string): void {
    this.followUpMode = mode;
  }
  async bindExtensions(): Promise<void> {}
  async reload(): Promise<void> {}
  getLastAssistantText(): string | undefined {
    const last = this.messages.findLast((message: any) => message.role === "assistant");
    const texts = last?.content.filter((part: any) => part.type === "text").map((part: any) => part.text);
    return texts?.join("").trim() || undefined;
  }

  subscribe(listener: (event: any) => unknown): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
  dispose(): void {
    this.controller.abort();
    this.listeners.clear();
  }
  async abort(): Promise<void> {
    this.controller.abort();
    await this.running;
  }
  async steer(text: string, images?: any[]): Promise<void> {
    this.steering.push(userMessage(text, images));
  }
  async followUp(text: string, images?: any[]): Promise<void> {
    this.followUps.push(userMessage(text, images));
  }
  async sendUserMessage(content: any, options: any = {}): Promise<void> {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const text = parts.filter((part: any) => part.type === "text").map((part: any) => part.text).join("\n");
    const images = parts.filter((part: any) => part.type === "image");
    await this.prompt(text, { images, streamingBehavior: options.deliverAs });
  }
  async prompt(text: string, options: any = {}): Promise<void> {
    const { images, streamingBehavior } = options;
    if (this.isStreaming) {
      if (streamingBehavior === "steer") return this.steer(text, images);
      if (streamingBehavior === "followUp") return this.followUp(text, images);
      const how = "Specify streamingBehavior ('steer' or 'followUp') to queue the message.";
      throw new Error(`Agent is already processing. ${how}`);
    }
    if (!this.model) throw new Error("No model selected");
    this.controller = new AbortController();
    this.state.isStreaming = true;
    this.running = this.run([...this.steering.splice(0), userMessage(text, images)]);
    await this.running;
  }

  private emit(type: string, fields: object = {}): void {
    for (const listener of [...this.listeners]) listener({ type, ...fields });
  }
  private add(message: any): void {
    this.messages.push(message);
    this.sessionManager.appendMessage(message);
    this.emit("message_end", { message });
  }
  private told(message: any): void {
    this.emit("message_start", { message });
    this.add(message);
  }

  private async run(prompts: any[]): Promise<void> {
    const begun = this.messages.length;
    this.emit("agent_start");
    try {
      for (let next = prompts, goesOn = true; goesOn;) {
        this.emit("turn_start");
        next.forEach((message) => this.told(message));
        const message = await this.answer();
        const toolResults = ["error", "aborted"].includes(message.stopReason) ? [] : await this.calls(message);
        this.emit("turn_end", { message, toolResults });
        const ended = this.controller.signal.aborted || ["error", "aborted"].includes(message.stopReason);
        next = ended ? [] : this.steering.splice(0);
        if (!ended && next.length === 0 && toolResults.length === 0) next = this.followUps.splice(0, 1);
        goesOn = !ended && (next.length > 0 || toolResults.length > 0);
      }
    } finally {
      this.state.isStreaming = false;
      this.emit("agent_end", { messages: this.messages.slice(begun) });
      this.emit("agent_settled", { aborted: this.controller.signal.aborted });
    }
  }

  private async answer(): Promise<any> {
    const { model, thinkingLevel, systemPrompt, tools, messages } = this.state;
    const { signal } = this.controller;
    const reasoning = thinkingLevel === "off" ? undefined : thinkingLevel;
    const offered = tools.map(({ name, description, parameters }: any) => ({ name, description, parameters }));
    const context = { systemPrompt, messages: convertToLlm(messages), tools: offered };
    const stream: any = streamSimple(model, context, { signal, reasoning });
    let begun = false;
    for await (const event of stream) {
      const message = event.partial ?? event.message ?? event.error;
      if (!begun) this.emit("message_start", { message });
      else if (event.partial) this.emit("message_update", { message, assistantMessageEvent: event });
      begun = true;
    }
    const message = await stream.result();
    this.state.errorMessage = message.errorMessage;
    this.add(message);
    return message;
  }

  private async calls(message: any): Promise<any[]> {
    const results: any[] = [];
    for (const call of message.content.filter((part: any) => part.type === "toolCall")) {
      const { id: toolCallId, name: toolName, arguments: args } = call;
      this.emit("tool_execution_start", { toolCallId, toolName, args });
      const { result, isError } = await this.call(call);
      this.emit("tool_execution_end", { toolCallId, toolName, result, isError });
      const { content = [], details } = result;
      const told = { role: "toolResult", toolCallId, toolName, content, details, isError, timestamp: Date.now() };
      this.told(told);
      results.push(told);
    }
    return results;
  }

  private async call({ id, name, arguments: args }: any): Promise<any> {
    const failed = (text: string) => ({ result: { content: [{ type: "text", text }], details: {} }, isError: true });
    const tool = this.state.tools.find((each: any) => each.name === name);
    if (tool === undefined) return failed(`Tool ${name} not found`);
    const update = (partialResult: unknown) =>
      this.emit("tool_execution_update", { toolCallId: id, toolName: name, args, partialResult });
    try {
      const prepared = tool.prepareArguments?.(args) ?? args;
      const params = validateToolArguments(tool, { type: "toolCall", id, name, arguments: prepared });
      const result = await tool.execute(id, params, this.controller.signal, update, contextNow());
      return { result, isError: false };
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error));
    }
  }
}

for (const name of ABSENT) {
  (AgentSession.prototype as any)[name] = () => {
    throw new Error(`${name} is not supported in a session that an extension has created`);
  };
}

export async function createAgentSession(options: any = {}): Promise<any> {
  const { cwd = process.cwd(), agentDir } = options;
  const loader = options.resourceLoader ?? new DefaultResourceLoader({ cwd, agentDir });
  if (options.resourceLoader === undefined) await loader.reload();
  const model = options.model ?? ask("model");
  const session = new AgentSession({ ...options, cwd, model }, loader);
  return { session, extensionsResult: loader.getExtensions() };
}
