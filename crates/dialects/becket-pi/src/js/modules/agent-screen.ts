// What pi's own screens look like, for extensions that draw in the same way: the theme, hints of keys, borders, and the
// editor with pi's keys.
import { getKeybindings } from "pi:screen-keys";
import { CancellableLoader, Container, Loader, Spacer, Text } from "pi:screen-parts";
import { Editor } from "pi:screen-editor";
import { Theme as PlainTheme, theme } from "pi:theme";

type Paint = (text: string) => string;

/** A theme that an extension makes of colours of its own. It paints as the one in use does. */
export class Theme extends PlainTheme {
  constructor(_fg?: unknown, _bg?: unknown, _mode?: string, options: { name?: string } = {}) {
    super(options.name);
  }
}

/** There is one theme, and it is always there. */
export const initTheme = (_name?: string): void => {};

const fg = (color: string): Paint => (text) => theme.fg(color, text);

export const getMarkdownTheme = () => ({
  heading: fg("mdHeading"), link: fg("mdLink"), linkUrl: fg("mdLinkUrl"), code: fg("mdCode"),
  codeBlock: fg("mdCodeBlock"), codeBlockBorder: fg("mdCodeBlockBorder"), quote: fg("mdQuote"),
  quoteBorder: fg("mdQuoteBorder"), hr: fg("mdHr"), listBullet: fg("mdListBullet"),
  bold: (text: string) => theme.bold(text),
  italic: (text: string) => theme.italic(text),
  underline: (text: string) => theme.underline(text),
  strikethrough: (text: string) => theme.strikethrough(text),
  highlightCode: (code: string) => code.split("\n").map(fg("mdCodeBlock")),
});

export const getSelectListTheme = () => ({
  selectedPrefix: fg("accent"), selectedText: fg("accent"), description: fg("muted"), scrollInfo: fg("muted"),
  noMatch: fg("muted"),
});

export const getSettingsListTheme = () => ({
  label: (text: string, selected: boolean) => (selected ? theme.fg("accent", text) : text),
  value: (text: string, selected: boolean) => theme.fg(selected ? "accent" : "muted", text),
  description: fg("dim"),
  cursor: theme.fg("accent", "→ "),
  hint: fg("dim"),
});

// Keys

export const keyText = (binding: string): string => getKeybindings().getKeys(binding).join("/");
export const rawKeyHint = (key: string, about: string): string => theme.fg("dim", key) + theme.fg("muted", ` ${about}`);
export const keyHint = (binding: string, about: string): string => rawKeyHint(keyText(binding), about);

/** The first generation's names: an action of the editor or of pi, without the words before it. */
export const editorKey = (action: string): string =>
  keyText(`tui.editor.${action}`) || keyText(`tui.input.${action}`) || keyText(action);
export const appKey = (_keys: unknown, action: string): string => keyText(`app.${action}`) || keyText(action);
export const appKeyHint = (keys: unknown, action: string, about: string): string =>
  rawKeyHint(appKey(keys, action), about);

// Code and differences

export const highlightCode = (code: string, _language?: string): string[] => code.split("\n").map(fg("mdCodeBlock"));

const LANGUAGES: Record<string, string> = {
  bash: "bash", c: "c", cc: "cpp", clj: "clojure", cpp: "cpp", cs: "csharp", css: "css", dart: "dart", erl: "erlang",
  ex: "elixir", exs: "elixir", fish: "fish", go: "go", graphql: "graphql", h: "c", hpp: "cpp", hs: "haskell",
  htm: "html", html: "html", ini: "ini", java: "java", js: "javascript", json: "json", jsx: "javascript", kt: "kotlin",
  less: "less", lua: "lua", m: "objectivec", markdown: "markdown", md: "markdown", ml: "ocaml", php: "php", pl: "perl",
  ps1: "powershell", py: "python", r: "r", rb: "ruby", rs: "rust", sass: "sass", scala: "scala", scss: "scss",
  sh: "bash", sql: "sql", svg: "xml", swift: "swift", tf: "hcl", toml: "toml", ts: "typescript", tsx: "typescript",
  vim: "vim", xml: "xml", yaml: "yaml", yml: "yaml", zsh: "bash",
};

export function getLanguageFromPath(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (name === "dockerfile" || name === "makefile") return name;
  return LANGUAGES[name.slice(name.lastIndexOf(".") + 1)];
}

/** A difference as `edit` gives it, in colours. */
export const renderDiff = (diff: string, _options?: unknown): string => {
  const colors: Record<string, string> = { "+": "toolDiffAdded", "-": "toolDiffRemoved" };
  const paint = (line: string) => theme.fg(colors[line[0]] ?? "toolDiffContext", line.replace(/\t/g, "   "));
  return diff.split("\n").map(paint).join("\n");
};

/** The last lines of a text as they are shown. */
export function truncateToVisualLines(text: string, most: number, width: number, paddingX = 0) {
  const lines = text ? new Text(text, paddingX, 0).render(width) : [];
  const skippedCount = Math.max(0, lines.length - most);
  return { visualLines: lines.slice(skippedCount), skippedCount };
}

// Parts of screens

/** A line over the whole width. */
export class DynamicBorder {
  constructor(private readonly color: Paint = fg("border")) {}
  invalidate(): void {}
  render(width: number): string[] {
    return [this.color("─".repeat(Math.max(1, width)))];
  }
}

/** A loader between borders, which escape ends if it may. */
export class BorderedLoader extends Container {
  private readonly loader: any;
  private readonly controller = new AbortController();
  private readonly cancellable: boolean;

  constructor(tui: any, own: any, message: string, options: { cancellable?: boolean } = {}) {
    super();
    this.cancellable = options.cancellable ?? true;
    const paint = (color: string): Paint => (text) => own.fg(color, text);
    this.loader = new (this.cancellable ? CancellableLoader : Loader)(tui, paint("accent"), paint("muted"), message);
    const hint = [new Spacer(1), new Text(keyHint("tui.select.cancel", "cancel"), 1, 0)];
    const parts = [this.loader, ...(this.cancellable ? hint : []), new Spacer(1)];
    for (const part of [new DynamicBorder(paint("border")), ...parts, new DynamicBorder(paint("border"))]) {
      this.addChild(part);
    }
  }
  get signal(): AbortSignal {
    return this.cancellable ? this.loader.signal : this.controller.signal;
  }
  set onAbort(handler: (() => void) | undefined) {
    if (this.cancellable) this.loader.onAbort = handler;
  }
  handleInput(data: string): void {
    if (this.cancellable) this.loader.handleInput(data);
  }
  dispose(): void {
    this.loader.stop();
  }
}

/** The editor with pi's own keys, for extensions that put another one in its place. */
export class CustomEditor extends Editor {
  readonly actionHandlers = new Map<string, () => void>();
  onEscape?: () => void;
  onCtrlD?: () => void;
  onPasteImage?: () => void;
  onExtensionShortcut?: (data: string) => boolean;

  constructor(tui: any, editorTheme: any, protected readonly keybindings: any, options?: any) {
    super(tui, editorTheme, options);
  }
  onAction(action: string, handler: () => void): void {
    this.actionHandlers.set(action, handler);
  }

  handleInput(data: string): void {
    if (this.onExtensionShortcut?.(data) || this.action(data)) return;
    super.handleInput(data);
  }

  /** Whether one of pi's own keys was meant. */
  private action(data: string): boolean {
    const meant = (action: string): boolean => (this.keybindings ?? getKeybindings()).matches(data, action);
    if (meant("app.clipboard.pasteImage") && this.onPasteImage) return this.onPasteImage(), true;
    if (meant("app.interrupt")) {
      const free = !this.isShowingAutocomplete();
      const handler = free ? (this.onEscape ?? this.actionHandlers.get("app.interrupt")) : undefined;
      handler?.();
      return handler !== undefined;
    }
    if (meant("app.exit") && this.getText() === "") {
      (this.onCtrlD ?? this.actionHandlers.get("app.exit"))?.();
      return true;
    }
    const others = [...this.actionHandlers].filter(([action]) => action !== "app.interrupt" && action !== "app.exit");
    const found = others.find(([action]) => meant(action));
    found?.[1]();
    return found !== undefined;
  }
}
