// Markdown as lines of text: headings, paragraphs, lists, code, quotes, tables and rules, painted by a theme.
import { applyBackgroundToLine, visibleWidth, wrapTextWithAnsi } from "pi:screen-text";

type Paint = (text: string) => string;

/** A piece of a document. Blocks that are separated by an empty line are shown with one between them. */
type Block =
  | { type: "heading"; level: number; text: string }
  | { type: "paragraph" | "html"; text: string }
  | { type: "code"; language: string; lines: string[] }
  | { type: "quote"; blocks: Block[] }
  | { type: "list"; start: number | undefined; items: Block[][] }
  | { type: "table"; rows: string[][] }
  | { type: "rule" }
  | { type: "space" };

const FENCE = /^ {0,3}(```+|~~~+)\s*([^`]*)$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?: +(.*)|$)/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const CELLS = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

const cells = (line: string): string[] =>
  line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));

/** Reads lines into blocks. */
class Reader {
  private at = 0;
  constructor(private readonly lines: string[]) {}

  blocks(): Block[] {
    const blocks: Block[] = [];
    while (this.at < this.lines.length) blocks.push(this.block());
    while (blocks.at(-1)?.type === "space") blocks.pop();
    return blocks;
  }

  private block(): Block {
    const line = this.lines[this.at];
    const heading = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/.exec(line);
    if (line.trim() === "") return this.space();
    if (FENCE.test(line)) return this.code();
    if (RULE.test(line)) return this.one({ type: "rule" });
    if (heading) return this.one({ type: "heading", level: heading[1].length, text: heading[2] ?? "" });
    if (/^ {0,3}>/.test(line)) return this.quote();
    if (ITEM.test(line)) return this.list();
    if (line.includes("|") && CELLS.test(this.lines[this.at + 1] ?? "") && this.lines[this.at + 1].includes("-")) {
      return this.table();
    }
    return this.paragraph();
  }

  private one(block: Block): Block {
    this.at++;
    return block;
  }

  private space(): Block {
    while (this.at < this.lines.length && this.lines[this.at].trim() === "") this.at++;
    return { type: "space" };
  }

  private code(): Block {
    const [, fence, language] = FENCE.exec(this.lines[this.at++]) as RegExpExecArray;
    const lines: string[] = [];
    const close = new RegExp(`^ {0,3}${fence[0]}{${fence.length},}\\s*$`);
    while (this.at < this.lines.length && !close.test(this.lines[this.at])) lines.push(this.lines[this.at++]);
    this.at++;
    return { type: "code", language: language.trim(), lines };
  }

  private quote(): Block {
    const inner: string[] = [];
    while (/^ {0,3}>/.test(this.lines[this.at] ?? "")) inner.push(this.lines[this.at++].replace(/^ {0,3}> ?/, ""));
    return { type: "quote", blocks: new Reader(inner).blocks() };
  }

  private table(): Block {
    const rows = [cells(this.lines[this.at])];
    for (this.at += 2; this.lines[this.at]?.includes("|"); this.at++) rows.push(cells(this.lines[this.at]));
    return { type: "table", rows };
  }

  private paragraph(): Block {
    const start = this.at;
    const begins = (line: string) => [FENCE, RULE, ITEM, /^ {0,3}(#{1,6}\s|>)/].some((start) => start.test(line));
    do this.at++;
    while (this.at < this.lines.length && this.lines[this.at].trim() !== "" && !begins(this.lines[this.at]));
    const text = this.lines.slice(start, this.at).map((line) => line.trim()).join("\n");
    return { type: /^<\/?[a-zA-Z!]/.test(text) ? "html" : "paragraph", text };
  }

  /** Items of one kind; what is indented below one belongs to it. */
  private list(): Block {
    const [, indent, mark] = ITEM.exec(this.lines[this.at]) as RegExpExecArray;
    const ordered = /\d/.test(mark);
    const items: Block[][] = [];
    for (let item = ITEM.exec(this.lines[this.at]); item; item = ITEM.exec(this.lines[this.at] ?? "")) {
      if (item[1].length !== indent.length || /\d/.test(item[2]) !== ordered) break;
      const depth = item[1].length + item[2].length + 1;
      const inner = [item[3] ?? ""];
      for (this.at++; this.at < this.lines.length; this.at++) {
        const line = this.lines[this.at];
        const deep = line.search(/\S/);
        const open = inner[inner.length - 1].trim() !== "";
        const next = this.lines.slice(this.at).find((each) => each.trim() !== "") ?? "";
        if (deep === -1 && next.search(/\S/) < depth) break;
        if (deep !== -1 && deep < depth && (!open || ITEM.test(line) || deep < indent.length)) break;
        inner.push(deep === -1 ? "" : line.slice(Math.min(depth, deep)));
      }
      items.push(new Reader(inner).blocks());
      // An empty line between items does not end the list.
      const next = this.lines.findIndex((line, index) => index >= this.at && line.trim() !== "");
      const more = ITEM.exec(this.lines[next] ?? "");
      if (more && more[1].length === indent.length && /\d/.test(more[2]) === ordered) this.at = next;
    }
    return { type: "list", start: ordered ? parseInt(mark, 10) : undefined, items };
  }
}

/** What stands inside of a line, one alternative after the other: code, links, addresses, emphasis. */
const INLINE = new RegExp(
  [
    "(?<code>(`+)(?<codeText>[\\s\\S]+?)\\2(?!`))",
    "(?<link>!?\\[(?<linkText>(?:[^\\[\\]\\\\]|\\\\.|\\[[^\\]]*\\])*)\\]" +
      "\\((?<url>[^\\s()]*(?:\\([^)]*\\)[^\\s()]*)*)[^)]*\\))",
    "<(?<auto>https?:[^\\s>]+)>",
    "\\*\\*(?<bold>(?=\\S)[\\s\\S]*?\\S)\\*\\*(?!\\*)",
    "(?<!\\w)__(?<bold2>(?=\\S)[\\s\\S]*?\\S)__(?!\\w)",
    "~~(?<strike>(?=\\S)[\\s\\S]*?\\S)~~",
    "\\*(?<italic>(?=[^\\s*])(?:[^*]|\\*\\*[^*]*\\*\\*)*?[^\\s*])\\*(?!\\*)",
    "(?<!\\w)_(?<italic2>(?=[^\\s_])[^_]*?[^\\s_])_(?!\\w)",
    "\\\\(?<escaped>[!-/:-@[-`{-~])",
  ].join("|"),
  "g",
);

/** A text in the given lines, with space around it and a background behind it. */
export class Markdown {
  constructor(
    private text: string,
    private readonly paddingX: number,
    private readonly paddingY: number,
    private readonly theme: any,
    private readonly defaultTextStyle?: any,
  ) {}
  setText(text: string): void {
    this.text = text;
  }
  invalidate(): void {}

  render(width: number): string[] {
    if (!this.text || this.text.trim() === "") return [];
    const room = Math.max(1, width - this.paddingX * 2);
    const blocks = new Reader(this.text.replace(/\r\n?/g, "\n").replace(/\t/g, "   ").split("\n")).blocks();
    const lines = this.lines(blocks, room, (text) => this.base(text)).flatMap((line) => wrapTextWithAnsi(line, room));
    const margin = " ".repeat(this.paddingX);
    const around = Array<string>(this.paddingY).fill("");
    const background: Paint = this.defaultTextStyle?.bgColor ?? ((text) => text);
    return [...around, ...lines.map((line) => margin + line + margin), ...around].map((line) =>
      applyBackgroundToLine(line, width, background),
    );
  }

  /** The style that text has where Markdown does not say otherwise. */
  private base(text: string): string {
    const style = this.defaultTextStyle;
    if (!style) return text;
    let painted: string = style.color ? style.color(text) : text;
    for (const name of ["bold", "italic", "strikethrough", "underline"]) {
      if (style[name]) painted = this.theme[name](painted);
    }
    return painted;
  }

  private lines(blocks: Block[], width: number, paint: Paint): string[] {
    return blocks.flatMap((block, index) => {
      const next = blocks[index + 1]?.type;
      const lines = this.block(block, width, paint);
      const joins = !next || next === "space" || block.type === "list" || block.type === "space";
      return joins || (block.type === "paragraph" && next === "list") ? lines : [...lines, ""];
    });
  }

  private block(block: Block, width: number, paint: Paint): string[] {
    switch (block.type) {
      case "heading": return [this.heading(block.level, block.text)];
      case "paragraph": return [this.inline(block.text, paint)];
      case "html": return [paint(block.text)];
      case "code": return this.code(block.language, block.lines);
      case "quote": return this.quote(block.blocks, width);
      case "list": return this.list(block.start, block.items, width, paint);
      case "table": return this.table(block.rows, width, paint);
      case "rule": return [this.theme.hr("─".repeat(Math.min(width, 80)))];
      case "space": return [""];
    }
  }

  private heading(level: number, text: string): string {
    const { heading, bold, underline } = this.theme;
    const paint: Paint = (part) => heading(bold(level === 1 ? underline(part) : part));
    return (level >= 3 ? paint(`${"#".repeat(level)} `) : "") + this.inline(text, paint);
  }

  private code(language: string, lines: string[]): string[] {
    const indent = this.theme.codeBlockIndent ?? "  ";
    const painted = this.theme.highlightCode?.(lines.join("\n"), language || undefined);
    const body: string[] = painted ?? lines.map((line) => this.theme.codeBlock(line));
    const border = this.theme.codeBlockBorder;
    return [border(`\`\`\`${language}`), ...body.map((line) => indent + line), border("```")];
  }

  private quote(blocks: Block[], width: number): string[] {
    const paint: Paint = (text) => this.theme.quote(this.theme.italic(text));
    return this.lines(blocks, Math.max(1, width - 2), (text) => text)
      .flatMap((line) => wrapTextWithAnsi(paint(line), Math.max(1, width - 2)))
      .map((line) => this.theme.quoteBorder("│ ") + line);
  }

  private list(start: number | undefined, items: Block[][], width: number, paint: Paint): string[] {
    return items.flatMap((item, index) => {
      const mark = this.theme.listBullet(start === undefined ? "- " : `${start + index}. `);
      const blocks = item.filter((block) => block.type !== "space");
      const lines = blocks.flatMap((block) => this.block(block, Math.max(1, width - 2), paint));
      return lines.length === 0 ? [mark] : lines.map((line, at) => (at === 0 ? mark + line : `  ${line}`));
    });
  }

  private table(rows: string[][], width: number, paint: Paint): string[] {
    const count = Math.max(...rows.map((row) => row.length));
    const painted = rows.map((row) => Array.from({ length: count }, (_, i) => this.inline(row[i] ?? "", paint)));
    const widths = Array.from({ length: count }, (_, i) => Math.max(1, ...painted.map((row) => visibleWidth(row[i]))));
    // Columns give up space in turn, the widest first, until the table fits.
    const room = Math.max(count, width - 3 * count - 1);
    while (widths.reduce((sum, each) => sum + each, 0) > room && Math.max(...widths) > 1) {
      widths[widths.indexOf(Math.max(...widths))]--;
    }
    const rule = (left: string, middle: string, right: string) =>
      left + widths.map((each) => "─".repeat(each + 2)).join(middle) + right;
    const row = (line: string[]) => {
      const wrapped = line.map((cell, i) => wrapTextWithAnsi(cell, widths[i]));
      return Array.from({ length: Math.max(...wrapped.map((cell) => cell.length)) }, (_, at) => {
        const parts = wrapped.map((cell, i) => (cell[at] ?? "") + " ".repeat(widths[i] - visibleWidth(cell[at] ?? "")));
        return `│ ${parts.join(" │ ")} │`;
      });
    };
    const [head, ...body] = painted;
    const between = rule("├", "┼", "┤");
    const lines = body.flatMap((line, index) => (index > 0 ? [between, ...row(line)] : row(line)));
    const top = row(head.map((cell) => this.theme.bold(cell)));
    return [rule("┌", "┬", "┐"), ...top, between, ...lines, rule("└", "┴", "┘")];
  }

  /** A text with what stands inside of its lines. */
  private inline(text: string, paint: Paint): string {
    const { theme } = this;
    let [shown, at] = ["", 0];
    const plain = (part: string) => (part === "" ? "" : part.split("\n").map(paint).join("\n"));
    for (const match of text.matchAll(INLINE)) {
      const part = match.groups as Record<string, string | undefined>;
      shown += plain(text.slice(at, match.index));
      at = match.index + match[0].length;
      const bold = part.bold ?? part.bold2;
      const italic = part.italic ?? part.italic2;
      if (part.codeText !== undefined) shown += theme.code(part.codeText.replace(/^ (.*\S.*) $/, "$1"));
      else if (part.link !== undefined) shown += this.link(part.linkText ?? "", part.url ?? "", paint);
      else if (part.auto !== undefined) shown += this.link(part.auto, part.auto, paint);
      else if (bold !== undefined) shown += theme.bold(this.inline(bold, paint));
      else if (italic !== undefined) shown += theme.italic(this.inline(italic, paint));
      else if (part.strike !== undefined) shown += theme.strikethrough(this.inline(part.strike, paint));
      else shown += paint(part.escaped ?? "");
    }
    return shown + plain(text.slice(at));
  }

  /** A link's text, and its address if that says more. */
  private link(text: string, url: string, paint: Paint): string {
    const shown = this.theme.link(this.theme.underline(this.inline(text, (part) => part)));
    return text === url || `mailto:${text}` === url ? shown : shown + this.theme.linkUrl(` (${url})`);
  }
}
