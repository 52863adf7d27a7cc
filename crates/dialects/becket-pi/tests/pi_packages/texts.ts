// Texts of sessions, and parts of screens without a screen.
import * as agent from "@mariozechner/pi-coding-agent";
import * as tui from "@mariozechner/pi-tui";
import { report, same } from "./check.ts";

const id = (text: string) => text;

function sessions() {
  const head =
    "---\nname: x\ntools: [read, 'bash']\nnested:\n  deep: true # so\nlist:\n  - a\n  - b: 1\n" +
    "text: |\n  two\n  lines\n---\nbody\n";
  same("a head", agent.parseFrontmatter(head), {
    frontmatter: {
      name: "x",
      tools: ["read", "bash"],
      nested: { deep: true },
      list: ["a", { b: 1 }],
      text: "two\nlines\n",
    },
    body: "body",
  });
  same("no head", agent.stripFrontmatter("just text"), "just text");
  const messages: any[] = [
    { role: "user", content: "hi", timestamp: 1 },
    { role: "custom", customType: "c", content: "note", display: true, timestamp: 2 },
    { role: "bashExecution", command: "ls", output: "a", exitCode: 2, timestamp: 3 },
    { role: "bashExecution", command: "secret", output: "", excludeFromContext: true, timestamp: 4 },
    {
      role: "assistant",
      content: [
        { type: "text", text: "yo" },
        { type: "toolCall", id: "1", name: "read", arguments: { path: "a" } },
      ],
    },
  ];
  const llm: any[] = agent.convertToLlm(messages);
  same(
    "messages for a model",
    llm.map((message) => message.role),
    ["user", "user", "user", "assistant"],
  );
  same("a command", llm[2].content[0].text, "Ran `ls`\n```\na\n```\n\nCommand exited with code 2");
  same(
    "for a summary",
    agent.serializeConversation(llm.filter((message) => message.role === "assistant")),
    '[Assistant]: yo\n\n[Assistant tool calls]: read(path="a")',
  );
  same(
    "tokens",
    messages.slice(0, 3).map((message) => agent.estimateTokens(message)),
    [1, 1, 1],
  );
  const entry = (n: number, more: any) => ({
    id: `e${n}`,
    parentId: n ? `e${n - 1}` : null,
    timestamp: "2026-01-01T00:00:00Z",
    ...more,
  });
  const entries: any[] = [
    entry(0, { type: "message", message: messages[0] }),
    entry(1, { type: "message", message: messages[1] }),
    entry(2, { type: "compaction", summary: "S", firstKeptEntryId: "e1", tokensBefore: 9 }),
    entry(3, { type: "thinking_level_change", thinkingLevel: "high" }),
  ];
  const context: any = agent.buildSessionContext(entries);
  same(
    "a session",
    [context.messages.map((m: any) => m.role), context.thinkingLevel],
    [["compactionSummary", "custom"], "high"],
  );
  same("the end of a text", agent.truncateTail("a\nb\nc", { maxLines: 2 }).content, "b\nc");
  same("a size", [agent.formatSize(10), agent.formatSize(2048)], ["10B", "2.0KB"]);
  same(
    "guards",
    [
      agent.isToolCallEventType("bash", { toolName: "bash" } as any),
      agent.isReadToolResult({ toolName: "ls" } as any),
    ],
    [true, false],
  );
}

function screens() {
  same("width", tui.visibleWidth("\x1b[31mred\x1b[0m 日本 👍 e\u0301"), 13);
  same("cut", tui.truncateToWidth("hello world", 8), "hello\x1b[0m...\x1b[0m");
  same("wrapped", tui.wrapTextWithAnsi("\x1b[31mred words here", 9), ["\x1b[31mred words", "\x1b[31mhere"]);
  same("columns", (tui as any).sliceByColumn("a日b", 1, 2), "日");
  same(
    "keys",
    [
      tui.matchesKey("\x03", "ctrl+c"),
      tui.parseKey("\x1b[1;5A"),
      tui.matchesKey("\x1b[13;2u", "shift+enter"),
    ],
    [true, "ctrl+up", true],
  );
  same(
    "names of keys",
    [tui.Key.ctrlAlt("p" as any), tui.Key.escape, tui.isKeyRelease("\x1b[97;1:3u")],
    ["ctrl+alt+p", "escape", true],
  );
  same("found", tui.fuzzyFilter(["beta", "alpha", "a-p"], "ap", id), ["a-p", "alpha"]);
  const box = new tui.Box(1, 0, (text) => `#${text}`);
  box.addChild(new tui.Text("inside", 0, 0));
  same("a box", box.render(10), ["# inside   "]);
  const chosen: string[] = [];
  const list = new tui.SelectList(
    [
      { value: "a", label: "A" },
      { value: "b", label: "B" },
    ],
    5,
    agent.getSelectListTheme(),
  );
  list.onSelect = (item: any) => chosen.push(item.value);
  list.handleInput("\x1b[B");
  list.handleInput("\r");
  same("a list", [list.render(20), chosen], [["  A", "→ B"], ["b"]]);
  const input = new tui.Input();
  for (const key of ["h", "i", "\x1b[D", "X"]) input.handleInput(key);
  same("a line", input.getValue(), "hXi");
  class Modal extends agent.CustomEditor {
    handleInput(data: string) {
      if (data !== "q") super.handleInput(data);
    }
  }
  const editor = new Modal(
    { terminal: { rows: 20 }, requestRender() {} } as any,
    { borderColor: id, selectList: {} } as any,
    tui.getKeybindings() as any,
  );
  for (const key of ["a", "q", "\x1b[13;2u", "b"]) editor.handleInput(key);
  same("an editor", [editor.getText(), editor.render(6).length], ["a\nb", 4]);
  const markdown = new tui.Markdown("# Title\n\n- **a**\n- `b`", 0, 0, agent.getMarkdownTheme());
  same(
    "markdown",
    markdown.render(10).map((line) => line.trimEnd()),
    ["Title", "", "- a", "- b"],
  );
  same("a border", new agent.DynamicBorder().render(3), ["───"]);
  same("a hint", agent.keyHint("app.tools.expand" as any, "to expand"), "ctrl+o to expand");
  same("a theme", agent.getSettingsListTheme().label("x", true), "x");
}

export default function () {
  sessions();
  screens();
  return report();
}
