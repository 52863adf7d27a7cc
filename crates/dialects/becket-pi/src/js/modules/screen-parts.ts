// The plain parts of screens: each gives its lines for a width, and some listen to keys. They draw nothing themselves,
// so they work the same with a terminal and without one.
import { getKeybindings } from "pi:screen-keys";
import {
  applyBackgroundToLine, fuzzyFilter, truncateToWidth, visibleWidth, wrapTextWithAnsi,
} from "pi:screen-text";
import { Input } from "pi:screen-editor";

type Paint = (text: string) => string;
interface Component {
  render(width: number): string[];
  handleInput?(data: string): void;
  invalidate?(): void;
}

const padded = (line: string, width: number): string => line + " ".repeat(Math.max(0, width - visibleWidth(line)));

/** Whether a component can have the keyboard. */
export const isFocusable = (component: any): boolean =>
  component !== null && typeof component === "object" && "focused" in component;

/** Components under each other. */
export class Container {
  children: Component[] = [];
  addChild(component: Component): void {
    this.children.push(component);
  }
  removeChild(component: Component): void {
    this.children = this.children.filter((child) => child !== component);
  }
  clear(): void {
    this.children = [];
  }
  invalidate(): void {
    for (const child of this.children) child.invalidate?.();
  }
  render(width: number): string[] {
    return this.children.flatMap((child) => child.render(width));
  }
}

/** Components under each other, with space around them and a background behind them. */
export class Box extends Container {
  constructor(private readonly paddingX = 1, private readonly paddingY = 1, private bgFn?: Paint) {
    super();
  }
  setBgFn(bgFn?: Paint): void {
    this.bgFn = bgFn;
  }
  render(width: number): string[] {
    const lines = super.render(Math.max(1, width - this.paddingX * 2)).map((line) => " ".repeat(this.paddingX) + line);
    if (lines.length === 0) return [];
    const around = Array<string>(this.paddingY).fill("");
    return [...around, ...lines, ...around].map((line) =>
      this.bgFn ? applyBackgroundToLine(line, width, this.bgFn) : padded(line, width),
    );
  }
}

/** Empty lines. */
export class Spacer {
  constructor(private lines = 1) {}
  setLines(lines: number): void {
    this.lines = lines;
  }
  invalidate(): void {}
  render(_width: number): string[] {
    return Array<string>(this.lines).fill("");
  }
}

/** A text in as many lines as it needs. */
export class Text {
  constructor(
    private text = "",
    private readonly paddingX = 1,
    private readonly paddingY = 1,
    private customBgFn?: Paint,
  ) {}
  setText(text: string): void {
    this.text = text;
  }
  setCustomBgFn(customBgFn?: Paint): void {
    this.customBgFn = customBgFn;
  }
  invalidate(): void {}
  render(width: number): string[] {
    if (!this.text || this.text.trim() === "") return [];
    const wrapped = wrapTextWithAnsi(this.text.replace(/\t/g, "   "), Math.max(1, width - this.paddingX * 2));
    const margin = " ".repeat(this.paddingX);
    const around = Array<string>(this.paddingY).fill("");
    return [...around, ...wrapped.map((line) => margin + line + margin), ...around].map((line) =>
      this.customBgFn ? applyBackgroundToLine(line, width, this.customBgFn) : padded(line, width),
    );
  }
}

/** The first line of a text, cut to the width. */
export class TruncatedText {
  constructor(private readonly text: string, private readonly paddingX = 0, private readonly paddingY = 0) {}
  invalidate(): void {}
  render(width: number): string[] {
    const [first] = this.text.split("\n");
    const margin = " ".repeat(this.paddingX);
    const line = margin + truncateToWidth(first, Math.max(1, width - this.paddingX * 2)) + margin;
    const around = Array<string>(this.paddingY).fill(" ".repeat(width));
    return [...around, padded(line, width), ...around];
  }
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** A message beside something that turns. */
export class Loader extends Text {
  private frames: string[] = FRAMES;
  private intervalMs = 80;
  private frame = 0;
  private verbatim = false;
  private timer: any;
  constructor(
    private readonly ui: any,
    private readonly spinnerColorFn: Paint,
    private readonly messageColorFn: Paint,
    private message = "Loading...",
    indicator?: { frames?: string[]; intervalMs?: number },
  ) {
    super("", 1, 0);
    this.setIndicator(indicator);
  }
  setIndicator(indicator?: { frames?: string[]; intervalMs?: number }): void {
    this.verbatim = indicator !== undefined;
    this.frames = indicator?.frames ?? FRAMES;
    this.intervalMs = indicator?.intervalMs || 80;
    this.frame = 0;
    this.start();
  }
  setMessage(message: string): void {
    this.message = message;
    this.show();
  }
  start(): void {
    this.stop();
    this.show();
    if (this.frames.length < 2) return;
    const turn = () => {
      this.frame = (this.frame + 1) % this.frames.length;
      this.show();
    };
    this.timer = setInterval(turn, this.intervalMs);
  }
  stop(): void {
    clearInterval(this.timer);
  }
  private show(): void {
    const frame = this.frames[this.frame] ?? "";
    const mark = frame === "" ? "" : `${this.verbatim ? frame : this.spinnerColorFn(frame)} `;
    this.setText(mark + this.messageColorFn(this.message));
    this.ui?.requestRender?.();
  }
  render(width: number): string[] {
    return ["", ...super.render(width)];
  }
}

/** A loader that escape ends. */
export class CancellableLoader extends Loader {
  private readonly controller = new AbortController();
  onAbort?: () => void;
  get signal(): AbortSignal {
    return this.controller.signal;
  }
  get aborted(): boolean {
    return this.signal.aborted;
  }
  handleInput(data: string): void {
    if (!getKeybindings().matches(data, "tui.select.cancel")) return;
    this.controller.abort();
    this.onAbort?.();
  }
  dispose(): void {
    this.stop();
  }
}

/** The part of a list that is shown around what is chosen. */
function shownRange(selected: number, length: number, most: number): { start: number; end: number } {
  const start = Math.max(0, Math.min(selected - Math.floor(most / 2), length - most));
  return { start, end: Math.min(start + most, length) };
}

/** Where up and down lead in a list without ends, or nowhere for other keys. */
function moved(data: string, selected: number, length: number): number | undefined {
  const keys = getKeybindings();
  if (length === 0) return undefined;
  if (keys.matches(data, "tui.select.up")) return (selected + length - 1) % length;
  return keys.matches(data, "tui.select.down") ? (selected + 1) % length : undefined;
}

const COLUMN = 32;
const GAP = 2;

/** One choice out of a list. */
export class SelectList {
  private filtered: any[];
  private selected = 0;
  onSelect?: (item: any) => void;
  onCancel?: () => void;
  onSelectionChange?: (item: any) => void;

  constructor(
    private readonly items: any[],
    private readonly maxVisible: number,
    private readonly theme: any,
    private readonly layout: any = {},
  ) {
    this.filtered = items;
  }
  setFilter(filter: string): void {
    this.filtered = this.items.filter((item) => item.value.toLowerCase().startsWith(filter.toLowerCase()));
    this.selected = 0;
  }
  setSelectedIndex(index: number): void {
    this.selected = Math.max(0, Math.min(index, this.filtered.length - 1));
  }
  getSelectedItem(): any {
    return this.filtered[this.selected] ?? null;
  }
  invalidate(): void {}

  render(width: number): string[] {
    if (this.filtered.length === 0) return [this.theme.noMatch("  No matching commands")];
    const { start, end } = shownRange(this.selected, this.filtered.length, this.maxVisible);
    const lines = this.filtered.slice(start, end).map((item, i) => this.line(item, start + i === this.selected, width));
    if (start === 0 && end === this.filtered.length) return lines;
    const place = `  (${this.selected + 1}/${this.filtered.length})`;
    return [...lines, this.theme.scrollInfo(truncateToWidth(place, width - 2, ""))];
  }

  private line(item: any, isSelected: boolean, width: number): string {
    const prefix = isSelected ? "→ " : "  ";
    const about = item.description?.replace(/[\r\n]+/g, " ").trim();
    if (about && width > 40) {
      const column = Math.max(1, Math.min(this.columnWidth(), width - prefix.length - 4));
      const value = this.shortened(item, isSelected, Math.max(1, column - GAP), column);
      const space = " ".repeat(Math.max(1, column - visibleWidth(value)));
      const left = width - prefix.length - visibleWidth(value) - space.length - 2;
      if (left > 10) {
        const text = truncateToWidth(about, left, "");
        if (isSelected) return this.theme.selectedText(prefix + value + space + text);
        return prefix + value + this.theme.description(space + text);
      }
    }
    const most = width - prefix.length - 2;
    const line = prefix + this.shortened(item, isSelected, most, most);
    return isSelected ? this.theme.selectedText(line) : line;
  }

  private columnWidth(): number {
    const { minPrimaryColumnWidth: low, maxPrimaryColumnWidth: high } = this.layout;
    const bounds = [low ?? high ?? COLUMN, high ?? low ?? COLUMN].map((bound) => Math.max(1, bound));
    const widest = Math.max(0, ...this.filtered.map((item) => visibleWidth(item.label || item.value) + GAP));
    return Math.max(Math.min(...bounds), Math.min(widest, Math.max(...bounds)));
  }

  private shortened(item: any, isSelected: boolean, maxWidth: number, columnWidth: number): string {
    const text = item.label || item.value;
    const own = this.layout.truncatePrimary?.({ text, maxWidth, columnWidth, item, isSelected });
    return truncateToWidth(own ?? text, maxWidth, "");
  }

  handleInput(data: string): void {
    const keys = getKeybindings();
    const next = moved(data, this.selected, this.filtered.length);
    const item = this.filtered[next ?? this.selected];
    if (next !== undefined) {
      this.selected = next;
      this.onSelectionChange?.(item);
    } else if (keys.matches(data, "tui.select.confirm")) {
      if (item) this.onSelect?.(item);
    } else if (keys.matches(data, "tui.select.cancel")) this.onCancel?.();
  }
}

/** Settings with their values, which enter changes. */
export class SettingsList {
  private filtered: any[];
  private selected = 0;
  private readonly search: Input | undefined;
  private submenu: { component: Component; index: number } | undefined;

  constructor(
    private readonly items: any[],
    private readonly maxVisible: number,
    private readonly theme: any,
    private readonly onChange: (id: string, value: string) => void,
    private readonly onCancel: () => void,
    options: { enableSearch?: boolean } = {},
  ) {
    this.filtered = items;
    this.search = options.enableSearch ? new Input() : undefined;
  }
  updateValue(id: string, value: string): void {
    const item = this.items.find((each) => each.id === id);
    if (item) item.currentValue = value;
  }
  invalidate(): void {
    this.submenu?.component.invalidate?.();
  }

  render(width: number): string[] {
    if (this.submenu) return this.submenu.component.render(width);
    const head = this.search ? [...this.search.render(width), ""] : [];
    const hint = `  ${this.search ? "Type to search · " : ""}Enter/Space to change · Esc to cancel`;
    const foot = ["", truncateToWidth(this.theme.hint(hint), width)];
    if (this.items.length === 0) {
      return [...head, this.theme.hint("  No settings available"), ...(this.search ? foot : [])];
    }
    if (this.filtered.length === 0) {
      return [...head, truncateToWidth(this.theme.hint("  No matching settings"), width), ...foot];
    }
    return [...head, ...this.rows(width), ...foot];
  }

  private rows(width: number): string[] {
    const { start, end } = shownRange(this.selected, this.filtered.length, this.maxVisible);
    const column = Math.min(30, Math.max(...this.items.map((item) => visibleWidth(item.label))));
    const lines = this.filtered.slice(start, end).map((item, index) => {
      const chosen = start + index === this.selected;
      const prefix = chosen ? this.theme.cursor : "  ";
      const label = this.theme.label(padded(item.label, column), chosen);
      const left = width - visibleWidth(prefix) - column - 4;
      const value = this.theme.value(truncateToWidth(item.currentValue, left, ""), chosen);
      return truncateToWidth(`${prefix}${label}  ${value}`, width);
    });
    if (start > 0 || end < this.filtered.length) {
      const place = `  (${this.selected + 1}/${this.filtered.length})`;
      lines.push(this.theme.hint(truncateToWidth(place, width - 2, "")));
    }
    const about = this.filtered[this.selected]?.description;
    if (!about) return lines;
    return [...lines, "", ...wrapTextWithAnsi(about, width - 4).map((line) => this.theme.description(`  ${line}`))];
  }

  handleInput(data: string): void {
    if (this.submenu) return this.submenu.component.handleInput?.(data);
    const keys = getKeybindings();
    const next = moved(data, this.selected, this.filtered.length);
    if (next !== undefined) this.selected = next;
    else if (keys.matches(data, "tui.select.confirm") || data === " ") this.change();
    else if (keys.matches(data, "tui.select.cancel")) this.onCancel();
    else if (this.search && data.replace(/ /g, "") !== "") {
      this.search.handleInput(data.replace(/ /g, ""));
      this.filtered = fuzzyFilter(this.items, this.search.getValue(), (item) => item.label);
      this.selected = 0;
    }
  }

  /** The next value of what is chosen, or its menu. */
  private change(): void {
    const item = this.filtered[this.selected];
    if (!item) return;
    const set = (value: string) => {
      item.currentValue = value;
      this.onChange(item.id, value);
    };
    if (item.submenu) {
      const index = this.selected;
      const done = (value?: string) => {
        if (value !== undefined) set(value);
        this.submenu = undefined;
        this.selected = index;
      };
      this.submenu = { component: item.submenu(item.currentValue, done), index };
    } else if (item.values?.length > 0) {
      set(item.values[(item.values.indexOf(item.currentValue) + 1) % item.values.length]);
    }
  }
}

// What a terminal can do. Without one, nothing beyond colours is promised.

const PLAIN = { images: null, trueColor: true, hyperlinks: false };
let capabilities: any = PLAIN;
export const detectCapabilities = (): any => ({ ...PLAIN });
export const getCapabilities = (): any => capabilities;
export const setCapabilities = (given: any): void => void (capabilities = given);
export const setCapabilityOverrides = (given: any): void => void (capabilities = { ...capabilities, ...given });
export const resetCapabilitiesCache = (): void => void (capabilities = PLAIN);

let cell = { widthPx: 9, heightPx: 18 };
export const getCellDimensions = (): any => cell;
export const setCellDimensions = (given: any): void => void (cell = given);

/** What stands in the place of a picture. */
export function imageFallback(mimeType: string, dimensions?: any, filename?: string): string {
  const size = dimensions && `${dimensions.widthPx}x${dimensions.heightPx}`;
  return `[Image: ${[filename, `[${mimeType}]`, size].filter(Boolean).join(" ")}]`;
}

/** A picture. becket's screen shows text, so it is the line that pi shows where a terminal cannot draw pictures. */
export class Image {
  constructor(
    _data: string, private readonly mimeType: string, private readonly theme?: { fallbackColor?: Paint },
    private readonly options: { filename?: string } = {}, private readonly dimensions?: any,
  ) {}
  getImageId(): number | undefined {
    return undefined;
  }
  invalidate(): void {}
  render(_width: number): string[] {
    const words = imageFallback(this.mimeType, this.dimensions, this.options.filename);
    return [this.theme?.fallbackColor?.(words) ?? words];
  }
}
