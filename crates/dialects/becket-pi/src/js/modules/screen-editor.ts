// Where text is written: a line (`Input`) and a field of several (`Editor`), over one buffer that knows cursor, words,
// undo and what was cut last. Completion belongs to a screen with somebody before it and is not here.
import { decodeKittyPrintable, getKeybindings } from "pi:screen-keys";
import { graphemes, sliceByColumn, truncateToWidth, visibleWidth } from "pi:screen-text";

const CURSOR_MARKER = "\x1b_pi:c\x07";
const PASTE_START = "\x1b[200~";
const PASTE_END = "\x1b[201~";
const MAX_UNDO = 200;

const isSpace = (text: string): boolean => /^\s$/.test(text);
const isPunctuation = (text: string): boolean => /^[(){}[\]<>.,;:'"!?+\-=*/\\|&%^$#@~`]$/.test(text);

/** A text with a cursor, an index in it. */
class Draft {
  text = "";
  cursor = 0;
  private undone: { text: string; cursor: number }[] = [];
  private cuts: string[] = [];
  private yanked: { at: number; length: number } | undefined;

  set(text: string, cursor = text.length): void {
    this.text = text;
    this.cursor = Math.max(0, Math.min(cursor, text.length));
    this.yanked = undefined;
  }

  /** Remembers how it was, for `undo`. */
  remember(): void {
    this.undone.push({ text: this.text, cursor: this.cursor });
    if (this.undone.length > MAX_UNDO) this.undone.shift();
  }
  undo(): void {
    const before = this.undone.pop();
    if (before) this.set(before.text, before.cursor);
  }

  insert(text: string): void {
    this.remember();
    this.set(this.text.slice(0, this.cursor) + text + this.text.slice(this.cursor), this.cursor + text.length);
  }

  /** Takes away what is between the cursor and another place. */
  remove(to: number, keep: boolean): void {
    const [from, end] = [Math.min(this.cursor, to), Math.max(this.cursor, to)];
    if (from === end) return;
    this.remember();
    if (keep) this.cuts.push(this.text.slice(from, end));
    this.set(this.text.slice(0, from) + this.text.slice(end), from);
  }

  yank(): void {
    const text = this.cuts.at(-1);
    if (text === undefined) return;
    const at = this.cursor;
    this.insert(text);
    this.yanked = { at, length: text.length };
  }
  /** Puts what was cut before in the place of what was just put back. */
  yankPop(): void {
    if (!this.yanked || this.cuts.length < 2) return;
    this.cuts.unshift(this.cuts.pop() as string);
    const { at, length } = this.yanked;
    this.set(this.text.slice(0, at) + this.text.slice(at + length), at);
    this.yank();
  }

  left(): number {
    return this.cursor - (graphemes(this.text.slice(0, this.cursor)).at(-1)?.length ?? 0);
  }
  right(): number {
    return this.cursor + (graphemes(this.text.slice(this.cursor))[0]?.length ?? 0);
  }

  /** The end of spaces and then of a word or of signs, forwards or backwards. */
  word(direction: 1 | -1): number {
    const side = direction === 1 ? this.text.slice(this.cursor) : this.text.slice(0, this.cursor);
    const chars = direction === 1 ? graphemes(side) : graphemes(side).reverse();
    let count = 0;
    while (count < chars.length && isSpace(chars[count])) count++;
    const signs = count < chars.length && isPunctuation(chars[count]);
    while (count < chars.length && !isSpace(chars[count]) && isPunctuation(chars[count]) === signs) count++;
    return this.cursor + direction * chars.slice(0, count).join("").length;
  }

  lineStart(): number {
    return this.text.lastIndexOf("\n", this.cursor - 1) + 1;
  }
  lineEnd(): number {
    const end = this.text.indexOf("\n", this.cursor);
    return end === -1 ? this.text.length : end;
  }
}

/** Text that came from the keyboard, or nothing if it was a key without one. */
function typed(data: string): string | undefined {
  const printable = decodeKittyPrintable(data);
  if (printable !== undefined) return printable;
  return /[\x00-\x1f\x7f-\x9f]/.test(data) ? undefined : data;
}

/** What `Input` and `Editor` do with the same keys. */
abstract class Field {
  focused = false;
  protected readonly buffer = new Draft();
  private pasted: string | undefined;

  invalidate(): void {}
  protected abstract changed(): void;
  protected abstract cleaned(pasted: string): string;
  protected abstract key(data: string): boolean;

  handleInput(data: string): void {
    if (this.pasted === undefined && data.includes(PASTE_START)) {
      this.pasted = "";
      data = data.replace(PASTE_START, "");
    }
    if (this.pasted !== undefined) return this.paste(data);
    if (this.key(data) || this.common(data)) return;
    const text = typed(data);
    if (text === undefined) return;
    this.buffer.insert(text);
    this.changed();
  }

  private paste(data: string): void {
    const [pasted, ...rest] = `${this.pasted}${data}`.split(PASTE_END);
    this.pasted = rest.length > 0 ? undefined : pasted;
    if (rest.length === 0) return;
    this.buffer.insert(this.cleaned(pasted));
    this.changed();
    if (rest.join(PASTE_END) !== "") this.handleInput(rest.join(PASTE_END));
  }

  /** Moves and cuts. */
  private common(data: string): boolean {
    const buffer = this.buffer;
    const does = (name: string) => getKeybindings().matches(data, `tui.editor.${name}`);
    const before = buffer.text;
    if (does("undo")) buffer.undo();
    else if (does("yank")) buffer.yank();
    else if (does("yankPop")) buffer.yankPop();
    else if (does("deleteCharBackward")) buffer.remove(buffer.left(), false);
    else if (does("deleteCharForward")) buffer.remove(buffer.right(), false);
    else if (does("deleteWordBackward")) buffer.remove(buffer.word(-1), true);
    else if (does("deleteWordForward")) buffer.remove(buffer.word(1), true);
    else if (does("deleteToLineStart")) buffer.remove(buffer.lineStart(), true);
    else if (does("deleteToLineEnd")) buffer.remove(buffer.lineEnd(), true);
    else if (does("cursorLeft")) buffer.set(buffer.text, buffer.left());
    else if (does("cursorRight")) buffer.set(buffer.text, buffer.right());
    else if (does("cursorWordLeft")) buffer.set(buffer.text, buffer.word(-1));
    else if (does("cursorWordRight")) buffer.set(buffer.text, buffer.word(1));
    else if (does("cursorLineStart")) buffer.set(buffer.text, buffer.lineStart());
    else if (does("cursorLineEnd")) buffer.set(buffer.text, buffer.lineEnd());
    else return false;
    if (buffer.text !== before) this.changed();
    return true;
  }
}

/** One line. */
export class Input extends Field {
  onSubmit?: (value: string) => void;
  onEscape?: () => void;

  getValue(): string {
    return this.buffer.text;
  }
  setValue(value: string): void {
    this.buffer.set(value, Math.min(this.buffer.cursor, value.length));
  }
  protected changed(): void {}
  protected cleaned(pasted: string): string {
    return pasted.replace(/[\r\n]/g, "").replace(/\t/g, "    ");
  }
  protected key(data: string): boolean {
    const keys = getKeybindings();
    if (keys.matches(data, "tui.select.cancel")) this.onEscape?.();
    else if (keys.matches(data, "tui.input.submit") || data === "\n") this.onSubmit?.(this.buffer.text);
    else return false;
    return true;
  }

  /** The columns of the text around the cursor that fit, and where the cursor is in them. */
  private window(width: number): { text: string; cursor: number } {
    const { text, cursor } = this.buffer;
    const total = visibleWidth(text);
    if (total < width) return { text, cursor };
    const room = cursor === text.length ? width - 1 : width;
    if (room <= 0) return { text: "", cursor: 0 };
    const column = visibleWidth(text.slice(0, cursor));
    const half = Math.floor(room / 2);
    const end = Math.max(0, total - room);
    const start = column < half ? 0 : column > total - half ? end : Math.max(0, column - half);
    const before = sliceByColumn(text, start, Math.max(0, column - start), true);
    return { text: sliceByColumn(text, start, room, true), cursor: before.length };
  }

  render(width: number): string[] {
    const prompt = "> ";
    const room = width - prompt.length;
    if (room <= 0) return [prompt];
    const { text, cursor } = this.window(room);
    const under = graphemes(text.slice(cursor))[0] ?? " ";
    const marker = this.focused ? CURSOR_MARKER : "";
    const line = `${text.slice(0, cursor)}${marker}\x1b[7m${under}\x1b[27m${text.slice(cursor + under.length)}`;
    return [prompt + line + " ".repeat(Math.max(0, room - visibleWidth(line)))];
  }
}

/** A line as it is shown: a part of the text, with its place. */
interface Row {
  text: string;
  start: number;
  last: boolean;
}

/** One line of the text in rows of at most a width, broken behind spaces where that is possible. */
function rowsOf(line: string, start: number, width: number): Row[] {
  const rows: Row[] = [];
  let [from, at, used, space] = [0, 0, 0, -1];
  for (const char of graphemes(line)) {
    const size = visibleWidth(char);
    if (used + size > width) {
      const end = space > from ? space : at;
      rows.push({ text: line.slice(from, end), start: start + from, last: false });
      used = visibleWidth(line.slice(end, at));
      from = end;
    }
    at += char.length;
    used += size;
    if (isSpace(char)) space = at;
  }
  return [...rows, { text: line.slice(from), start: start + from, last: true }];
}

/** Several lines, with a border above and below. */
export class Editor extends Field {
  borderColor: (text: string) => string;
  onSubmit?: (text: string) => void;
  onChange?: (text: string) => void;
  disableSubmit = false;
  private paddingX: number;
  private completions: number;
  private width = 80;
  private scroll = 0;
  private history: string[] = [];
  private browsing = -1;
  private draft = "";

  constructor(protected readonly tui: any, protected readonly theme: any, options: any = {}) {
    super();
    this.borderColor = theme?.borderColor ?? ((text: string) => text);
    this.paddingX = Math.max(0, Math.floor(options.paddingX ?? 0));
    this.completions = options.autocompleteMaxVisible ?? 5;
  }

  getPaddingX(): number {
    return this.paddingX;
  }
  setPaddingX(padding: number): void {
    this.paddingX = Math.max(0, Math.floor(padding));
  }
  getAutocompleteMaxVisible(): number {
    return this.completions;
  }
  setAutocompleteMaxVisible(count: number): void {
    this.completions = Math.max(3, Math.min(20, Math.floor(count)));
  }
  /** Completion needs a screen: a provider is taken and never asked here. */
  setAutocompleteProvider(_provider: unknown): void {}
  isShowingAutocomplete(): boolean {
    return false;
  }

  getText(): string {
    return this.buffer.text;
  }
  getExpandedText(): string {
    return this.buffer.text;
  }
  getLines(): string[] {
    return this.buffer.text.split("\n");
  }
  getCursor(): { line: number; col: number } {
    const before = this.buffer.text.slice(0, this.buffer.cursor).split("\n");
    return { line: before.length - 1, col: before[before.length - 1].length };
  }
  setText(text: string): void {
    this.buffer.remember();
    this.buffer.set(this.cleaned(text));
    this.browsing = -1;
    this.changed();
  }
  insertTextAtCursor(text: string): void {
    if (text === "") return;
    this.buffer.insert(this.cleaned(text));
    this.changed();
  }
  addToHistory(text: string): void {
    const entry = text.trim();
    if (entry === "" || this.history[0] === entry) return;
    this.history = [entry, ...this.history].slice(0, 100);
  }

  protected changed(): void {
    this.onChange?.(this.buffer.text);
  }
  protected cleaned(pasted: string): string {
    return pasted.replace(/\r\n?/g, "\n").replace(/\t/g, "    ");
  }

  protected key(data: string): boolean {
    const keys = getKeybindings();
    if (keys.matches(data, "tui.input.newLine") || (data === "\n" && !keys.matches(data, "tui.input.submit"))) {
      this.insertTextAtCursor("\n");
    } else if (keys.matches(data, "tui.input.submit")) this.submit();
    else if (keys.matches(data, "tui.editor.cursorUp")) this.vertical(-1);
    else if (keys.matches(data, "tui.editor.cursorDown")) this.vertical(1);
    else if (keys.matches(data, "tui.editor.pageUp")) this.vertical(-this.visibleRows(), false);
    else if (keys.matches(data, "tui.editor.pageDown")) this.vertical(this.visibleRows(), false);
    else return false;
    return true;
  }

  /** Enter sends the text, but behind a backslash it is a new line. */
  private submit(): void {
    const { text, cursor } = this.buffer;
    if (this.disableSubmit) return;
    if (text[cursor - 1] === "\\") {
      this.buffer.remove(cursor - 1, false);
      return this.insertTextAtCursor("\n");
    }
    this.buffer.set("");
    this.browsing = -1;
    this.changed();
    this.onSubmit?.(text.trim());
  }

  private rows(): Row[] {
    let start = 0;
    return this.getLines().flatMap((line) => {
      const rows = rowsOf(line, start, this.width);
      start += line.length + 1;
      return rows;
    });
  }
  private rowOfCursor(rows: Row[]): number {
    const { cursor } = this.buffer;
    return rows.findIndex(({ text, start, last }) =>
      cursor >= start && (cursor < start + text.length || (last && cursor === start + text.length)));
  }

  /** Up and down over rows; above the first and below the last are the texts that were sent before. */
  private vertical(by: number, history = true): void {
    const rows = this.rows();
    const at = this.rowOfCursor(rows);
    const to = at + by;
    if (history && (to < 0 || to >= rows.length) && this.browse(-Math.sign(by))) return;
    const target = rows[Math.max(0, Math.min(to, rows.length - 1))];
    if (to < 0) return this.buffer.set(this.buffer.text, 0);
    if (to >= rows.length) return this.buffer.set(this.buffer.text, this.buffer.text.length);
    const column = visibleWidth(this.buffer.text.slice(rows[at].start, this.buffer.cursor));
    const most = target.last ? target.text.length : Math.max(0, target.text.length - 1);
    this.buffer.set(this.buffer.text, target.start + Math.min(sliceByColumn(target.text, 0, column).length, most));
  }

  private browse(by: number): boolean {
    const next = this.browsing + by;
    const empty = this.buffer.text === "" || this.browsing >= 0;
    if (!empty || next < -1 || next >= this.history.length || (this.browsing === -1 && by < 0)) return false;
    if (this.browsing === -1) this.draft = this.buffer.text;
    this.browsing = next;
    this.buffer.set(next === -1 ? this.draft : this.history[next]);
    this.changed();
    return true;
  }

  private visibleRows(): number {
    return Math.max(5, Math.floor((this.tui?.terminal?.rows ?? 24) * 0.3));
  }

  private border(width: number, arrow: string, more: number): string {
    if (more <= 0) return this.borderColor("─".repeat(width));
    const text = `─── ${arrow} ${more} more `;
    return this.borderColor(truncateToWidth(text + "─".repeat(Math.max(0, width - visibleWidth(text))), width));
  }

  render(width: number): string[] {
    const padding = Math.min(this.paddingX, Math.max(0, Math.floor((width - 1) / 2)));
    const room = Math.max(1, width - padding * 2);
    // Without space at the side, the cursor behind the last character needs a column of its own.
    this.width = Math.max(1, padding > 0 ? room : room - 1);
    const rows = this.rows();
    const at = Math.max(0, this.rowOfCursor(rows));
    const most = this.visibleRows();
    this.scroll = Math.max(0, Math.min(Math.max(this.scroll, at - most + 1), at, Math.max(0, rows.length - most)));
    const shown = rows.slice(this.scroll, this.scroll + most);
    const margin = " ".repeat(padding);
    const lines = shown.map((row, index) => {
      const line = this.scroll + index === at ? this.withCursor(row) : row.text;
      const space = room - visibleWidth(line);
      return margin + line + " ".repeat(Math.max(0, space)) + (space < 0 ? margin.slice(1) : margin);
    });
    const below = rows.length - this.scroll - shown.length;
    return [this.border(width, "↑", this.scroll), ...lines, this.border(width, "↓", below)];
  }

  private withCursor({ text, start }: Row): string {
    const at = this.buffer.cursor - start;
    const under = graphemes(text.slice(at))[0] ?? " ";
    const marker = this.focused ? CURSOR_MARKER : "";
    return `${text.slice(0, at)}${marker}\x1b[7m${under}\x1b[0m${text.slice(at + under.length)}`;
  }
}
