// Differences of texts, line by line, and how pi shows them.

/** A run of lines that stayed, came or went. */
export interface Run {
  kind: "same" | "added" | "removed";
  lines: string[];
}

/** Steps beyond which a search for the shortest difference is not worth its time. */
const MAX_STEPS = 400;

/** Which lines of `a` and `b` are the same, as pairs of places, by the shortest way from one to the other (Myers). */
function pairs(a: string[], b: string[]): [number, number][] {
  const trail: Map<number, number>[] = [];
  const reach = new Map<number, number>([[1, 0]]);
  const most = Math.min(a.length + b.length, MAX_STEPS);
  for (let steps = 0; steps <= most; steps++) {
    trail.push(new Map(reach));
    for (let line = -steps; line <= steps; line += 2) {
      const down = line === -steps || (line !== steps && (reach.get(line - 1) ?? -1) < (reach.get(line + 1) ?? -1));
      let x = down ? (reach.get(line + 1) ?? 0) : (reach.get(line - 1) ?? 0) + 1;
      while (x < a.length && x - line < b.length && a[x] === b[x - line]) x++;
      reach.set(line, x);
      if (x >= a.length && x - line >= b.length) return back(trail, a.length, b.length);
    }
  }
  return [];
}

/** The way back from the end, along the trail. */
function back(trail: Map<number, number>[], endX: number, endY: number): [number, number][] {
  const found: [number, number][] = [];
  let [x, y] = [endX, endY];
  for (let steps = trail.length - 1; steps >= 0; steps--) {
    const reach = trail[steps];
    const line = x - y;
    const down = line === -steps || (line !== steps && (reach.get(line - 1) ?? -1) < (reach.get(line + 1) ?? -1));
    const from = down ? line + 1 : line - 1;
    const [startX, startY] = steps === 0 ? [0, 0] : [reach.get(from) ?? 0, (reach.get(from) ?? 0) - from];
    while (x > startX && y > startY) found.push([--x, --y]);
    [x, y] = [startX, startY];
  }
  return found.reverse();
}

const linesOf = (text: string): string[] => {
  const lines = text.split(/(?<=\n)/);
  return lines[0] === "" ? [] : lines;
};

/** The runs of lines that lead from the one text to the other; what went stands before what came. */
export function diffLines(before: string, after: string): Run[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [middleA, middleB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const runs: Run[] = [];
  const add = (kind: Run["kind"], lines: string[]) => {
    if (lines.length === 0) return;
    if (runs.at(-1)?.kind === kind) runs.at(-1)?.lines.push(...lines);
    else runs.push({ kind, lines });
  };
  add("same", a.slice(0, head));
  let [x, y] = [0, 0];
  for (const [i, j] of [...pairs(middleA, middleB), [middleA.length, middleB.length]]) {
    add("removed", middleA.slice(x, i));
    add("added", middleB.slice(y, j));
    add("same", middleA.slice(i, i + 1));
    [x, y] = [i + 1, j + 1];
  }
  add("same", a.slice(a.length - tail));
  return runs;
}

/** Numbered lines with `+` and `-` before what changed, and some lines around it. */
export function generateDiffString(before: string, after: string, context = 4) {
  const width = String(Math.max(before.split("\n").length, after.split("\n").length)).length;
  const output: string[] = [];
  let firstChangedLine: number | undefined;
  let [old, now] = [1, 1];
  const show = (mark: string, number: number, line: string) =>
    output.push(`${mark}${String(number).padStart(width)} ${line}`);
  const skip = (count: number) => {
    if (count > 0) output.push(` ${" ".repeat(width)} ...`);
    old += count;
    now += count;
  };
  const same = (lines: string[]) => {
    for (const line of lines) show(" ", old++, line), now++;
  };
  diffLines(before, after).forEach((run, index, runs) => {
    const lines = run.lines.map((line) => line.replace(/\n$/, ""));
    if (run.kind !== "same") {
      firstChangedLine ??= now;
      for (const line of lines) run.kind === "added" ? show("+", now++, line) : show("-", old++, line);
      return;
    }
    const first = index > 0 ? context : 0;
    const last = index < runs.length - 1 ? context : 0;
    if (lines.length <= first + last) return same(lines);
    same(lines.slice(0, first));
    skip(lines.length - first - last);
    same(last > 0 ? lines.slice(-last) : []);
  });
  return { diff: output.join("\n"), firstChangedLine };
}

/** A patch as other programs read it, with some lines around what changed. */
export function generateUnifiedPatch(path: string, before: string, after: string, context = 4): string {
  const marks = { same: " ", added: "+", removed: "-" };
  const all = diffLines(before, after).flatMap((run) => run.lines.map((line) => ({ kind: run.kind, line })));
  const changes = all.flatMap(({ kind }, at) => (kind === "same" ? [] : [at]));
  // Changes that are near each other stand in one piece.
  const pieces: [number, number][] = [];
  for (const at of changes) {
    const last = pieces[pieces.length - 1];
    if (last && at - context <= last[1] + context) last[1] = at;
    else pieces.push([at, at]);
  }
  const count = (to: number, without: Run["kind"], from = 0) =>
    all.slice(from, to).filter(({ kind }) => kind !== without).length;
  const hunks = pieces.map(([first, last]) => {
    const [from, to] = [Math.max(0, first - context), Math.min(all.length, last + context + 1)];
    const range = (without: Run["kind"]) => {
      const lines = count(to, without, from);
      return `${count(from, without) + (lines > 0 ? 1 : 0)},${lines}`;
    };
    const shown = all.slice(from, to).map(({ kind, line }) => {
      const text = marks[kind] + line;
      return line.endsWith("\n") ? text : `${text}\n\\ No newline at end of file\n`;
    });
    return `@@ -${range("added")} +${range("removed")} @@\n${shown.join("")}`;
  });
  return `--- ${path}\n+++ ${path}\n${hunks.join("")}`;
}
