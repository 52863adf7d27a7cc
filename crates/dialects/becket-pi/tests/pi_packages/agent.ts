// What pi's program offers to extensions besides tools: session files, settings, skills, parts of a conversation on the
// screen, and sessions of their own.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AssistantMessageComponent, AuthStorage, compact, createAgentSession, CustomMessageComponent, DefaultResourceLoader,
  formatSkillsForPrompt, loadSkills, ModelRegistry, SessionManager, SettingsManager, ToolExecutionComponent,
  UserMessageComponent,
} from "@mariozechner/pi-coding-agent";
import { getApiProvider, streamSimpleAnthropic } from "@mariozechner/pi-ai";
import { Image } from "@mariozechner/pi-tui";
import { errorOf, report, same } from "./check.ts";

const user = (text: string) => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const answer = (text: string) => ({ role: "assistant", content: [{ type: "text", text }], stopReason: "stop" });

function sessions(folder: string): void {
  const session = SessionManager.create("/some/where", folder);
  const first = session.appendMessage(user("one"));
  same("nothing is written before there is an answer", existsSync(session.getSessionFile()!), false);
  session.appendMessage(answer("two"));
  session.appendSessionInfo("name");
  session.appendLabelChange(first, "here");
  const lines = readFileSync(session.getSessionFile()!, "utf-8").trim().split("\n").map((line) => JSON.parse(line));
  same("lines", lines.map((line) => line.type), ["session", "message", "message", "session_info", "label"]);
  same("the header", [lines[0].version, lines[0].cwd], [3, "/some/where"]);

  const again = SessionManager.open(session.getSessionFile()!);
  same("it is read again", again.getEntries().length, 4);
  same("names and labels", [again.getSessionName(), again.getLabel(first)], ["name", "here"]);
  same("the context", again.buildSessionContext().messages.map((message: any) => message.role), ["user", "assistant"]);
  again.branch(first);
  const other = again.appendMessage(answer("three"));
  same("a branch", again.getBranch().map((entry) => entry.id), [first, other]);
  same("children", again.getChildren(first).length, 2);
  const memory = SessionManager.inMemory("/x");
  same("in memory", [memory.isPersisted(), memory.getSessionFile()], [false, undefined]);
}

async function settings(folder: string): Promise<void> {
  const agentDir = join(folder, "agent");
  mkdirSync(agentDir, { recursive: true });
  mkdirSync(join(folder, ".pi"));
  writeFileSync(join(agentDir, "settings.json"), JSON.stringify({ theme: "mine", compaction: { enabled: false } }));
  writeFileSync(join(folder, ".pi", "settings.json"), JSON.stringify({ compaction: { reserveTokens: 5 } }));
  const manager = SettingsManager.create(folder, agentDir);
  same("read", [manager.getTheme(), manager.getDefaultModel(), manager.getSteeringMode()],
    ["mine", undefined, "one-at-a-time"]);
  same("a project over it", manager.getCompactionSettings(),
    { enabled: false, reserveTokens: 5, keepRecentTokens: 20000 });
  manager.setTheme("other");
  same("written", JSON.parse(readFileSync(join(agentDir, "settings.json"), "utf-8")).theme, "other");
  const own = SettingsManager.inMemory({ compaction: { enabled: false } });
  same("in memory", [own.getCompactionEnabled(), own.getRetryEnabled()], [false, true]);
}

function skills(folder: string): void {
  const place = join(folder, "agent", "skills", "weave");
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "SKILL.md"), "---\nname: weave\ndescription: Weaves <cloth>.\n---\nx");
  const options = { cwd: folder, agentDir: join(folder, "agent"), skillPaths: [], includeDefaults: true };
  const found = loadSkills(options);
  same("skills", found.skills.map((skill: any) => [skill.name, skill.sourceInfo.scope]), [["weave", "user"]]);
  const prompt = formatSkillsForPrompt(found.skills);
  same("escaped", prompt.includes("<description>Weaves &lt;cloth&gt;.</description>"), true);
}

function screens(): void {
  const lines = (component: any) => component.render(60).join("\n");
  const shown = [
    lines(new UserMessageComponent("hello")),
    lines(new AssistantMessageComponent(answer("there") as any)),
    lines(new CustomMessageComponent({ customType: "note", content: "aside" } as any)),
  ].join("\n");
  for (const words of ["hello", "there", "[note]", "aside"]) same(`drawn: ${words}`, shown.includes(words), true);
  const tool = new ToolExecutionComponent("find", "1", { pattern: "x" }, {}, undefined, {} as any, "/");
  tool.updateResult({ content: [{ type: "text", text: "a file" }], isError: false });
  same("a tool", ["find", "a file"].every((words) => lines(tool).includes(words)), true);
  same("a picture", new Image("AAAA", "image/png", { fallbackColor: (text) => text }).render(10).length, 1);
}

/** What every session of pi has, of the members that are no fields. */
const MEMBERS = (
  "abort abortBash abortBranchSummary abortCompaction abortRetry autoCompactionEnabled autoRetryEnabled bindExtensions "
  + "clearQueue compact cycleModel cycleThinkingLevel dispose executeBash exportToHtml exportToJsonl followUp "
  + "followUpMode getActiveToolNames getAllTools getAvailableThinkingLevels getContextUsage getFollowUpMessages "
  + "getLastAssistantText getSessionStats getSteeringMessages getToolDefinition getUserMessagesForForking "
  + "hasExtensionHandlers hasPendingBashMessages isBashRunning isCompacting isRetrying isStreaming messages model "
  + "modelRegistry navigateTree pendingMessageCount prompt promptTemplates recordBashResult reload resourceLoader "
  + "retryAttempt scopedModels sendUserMessage sessionId setActiveToolsByName setAutoCompactionEnabled "
  + "setAutoRetryEnabled setFollowUpMode setModel setScopedModels setSessionName setSteeringMode setThinkingLevel "
  + "state steer steeringMode subscribe supportsThinking systemPrompt thinkingLevel"
).split(" ");

async function ownSessions(): Promise<void> {
  const loader = new DefaultResourceLoader({ cwd: "/", agentDir: "/none", systemPrompt: "Be brief." } as any);
  await loader.reload();
  const model: any = { provider: "some", id: "one", api: "some-api" };
  const options: any = { cwd: "/", model, tools: [], resourceLoader: loader, authStorage: AuthStorage.create() };
  const { session } = await createAgentSession({ ...options, modelRegistry: ModelRegistry.create(options.authStorage) });
  const heard: string[] = [];
  session.subscribe((event: any) => heard.push(event.type));
  await session.prompt("What is it?");
  same("an answer", session.getLastAssistantText(), "the answer to null");
  same("events", [heard[0], heard.includes("message_update"), heard.at(-2)], ["agent_start", true, "agent_end"]);
  same("messages", session.messages.map((message: any) => message.role), ["user", "assistant"]);
  const prompts = [session.systemPrompt.includes("Be brief."), session.isStreaming];
  same("its prompt", prompts, [true, false]);
  session.setSessionName("mine");
  const stats: any = session.getSessionStats();
  same("what is counted", [session.sessionName, stats.userMessages, stats.assistantMessages], ["mine", 1, 1]);
  const missing = MEMBERS.filter((name) => (session as any)[name] === undefined);
  same("members of pi's sessions", missing, []);
  same("what there is not", /not supported/.test(await errorOf(async () => (session as any).compact())), true);
  const read: any = (await createAgentSession({ ...options, tools: ["read"] })).session.getToolDefinition("read");
  const refused = await errorOf(() => read.execute("1", { path: "x" }));
  same("pi's tools need a call", /only while one of its tools is called/.test(refused), true);
}

export default async function () {
  const folder = mkdtempSync(join(tmpdir(), "agent-"));
  sessions(join(folder, "sessions"));
  await settings(folder);
  skills(folder);
  screens();
  await ownSessions();
  const codex = getApiProvider("openai-codex-responses" as any) as any;
  same("pi's interfaces", [typeof codex.streamSimple, typeof streamSimpleAnthropic], ["function", "function"]);
  const preparation: any = {
    messagesToSummarize: [user("x")], firstKeptEntryId: "k", tokensBefore: 9, settings: { reserveTokens: 10 },
    fileOps: { read: new Set(["a"]), written: new Set(["b"]), edited: new Set() },
  };
  const model: any = { provider: "some", id: "one" };
  const { summary, details, firstKeptEntryId } = await compact(preparation, model, "key");
  same("a summary", [summary.startsWith("the answer to 8"), firstKeptEntryId], [true, "k"]);
  same("its files", details, { readFiles: ["a"], modifiedFiles: ["b"] });
  return report();
}
