// Messages and tools as pi draws them, for extensions that draw a conversation of their own.
import { getMarkdownTheme } from "pi:agent-screen";
import { Markdown } from "pi:screen-markdown";
import { Box, Container, Spacer, Text } from "pi:screen-parts";
import { theme } from "pi:theme";

const textOf = (content: any): string =>
  typeof content === "string"
    ? content
    : (content ?? []).filter((part: any) => part?.type === "text").map((part: any) => part.text).join("\n");

const painted = (color: string) => (text: string) => theme.bg(color, text);
const firstLine = (text: string): string => text.split("\n")[0];

export class UserMessageComponent extends Container {
  constructor(text: string, markdownTheme: any = getMarkdownTheme()) {
    super();
    this.addChild(new Spacer(1));
    const box = new Box(1, 1, painted("userMessageBg"));
    box.addChild(new Markdown(text, 0, 0, markdownTheme));
    this.addChild(box);
  }
}

export class AssistantMessageComponent extends Container {
  constructor(
    private message?: any, private hidden = false, private readonly look: any = getMarkdownTheme(),
    private label = "Thinking...",
  ) {
    super();
    if (message) this.updateContent(message);
  }
  setHideThinkingBlock(hidden: boolean): void {
    this.hidden = hidden;
    this.updateContent(this.message);
  }
  setHiddenThinkingLabel(label: string): void {
    this.label = label;
    this.updateContent(this.message);
  }
  updateContent(message: any): void {
    this.message = message;
    this.clear();
    for (const part of message?.content ?? []) {
      const { type, text, thinking } = part;
      if (type === "text" && text.trim()) this.add(new Markdown(text.trim(), 1, 0, this.look));
      if (type !== "thinking" || !thinking.trim()) continue;
      const words = this.hidden ? this.label : thinking.trim();
      this.add(new Text(theme.italic(theme.fg("thinkingText", words)), 1, 0));
    }
    const { stopReason, errorMessage } = message ?? {};
    const failed = (words: string) => this.add(new Text(theme.fg("error", words), 1, 0));
    if (stopReason === "error") failed(`Error: ${errorMessage ?? "Unknown error"}`);
    if (stopReason === "aborted") failed(errorMessage ?? "Operation aborted");
  }
  private add(part: any): void {
    this.addChild(new Spacer(1));
    this.addChild(part);
  }
}

/** A box that shows its first line, or all of it. */
class Folded extends Box {
  private expanded = false;
  constructor(private readonly title: string, private readonly short: string, private readonly text: string,
    private readonly look: any = getMarkdownTheme()) {
    super(1, 1, painted("customMessageBg"));
    this.fill();
  }
  setExpanded(expanded: boolean): void {
    this.expanded = expanded;
    this.fill();
  }
  private fill(): void {
    this.clear();
    this.addChild(new Text(theme.fg("customMessageLabel", theme.bold(`[${this.title}]`)), 0, 0));
    this.addChild(new Spacer(1));
    const words = this.expanded ? this.text : this.short;
    this.addChild(this.expanded ? new Markdown(words, 0, 0, this.look) : new Text(words, 0, 0));
  }
}

export class BranchSummaryMessageComponent extends Folded {
  constructor(message: any, look?: any) {
    super("branch", "Branch summary", message.summary, look);
  }
}
export class CompactionSummaryMessageComponent extends Folded {
  constructor(message: any, look?: any) {
    super("compaction", `Compacted from ${message.tokensBefore ?? 0} tokens`, message.summary, look);
  }
}
export class SkillInvocationMessageComponent extends Folded {
  constructor(skill: any, look?: any) {
    super("skill", skill.name, skill.content, look);
  }
}

export class CustomMessageComponent extends Container {
  private expanded = false;
  constructor(private readonly message: any, private readonly renderer?: any, private readonly look?: any) {
    super();
    this.fill();
  }
  setExpanded(expanded: boolean): void {
    this.expanded = expanded;
    this.fill();
  }
  private fill(): void {
    this.clear();
    const drawn = this.renderer?.(this.message, { expanded: this.expanded }, theme);
    if (drawn) return this.addChild(drawn);
    const text = textOf(this.message.content);
    const box = new Folded(this.message.customType, text, text, this.look);
    box.setExpanded(true);
    this.addChild(box);
  }
}

export class BashExecutionComponent extends Container {
  private output = "";
  private status = "";
  private expanded = false;
  constructor(private readonly command: string, _ui?: unknown, _excluded?: boolean) {
    super();
    this.fill();
  }
  appendOutput(chunk: string): void {
    this.output += chunk;
    this.fill();
  }
  setComplete(exitCode: number | undefined, cancelled: boolean): void {
    this.status = cancelled ? "(cancelled)" : exitCode ? `(exit ${exitCode})` : "";
    this.fill();
  }
  setExpanded(expanded: boolean): void {
    this.expanded = expanded;
    this.fill();
  }
  getOutput = (): string => this.output;
  getCommand = (): string => this.command;
  private fill(): void {
    this.clear();
    const lines = this.output.replace(/\n$/, "").split("\n");
    const shown = this.expanded ? lines : lines.slice(-20);
    this.addChild(new Text(theme.fg("bashMode", theme.bold(`$ ${this.command}`)), 1, 0));
    if (this.output) this.addChild(new Text(theme.fg("muted", shown.join("\n")), 1, 0));
    if (this.status) this.addChild(new Text(theme.fg("error", this.status), 1, 0));
  }
}

export class ToolExecutionComponent extends Container {
  private result: any;
  private partial = true;
  private expanded = false;
  private started = false;
  private readonly state = {};
  constructor(
    private readonly toolName: string, private readonly toolCallId: string, private args: any, _options: any,
    private readonly definition: any, private readonly ui: any, private readonly cwd: string,
  ) {
    super();
    this.fill();
  }
  updateArgs(args: any): void {
    this.args = args;
    this.fill();
  }
  markExecutionStarted(): void {
    this.started = true;
    this.fill();
  }
  setArgsComplete(): void {
    this.fill();
  }
  updateResult(result: any, isPartial = false): void {
    this.result = result;
    this.partial = isPartial;
    this.fill();
  }
  setExpanded(expanded: boolean): void {
    this.expanded = expanded;
    this.fill();
  }
  setShowImages(): void {}
  setImageWidthCells(): void {}

  private context(): unknown {
    const { args, toolCallId, cwd, state, started, partial, expanded } = this;
    const invalidate = () => this.ui?.requestRender?.();
    return {
      args, toolCallId, cwd, state, invalidate, executionStarted: started, argsComplete: true, isPartial: partial,
      expanded, showImages: false, isError: this.result?.isError ?? false, lastComponent: undefined,
    };
  }
  private fill(): void {
    this.clear();
    const { definition, result, partial: isPartial, expanded } = this;
    const color = isPartial ? "toolPendingBg" : result?.isError ? "toolErrorBg" : "toolSuccessBg";
    const box = new Box(1, 1, painted(color));
    const title = theme.fg("toolTitle", theme.bold(this.toolName));
    const call = definition?.renderCall?.(this.args, theme, this.context());
    box.addChild(call ?? new Text(`${title} ${firstLine(JSON.stringify(this.args ?? {}))}`, 0, 0));
    if (result) {
      const drawn = definition?.renderResult?.(result, { expanded, isPartial }, theme, this.context());
      const lines = textOf(result.content).split("\n");
      const shown = (expanded ? lines : lines.slice(0, 10)).join("\n");
      box.addChild(drawn ?? new Text(theme.fg("toolOutput", shown), 0, 0));
    }
    this.addChild(new Spacer(1));
    this.addChild(box);
  }
}
