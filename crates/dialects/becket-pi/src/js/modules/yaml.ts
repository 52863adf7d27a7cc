// As much of YAML as the heads of Markdown files hold: mappings, lists, texts in all spellings, numbers, truths, flow
// forms and comments. Anchors, tags and several documents are not read.

/** A line that says something, by how far it is indented. */
interface Line {
  indent: number;
  text: string;
  at: number;
}

const NUMBER = /^[-+]?(0x[0-9a-fA-F]+|0o[0-7]+|(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)$/;

/** A text without quotes: null, a truth, a number, or itself. */
function plain(text: string): unknown {
  if (text === "" || text === "~" || /^null$/i.test(text)) return null;
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return NUMBER.test(text) ? Number(text) : text;
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", "0": "\0", e: "\x1b", " ": " ", "/": "/" };

const doubleQuoted = (body: string) =>
  body.replace(/\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)/g, (_, code: string) =>
    code.length > 1 ? String.fromCharCode(parseInt(code.slice(1), 16)) : (ESCAPES[code] ?? code),
  );

/** The text up to a comment that stands outside of quotes. */
function withoutComment(text: string): string {
  const match = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^#"']|(?<!\s)#|["'])*/.exec(text)?.[0] ?? text;
  return (text[match.length] === "#" ? match : text).trimEnd();
}

/** Reads what is written in one line: quoted, in brackets or plain. */
class Flow {
  private at = 0;
  constructor(private readonly text: string) {}

  whole(): unknown {
    const value = this.value(/$/);
    this.space();
    if (this.at < this.text.length) throw new Error(`cannot read \`${this.text}\` as YAML`);
    return value;
  }

  private space(): void {
    while (/\s/.test(this.text[this.at] ?? "")) this.at++;
  }

  private value(end: RegExp): unknown {
    this.space();
    const char = this.text[this.at];
    if (char === "[") return this.list();
    if (char === "{") return this.mapping();
    if (char === '"' || char === "'") return this.quoted(char);
    const start = this.at;
    while (this.at < this.text.length && !end.test(this.text.slice(this.at))) this.at++;
    return plain(this.text.slice(start, this.at).trim());
  }

  private quoted(quote: string): string {
    const pattern = quote === '"' ? /"((?:[^"\\]|\\[\s\S])*)"/y : /'((?:[^']|'')*)'/y;
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (!match) throw new Error(`a quote is not closed in \`${this.text}\``);
    this.at = pattern.lastIndex;
    return quote === '"' ? doubleQuoted(match[1]) : match[1].replace(/''/g, "'");
  }

  private close(bracket: string): boolean {
    this.space();
    if (this.text[this.at] === ",") this.at++;
    this.space();
    if (this.at >= this.text.length) throw new Error(`a bracket is not closed in \`${this.text}\``);
    if (this.text[this.at] !== bracket) return false;
    this.at++;
    return true;
  }

  private list(): unknown[] {
    const list: unknown[] = [];
    for (this.at++; !this.close("]"); ) list.push(this.value(/^[,\]]/));
    return list;
  }

  private mapping(): Record<string, unknown> {
    const mapping: Record<string, unknown> = {};
    for (this.at++; !this.close("}"); ) {
      const key = String(this.value(/^(:\s|[,}]|:$)/));
      this.space();
      const given = this.text[this.at] === ":";
      if (given) this.at++;
      mapping[key] = given ? this.value(/^[,}]/) : null;
    }
    return mapping;
  }
}

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\-?:,[\]{}#&*!|>'"%@`][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+|$)/;

/** Reads what is written in blocks, line by line. */
class Block {
  private readonly raw: string[];
  private readonly lines: Line[];
  private next = 0;

  constructor(text: string) {
    this.raw = text.split("\n");
    this.lines = this.raw
      .map((line, at) => ({ indent: line.search(/\S|$/), text: line.trim(), at }))
      .filter(({ text }) => text !== "" && !text.startsWith("#") && text !== "---");
  }

  document(): unknown {
    if (this.lines.length === 0) return null;
    const value = this.node(this.lines[0].indent);
    const left = this.lines[this.next];
    if (left) throw new Error(`line ${left.at + 1} of the YAML does not fit in: \`${left.text}\``);
    return value;
  }

  private node(indent: number): unknown {
    const line = this.lines[this.next];
    if (/^-(\s|$)/.test(line.text)) return this.list(indent);
    if (KEY.test(line.text)) return this.mapping(indent);
    this.next++;
    return this.scalar(line, line.text, indent - 1);
  }

  private at(indent: number): Line | undefined {
    const line = this.lines[this.next];
    return line?.indent === indent ? line : undefined;
  }

  private list(indent: number): unknown[] {
    const list: unknown[] = [];
    for (let line = this.at(indent); line && /^-(\s|$)/.test(line.text); line = this.at(indent)) {
      const inner = line.text.slice(1).trim();
      if (KEY.test(inner) || /^-\s/.test(inner)) {
        // `- key: value` is a block of its own, indented by the dash.
        const shift = line.text.indexOf(inner);
        this.lines[this.next] = { ...line, indent: indent + shift, text: inner };
        list.push(this.node(indent + shift));
      } else {
        this.next++;
        list.push(this.after(line, inner, indent));
      }
    }
    return list;
  }

  private mapping(indent: number): Record<string, unknown> {
    const mapping: Record<string, unknown> = {};
    for (let line = this.at(indent); line; line = this.at(indent)) {
      const match = KEY.exec(line.text);
      if (!match) throw new Error(`line ${line.at + 1} of the YAML is not \`key: value\`: \`${line.text}\``);
      const key = /^["']/.test(match[1]) ? String(new Flow(match[1]).whole()) : match[1];
      this.next++;
      mapping[key] = this.after(line, line.text.slice(match[0].length).trim(), indent);
    }
    return mapping;
  }

  /** What stands behind a key or a dash: on the line, or in a block below it. */
  private after(line: Line, text: string, indent: number): unknown {
    if (withoutComment(text) !== "" && !text.startsWith("#")) return this.scalar(line, text, indent);
    const below = this.lines[this.next];
    const deeper = below && (below.indent > indent || (below.indent === indent && /^-(\s|$)/.test(below.text)));
    return deeper && !(below.indent === indent && /^-/.test(line.text)) ? this.node(below.indent) : null;
  }

  private scalar(line: Line, text: string, indent: number): unknown {
    const block = /^([|>])([-+]?)\d?([-+]?)\s*(#.*)?$/.exec(text);
    if (block) return this.folded(line, block[1], block[2] || block[3], indent);
    let whole = withoutComment(text);
    const quote = /^["']/.test(whole);
    // A plain text, a quoted one and brackets go on in the lines below that are indented more.
    for (let below = this.lines[this.next]; below && below.indent > indent; below = this.lines[this.next]) {
      whole += ` ${quote ? below.text : withoutComment(below.text)}`;
      this.next++;
    }
    return /^[["'{]/.test(whole) ? new Flow(whole).whole() : plain(whole);
  }

  /** `|` keeps the ends of lines, `>` makes spaces of them; `-` and `+` say what becomes of those at the end. */
  private folded(line: Line, style: string, chomp: string, indent: number): string {
    const rows: string[] = [];
    let at = line.at + 1;
    for (; at < this.raw.length; at++) {
      const row = this.raw[at];
      if (row.trim() !== "" && row.search(/\S/) <= indent) break;
      rows.push(row);
    }
    while (this.lines[this.next] && this.lines[this.next].at < at) this.next++;
    const depth = Math.min(...rows.filter((row) => row.trim() !== "").map((row) => row.search(/\S/)));
    const body = rows.map((row) => row.slice(Math.min(depth, row.length))).join("\n");
    const text = style === "|" ? body : body.replace(/([^\n])\n(?=[^\n\s])/g, "$1 ").replace(/\n(\n+)/g, "$1");
    const end = chomp === "-" || text.trim() === "" ? "" : chomp === "+" ? (/\n+$/.exec(text)?.[0] ?? "\n") : "\n";
    return text.replace(/\n+$/, "") + end;
  }
}

export const parseYaml = (text: string): unknown => new Block(text).document();
