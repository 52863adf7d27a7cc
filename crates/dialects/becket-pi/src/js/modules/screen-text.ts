// Texts on a screen: how wide they are, how they are cut and wrapped, and how they are found. Sequences that a terminal
// does not show (colours, links, marks) have no width and are never cut apart.

/** Characters that take two columns (Unicode's East Asian Width W and F), as ranges of code points. */
const WIDE = (
  "1100-115f 231a-231b 2329-232a 23e9-23ec 23f0 23f3 25fd-25fe 2614-2615 2630-2637 2648-2653 267f 268a-268f " +
  "2693 26a1 26aa-26ab 26bd-26be 26c4-26c5 26ce 26d4 26ea 26f2-26f3 26f5 26fa 26fd 2705 270a-270b 2728 274c " +
  "274e 2753-2755 2757 2795-2797 27b0 27bf 2b1b-2b1c 2b50 2b55 2e80-2e99 2e9b-2ef3 2f00-2fd5 2ff0-303e " +
  "3041-3096 3099-30ff 3105-312f 3131-318e 3190-31e5 31ef-321e 3220-3247 3250-a48c a490-a4c6 a960-a97c " +
  "ac00-d7a3 f900-faff fe10-fe19 fe30-fe52 fe54-fe66 fe68-fe6b ff01-ff60 ffe0-ffe6 16fe0-16fe4 16ff0-16ff6 " +
  "17000-18cda 18cff-18d20 18d80-18df2 18e00-19191 191a0-191d2 1aff0-1aff3 1aff5-1affb 1affd-1affe 1b000-1b128 " +
  "1b132 1b150-1b152 1b155 1b164-1b168 1b170-1b2fb 1d300-1d356 1d360-1d376 1f004 1f0cf 1f18e 1f191-1f19a 1f1ae " +
  "1f1e6-1f1ff 1f200-1f202 1f210-1f23b 1f240-1f248 1f250-1f251 1f260-1f265 1f300-1f320 1f32d-1f335 1f337-1f37c " +
  "1f37e-1f393 1f3a0-1f3ca 1f3cf-1f3d3 1f3e0-1f3f0 1f3f4 1f3f8-1f43e 1f440 1f442-1f4fc 1f4ff-1f53d 1f54b-1f54e " +
  "1f550-1f567 1f57a 1f595-1f596 1f5a4 1f5fb-1f64f 1f680-1f6c5 1f6cc 1f6d0-1f6d2 1f6d5-1f6d9 1f6dc-1f6df " +
  "1f6eb-1f6ec 1f6f4-1f6fc 1f7da 1f7e0-1f7eb 1f7f0 1f90c-1f93a 1f93c-1f945 1f947-1f9ff 1fa70-1fa7c 1fa80-1fac6 " +
  "1fac8 1facc-1fadd 1fadf-1faeb 1faef-1fafa 20000-2fffd 30000-3fffd"
)
  .split(" ")
  .map((range) => range.split("-").map((code) => parseInt(code, 16)))
  .map(([from, to]) => [from, to ?? from]);

function isWide(code: number): boolean {
  let [low, high] = [0, WIDE.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (code < WIDE[middle][0]) high = middle - 1;
    else if (code > WIDE[middle][1]) low = middle + 1;
    else return true;
  }
  return false;
}

const TAB_WIDTH = 3;
const PLAIN = /^[\x20-\x7e]*$/;
/** CSI that ends in m, G, K, H or J; OSC and APC up to BEL or ST. */
const SEQUENCE = /\x1b(?:\[[^mGKHJ]*[mGKHJ]|[\]_][\s\S]*?(?:\x07|\x1b\\))/y;
/** What people see as one character: flags, pictures joined to one, a letter with its marks, syllables of Hangul. */
const GRAPHEME = new RegExp(
  "\\r\\n|\\p{RI}\\p{RI}|[\\u1100-\\u115f]+[\\u1160-\\u11a7]*[\\u11a8-\\u11ff]*|" +
    "\\p{Extended_Pictographic}[\\p{M}\\u{1f3fb}-\\u{1f3ff}\\u{e0020}-\\u{e007f}]*" +
    "(?:\\u200d\\p{Extended_Pictographic}[\\p{M}\\u{1f3fb}-\\u{1f3ff}]*)*\\u200d?|" +
    "[\\s\\S][\\p{M}\\u200d\\uff9e\\uff9f\\u0e33\\u0eb3]*",
  "uy",
);
const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{M}\p{Cs}]+$/u;
const UNSEEN_START = /^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{M}\p{Cs}]+/u;
const PICTURE = /^(?:\p{Emoji}\ufe0f|\p{Extended_Pictographic}.*(?:\u200d|[\u{1f3fb}-\u{1f3ff}])|\p{RI}\p{RI})/u;

function graphemeWidth(grapheme: string): number {
  if (grapheme === "\t") return TAB_WIDTH;
  if (INVISIBLE.test(grapheme)) return 0;
  if (PICTURE.test(grapheme)) return 2;
  const code = grapheme.replace(UNSEEN_START, "").codePointAt(0);
  if (code === undefined) return 0;
  const tail = [...grapheme].slice(1).filter((char) => /[\uff00-\uffef\u0e33\u0eb3]/.test(char)).length;
  return (isWide(code) ? 2 : 1) + tail;
}

/** A sequence, which has no width, or a character. */
interface Piece {
  text: string;
  width: number;
  sequence: boolean;
}

function* pieces(text: string): Generator<Piece> {
  for (let at = 0; at < text.length; ) {
    const sequence = text[at] === "\x1b";
    const pattern = sequence ? SEQUENCE : GRAPHEME;
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (sequence && found) yield { text: found, width: 0, sequence: true };
    else {
      const grapheme = found ?? text[at];
      yield { text: grapheme, width: graphemeWidth(grapheme), sequence: false };
    }
    at += found?.length ?? 1;
  }
}

/** The characters of a text as people count them. */
export const graphemes = (text: string): string[] => [...pieces(text)].map((piece) => piece.text);

/** How many columns a text takes. */
export function visibleWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const piece of pieces(text)) width += piece.width;
  return width;
}

/** A text without what a terminal does not show. */
export const stripTerminalSequences = (text: string): string =>
  [...pieces(text)].filter((piece) => !piece.sequence).map((piece) => piece.text).join("");

/** The beginning of a text that fits; sequences stay only before something that is shown. */
function beginning(text: string, width: number): { text: string; width: number } {
  let [shown, pending, used] = ["", "", 0];
  for (const piece of pieces(text)) {
    if (piece.sequence) pending += piece.text;
    else if (used + piece.width > width) break;
    else {
      shown += pending + piece.text;
      used += piece.width;
      pending = "";
    }
  }
  return { text: shown, width: used };
}

/** Cuts a text to a width, with an ellipsis behind what is left; `pad` fills up with spaces. */
export function truncateToWidth(text: string, maxWidth: number, ellipsis = "...", pad = false): string {
  if (maxWidth <= 0) return "";
  const width = visibleWidth(text);
  const fill = (used: number) => (pad ? " ".repeat(Math.max(0, maxWidth - used)) : "");
  if (width <= maxWidth) return text + fill(width);
  const end = beginning(ellipsis, maxWidth);
  if (end.width === 0 && ellipsis !== "") return fill(0);
  const start = visibleWidth(ellipsis) >= maxWidth ? { text: "", width: 0 } : beginning(text, maxWidth - end.width);
  return `${start.text}\x1b[0m${end.text ? `${end.text}\x1b[0m` : ""}${fill(start.width + end.width)}`;
}

/** The columns of a line from `start` on; `strict` leaves out a wide character that does not fit in whole. */
export function sliceByColumn(line: string, start: number, length: number, strict = false): string {
  if (length <= 0) return "";
  const end = start + length;
  let [shown, pending, column] = ["", "", 0];
  for (const piece of pieces(line)) {
    if (column >= end) break;
    const inside = column >= start;
    if (piece.sequence && inside) shown += piece.text;
    else if (piece.sequence) pending += piece.text;
    else if (inside && (!strict || column + piece.width <= end)) {
      shown += pending + piece.text;
      pending = "";
    }
    column += piece.width;
  }
  return shown;
}

// Styles that go on over the end of a line

const OFF: Record<number, number[]> = {
  21: [1], 22: [1, 2], 23: [3], 24: [4], 25: [5], 27: [7], 28: [8], 29: [9], 39: [30], 49: [40],
};

/** What is switched on: attributes by their number, colours as 30 and 40, and a link. */
class Style {
  private readonly on = new Map<number, string>();
  private link: { open: string; close: string } | undefined;

  read(text: string): void {
    for (const { text: code, sequence } of pieces(text)) if (sequence) this.apply(code);
  }

  private apply(code: string): void {
    const link = /^\x1b\]8;([^;]*);([\s\S]*?)(\x07|\x1b\\)$/.exec(code);
    if (link) this.link = link[2] ? { open: code, close: `\x1b]8;;${link[3]}` } : undefined;
    const colours = /^\x1b\[([\d;]*)m$/.exec(code);
    if (colours) this.switch(colours[1] === "" ? [0] : colours[1].split(";").map(Number));
  }

  private switch(codes: number[]): void {
    for (let at = 0; at < codes.length; at++) {
      const code = codes[at];
      if (code === 38 || code === 48) {
        const length = codes[at + 1] === 5 ? 3 : 5;
        this.on.set(code - 8, codes.slice(at, at + length).join(";"));
        at += length - 1;
      } else if (code === 0) this.on.clear();
      else if (OFF[code]) for (const attribute of OFF[code]) this.on.delete(attribute);
      else if (code < 10) this.on.set(code, String(code));
      else if ((code >= 30 && code < 38) || (code >= 90 && code < 98)) this.on.set(30, String(code));
      else if ((code >= 40 && code < 48) || (code >= 100 && code < 108)) this.on.set(40, String(code));
    }
  }

  /** What brings it back at the beginning of the next line. */
  again(): string {
    const codes = [...this.on.keys()].sort((a, b) => a - b).map((key) => this.on.get(key));
    return (codes.length > 0 ? `\x1b[${codes.join(";")}m` : "") + (this.link?.open ?? "");
  }

  /** What must not go on behind the end of a line: an underline, and a link. */
  pause(): string {
    return (this.on.has(4) ? "\x1b[24m" : "") + (this.link?.close ?? "");
  }
}

/** Words and the spaces between them; sequences belong to what stands behind them. */
function words(line: string): string[] {
  const found: string[] = [];
  let [current, pending, spaces] = ["", "", false];
  for (const piece of pieces(line)) {
    if (piece.sequence) {
      pending += piece.text;
      continue;
    }
    const space = piece.text === " ";
    if (space !== spaces && current) {
      found.push(current);
      current = "";
    }
    current += pending + piece.text;
    pending = "";
    spaces = space;
  }
  if (current + pending) found.push(current + pending);
  return found;
}

/** A word that is longer than a line, in pieces that are not. */
function broken(word: string, width: number, style: Style): string[] {
  const lines: string[] = [];
  let [current, used] = [style.again(), 0];
  for (const piece of pieces(word)) {
    if (used + piece.width > width) {
      lines.push(current + style.pause());
      [current, used] = [style.again(), 0];
    }
    if (piece.sequence) style.read(piece.text);
    current += piece.text;
    used += piece.width;
  }
  return [...lines, current];
}

function wrapLine(line: string, width: number): string[] {
  if (visibleWidth(line) <= width) return [line];
  const lines: string[] = [];
  const style = new Style();
  let [current, used] = ["", 0];
  for (const word of words(line)) {
    const length = visibleWidth(word);
    const space = word.trim() === "";
    if (length > width && !space) {
      if (current) lines.push(current + style.pause());
      const parts = broken(word, width, style);
      lines.push(...parts.slice(0, -1));
      current = parts[parts.length - 1];
      used = visibleWidth(current);
      continue;
    }
    if (used + length > width && used > 0) {
      lines.push(current.trimEnd() + style.pause());
      current = style.again() + (space ? "" : word);
      used = space ? 0 : length;
    } else {
      current += word;
      used += length;
    }
    style.read(word);
  }
  if (current) lines.push(current);
  return lines.map((each) => each.trimEnd());
}

/** A text in lines of at most a width, broken between words where that is possible. */
export function wrapTextWithAnsi(text: string, width: number): string[] {
  const style = new Style();
  return (text ?? "").split("\n").flatMap((line, index) => {
    const wrapped = wrapLine((index > 0 ? style.again() : "") + line, width);
    style.read(line);
    return wrapped;
  });
}

/** A line filled up to a width, with a background behind all of it. */
export const applyBackgroundToLine = (line: string, width: number, background: (text: string) => string): string =>
  background(line + " ".repeat(Math.max(0, width - visibleWidth(line))));

export const hyperlink = (text: string, url: string): string => `\x1b]8;;${url}\x1b\\${text}\x1b]8;;\x1b\\`;

// Finding

/** How well the characters of a query, in order, are found in a text; less is better. */
function score(query: string, text: string): number | undefined {
  let [points, at, last, run] = [0, 0, -1, 0];
  for (const char of query) {
    at = text.indexOf(char, at);
    if (at === -1) return undefined;
    run = last === at - 1 ? run + 1 : 0;
    if (last === at - 1) points -= run * 5;
    else if (last >= 0) points += (at - last - 1) * 2;
    if (at === 0 || /[\s\-_./:]/.test(text[at - 1])) points -= 10;
    points += at * 0.1;
    last = at++;
  }
  return query !== "" && query === text ? points - 100 : points;
}

export function fuzzyMatch(query: string, text: string): { matches: boolean; score: number } {
  const [wanted, given] = [query.toLowerCase(), text.toLowerCase()];
  const found = score(wanted, given);
  if (found !== undefined) return { matches: true, score: found };
  // `gpt5` is found in `5-gpt`, for a small price.
  const turned = wanted.replace(/^([a-z]+)([0-9]+)$/, "$2$1");
  const swapped = turned !== wanted ? turned : wanted.replace(/^([0-9]+)([a-z]+)$/, "$2$1");
  const other = swapped === wanted ? undefined : score(swapped, given);
  return other === undefined ? { matches: false, score: 0 } : { matches: true, score: other + 5 };
}

/** The items in which every word of the query is found, best first. */
export function fuzzyFilter<T>(items: T[], query: string, getText: (item: T) => string): T[] {
  const tokens = query.trim().split(/\s+/).filter(Boolean);
  if (tokens.length === 0) return items;
  const rated = items.flatMap((item) => {
    const found = tokens.map((token) => fuzzyMatch(token, getText(item)));
    const total = found.reduce((sum, { score }) => sum + score, 0);
    return found.every((each) => each.matches) ? [{ item, total }] : [];
  });
  return rated.sort((a, b) => a.total - b.total).map(({ item }) => item);
}
