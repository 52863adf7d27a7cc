// Keys as terminals send them: old sequences, those of rxvt, xterm's `modifyOtherKeys` and the kitty protocol. A piece
// of input may mean more than one key (`\n` is enter and ctrl+j), so decoding gives all of them, the likeliest first.

let kitty = false;
export const setKittyProtocolActive = (active: boolean): void => void (kitty = active);
export const isKittyProtocolActive = (): boolean => kitty;

const named = (...names: string[]) => Object.fromEntries(names.map((name) => [name, name]));
const joined = (...mods: string[]) => (key: string) => [...mods, key].join("+");

/** The names of keys, and functions that put modifiers before them. */
export const Key: any = {
  ...named("escape", "esc", "enter", "return", "tab", "space", "backspace", "delete", "insert", "clear", "home", "end"),
  ...named("pageUp", "pageDown", "up", "down", "left", "right", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9"),
  ...named("f10", "f11", "f12"),
  backtick: "`", hyphen: "-", equals: "=", leftbracket: "[", rightbracket: "]", backslash: "\\", semicolon: ";",
  quote: "'", comma: ",", period: ".", slash: "/", exclamation: "!", at: "@", hash: "#", dollar: "$", percent: "%",
  caret: "^", ampersand: "&", asterisk: "*", leftparen: "(", rightparen: ")", underscore: "_", plus: "+", pipe: "|",
  tilde: "~", leftbrace: "{", rightbrace: "}", colon: ":", lessthan: "<", greaterthan: ">", question: "?",
  ctrl: joined("ctrl"), shift: joined("shift"), alt: joined("alt"), super: joined("super"),
  ctrlShift: joined("ctrl", "shift"), shiftCtrl: joined("shift", "ctrl"), ctrlAlt: joined("ctrl", "alt"),
  altCtrl: joined("alt", "ctrl"), shiftAlt: joined("shift", "alt"), altShift: joined("alt", "shift"),
  ctrlSuper: joined("ctrl", "super"), superCtrl: joined("super", "ctrl"), shiftSuper: joined("shift", "super"),
  superShift: joined("super", "shift"), altSuper: joined("alt", "super"), superAlt: joined("super", "alt"),
  ctrlShiftAlt: joined("ctrl", "shift", "alt"), ctrlShiftSuper: joined("ctrl", "shift", "super"),
};

/** A key with its modifiers, in the order in which they are written. */
interface Stroke {
  key: string;
  shift?: boolean;
  ctrl?: boolean;
  alt?: boolean;
  super?: boolean;
}

const MODIFIERS = ["shift", "ctrl", "alt", "super"] as const;
const written = (stroke: Stroke): string => [...MODIFIERS.filter((name) => stroke[name]), stroke.key].join("+");

/** The bits of a modifier as the protocols send them; caps lock and num lock do not count. */
function modifiers(sent: string | undefined): Omit<Stroke, "key"> {
  const bits = (Number(sent ?? 1) || 1) - 1;
  return { shift: Boolean(bits & 1), alt: Boolean(bits & 2), ctrl: Boolean(bits & 4), super: Boolean(bits & 8) };
}

const LETTERS: Record<string, string> = { A: "up", B: "down", C: "right", D: "left", E: "clear", F: "end", H: "home" };
const NUMBERS: Record<string, string> = {
  1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageUp", 6: "pageDown", 7: "home", 8: "end",
};
const FUNCTIONS: Record<string, string> = {
  11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10", 23: "f11",
  24: "f12",
};
const CODES: Record<number, string> = { 9: "tab", 13: "enter", 27: "escape", 32: "space", 127: "backspace" };
/** The keypad's keys in the kitty protocol. */
const KEYPAD: Record<number, string> = {
  57409: ".", 57410: "/", 57411: "*", 57412: "-", 57413: "+", 57414: "enter", 57415: "=", 57417: "left", 57418: "right",
  57419: "up", 57420: "down", 57421: "pageUp", 57422: "pageDown", 57423: "home", 57424: "end", 57425: "insert",
  57426: "delete",
};

function keyOfCode(code: number): string | undefined {
  if (code >= 57399 && code <= 57408) return String(code - 57399);
  if (CODES[code] ?? KEYPAD[code]) return CODES[code] ?? KEYPAD[code];
  const char = code > 32 && code < 127 ? String.fromCharCode(code) : undefined;
  return char?.toLowerCase();
}

/** `CSI code:shifted:base ; modifiers:event u`, and xterm's `CSI 27 ; modifiers ; code ~`. */
function fromProtocol(data: string): Stroke[] | undefined {
  const sent = /^\x1b\[(\d+)(?::\d*(?::(\d+))?)?(?:;(\d+)(?::\d+)?)?(?:;[\d:]*)?u$/.exec(data);
  const other = /^\x1b\[27;(\d+);(\d+)~$/.exec(data);
  if (!sent && !other) return undefined;
  const [code, base, mods] = sent ? [Number(sent[1]), sent[2], sent[3]] : [Number(other?.[2]), undefined, other?.[1]];
  // On a keyboard that is not Latin the key is known by its place.
  const key = keyOfCode(code) ?? (base ? keyOfCode(Number(base)) : undefined);
  if (!key) return [];
  const shift = code >= 65 && code <= 90;
  const stroke = { ...modifiers(mods), key };
  return [{ ...stroke, shift: stroke.shift || (shift && !stroke.ctrl && !stroke.alt) || stroke.shift }];
}

/** Arrows and other keys with a name, in all the ways in which terminals write them. */
function fromName(data: string): Stroke[] | undefined {
  const letter = /^\x1b(?:\[|O|\[1;(\d+)(?::\d+)?)([ABCDEFH])$/.exec(data);
  if (letter) return [{ ...modifiers(letter[1]), key: LETTERS[letter[2]] }];
  const f = /^\x1b(?:O([PQRS])|\[\[([A-E]))$/.exec(data);
  if (f) return [{ key: `f${(f[1] ? "PQRS" : "ABCDE").indexOf(f[1] ?? f[2]) + 1}` }];
  if (data === "\x1bOM") return [{ key: "enter" }];
  const rxvt = /^\x1b([[O])([abcde])$/.exec(data);
  if (rxvt) return [{ key: LETTERS[rxvt[2].toUpperCase()], [rxvt[1] === "[" ? "shift" : "ctrl"]: true }];
  const number = /^\x1b\[\[?(\d+)(?:;(\d+)(?::\d+)?)?([~$^])$/.exec(data);
  if (!number) return data === "\x1b[Z" ? [{ key: "tab", shift: true }] : undefined;
  const [, code, mods, end] = number;
  if (FUNCTIONS[code] && !mods && end === "~") return [{ key: FUNCTIONS[code] }];
  if (!NUMBERS[code]) return undefined;
  const stroke = { ...modifiers(mods), key: NUMBERS[code] };
  return [{ ...stroke, shift: stroke.shift || end === "$", ctrl: stroke.ctrl || end === "^" }];
}

/** One byte: a character, or a letter with ctrl. */
function fromByte(char: string): Stroke[] {
  const code = char.charCodeAt(0);
  const ctrl = (key: string): Stroke => ({ key, ctrl: true });
  const letter = code > 0 && code <= 26 ? [ctrl(String.fromCharCode(code + 96))] : [];
  if (char === "\r" || char === "\n") return [{ key: "enter" }, ...letter];
  if (char === "\t") return [{ key: "tab" }, ...letter];
  if (char === "\b") return [{ key: "backspace" }, ...letter];
  if (char === "\x7f") return [{ key: "backspace" }];
  if (char === " ") return [{ key: "space" }];
  if (char === "\0") return [ctrl("space")];
  if (char === "\x1b") return [{ key: "escape" }, ctrl("[")];
  if (char === "\x1c" || char === "\x1d") return [ctrl(char === "\x1c" ? "\\" : "]")];
  if (char === "\x1f") return [ctrl("-"), ctrl("_")];
  if (letter.length > 0) return letter;
  if (code < 32 || code > 126) return [];
  return /[A-Z]/.test(char) ? [{ key: char.toLowerCase(), shift: true }] : [{ key: char }];
}

/** Escape and one byte: the byte's key with alt. */
function fromEscaped(char: string): Stroke[] {
  const alt = (strokes: Stroke[]) => strokes.map((stroke) => ({ ...stroke, alt: true }));
  if (char === "\x1b") return alt([{ key: "[", ctrl: true }]);
  if (char === "\n" || char === "\t") return alt(fromByte(char).slice(1));
  // The letters by which shells know the arrows with alt.
  const arrow = { b: "left", f: "right", n: "down", p: "up", B: "left", F: "right" }[char];
  const letter = /[A-Z]/.test(char) ? [] : fromByte(char);
  return alt(arrow ? [{ key: arrow }, ...letter] : letter);
}

/** All keys that a piece of input may mean. */
function decode(data: string): Stroke[] {
  // With the kitty protocol terminals send these two for shift and enter.
  if (kitty && data === "\n") return [{ key: "enter", shift: true }, { key: "j", ctrl: true }];
  if (kitty && data === "\x1b\r") return [{ key: "enter", shift: true }];
  if (data.length === 1) return fromByte(data);
  if (data.length === 2 && data[0] === "\x1b") return fromEscaped(data[1]);
  return fromProtocol(data) ?? fromName(data) ?? [];
}

const SPELLINGS: Record<string, string> = {
  esc: "escape", return: "enter", pageup: "pageUp", pagedown: "pageDown", plus: "+",
};

/** A key as it is written, in the one form in which strokes are compared. */
function canonical(id: string): string {
  const parts = id.toLowerCase() === "+" ? ["+"] : id.replace(/\+\+$/, "+plus").split("+");
  const last = parts.pop() ?? "";
  const key = SPELLINGS[last.toLowerCase()] ?? last.toLowerCase();
  const mods = new Set(parts.map((part) => part.toLowerCase()));
  return written({ key, ...Object.fromEntries(MODIFIERS.map((name) => [name, mods.has(name)])) });
}

export function matchesKey(data: string, id: string): boolean {
  const wanted = canonical(id);
  return decode(data).some((stroke) => written(stroke) === wanted);
}

/** The key that a piece of input most likely means. */
export function parseKey(data: string): string | undefined {
  if (/^[A-Z]$/.test(data)) return data;
  const [stroke] = decode(data);
  return stroke && written(stroke).replace(/^ctrl\+alt\+shift/, "shift+ctrl+alt");
}

const eventOf = (data: string): string | undefined =>
  data.includes("\x1b[200~") ? undefined : /^\x1b\[[\d:]*;\d+:(\d)(?:;[\d:]*)?[u~A-H]$/.exec(data)?.[1];
export const isKeyRelease = (data: string): boolean => eventOf(data) === "3";
export const isKeyRepeat = (data: string): boolean => eventOf(data) === "2";

/** The character that a sequence of the kitty protocol stands for, if it stands for one. */
export function decodeKittyPrintable(data: string): string | undefined {
  const sent = /^\x1b\[(\d+)(?::(\d*)(?::\d+)?)?(?:;(\d+)(?::\d+)?)?u$/.exec(data);
  if (!sent) return undefined;
  const mods = modifiers(sent[3]);
  if (mods.ctrl || mods.alt || mods.super) return undefined;
  const code = Number((mods.shift && sent[2]) || sent[1]);
  const keypad = keyOfCode(code);
  if (code >= 57344 && code <= 63743) return keypad?.length === 1 ? keypad : undefined;
  return code >= 32 && code !== 127 ? String.fromCodePoint(code) : undefined;
}

// Keys by what they do

const does = (keys: string | string[], description: string) => ({ defaultKeys: keys, description });

// What the parts of a screen listen to.
export const TUI_KEYBINDINGS: Record<string, { defaultKeys: string | string[]; description: string }> = {
  "tui.editor.cursorUp": does("up", "Move cursor up"),
  "tui.editor.cursorDown": does("down", "Move cursor down"),
  "tui.editor.cursorLeft": does(["left", "ctrl+b"], "Move cursor left"),
  "tui.editor.cursorRight": does(["right", "ctrl+f"], "Move cursor right"),
  "tui.editor.cursorWordLeft": does(["alt+left", "ctrl+left", "alt+b"], "Move cursor word left"),
  "tui.editor.cursorWordRight": does(["alt+right", "ctrl+right", "alt+f"], "Move cursor word right"),
  "tui.editor.cursorLineStart": does(["home", "ctrl+a"], "Move to line start"),
  "tui.editor.cursorLineEnd": does(["end", "ctrl+e"], "Move to line end"),
  "tui.editor.jumpForward": does("ctrl+]", "Jump forward to character"),
  "tui.editor.jumpBackward": does("ctrl+alt+]", "Jump backward to character"),
  "tui.editor.pageUp": does("pageUp", "Page up"),
  "tui.editor.pageDown": does("pageDown", "Page down"),
  "tui.editor.deleteCharBackward": does("backspace", "Delete character backward"),
  "tui.editor.deleteCharForward": does(["delete", "ctrl+d"], "Delete character forward"),
  "tui.editor.deleteWordBackward": does(["ctrl+w", "alt+backspace"], "Delete word backward"),
  "tui.editor.deleteWordForward": does(["alt+d", "alt+delete"], "Delete word forward"),
  "tui.editor.deleteToLineStart": does("ctrl+u", "Delete to line start"),
  "tui.editor.deleteToLineEnd": does("ctrl+k", "Delete to line end"),
  "tui.editor.yank": does("ctrl+y", "Yank"),
  "tui.editor.yankPop": does("alt+y", "Yank pop"),
  "tui.editor.undo": does("ctrl+-", "Undo"),
  "tui.input.newLine": does("shift+enter", "Insert newline"),
  "tui.input.submit": does("enter", "Submit input"),
  "tui.input.tab": does("tab", "Tab / autocomplete"),
  "tui.input.copy": does("ctrl+c", "Copy selection"),
  "tui.select.up": does("up", "Move selection up"),
  "tui.select.down": does("down", "Move selection down"),
  "tui.select.pageUp": does("pageUp", "Selection page up"),
  "tui.select.pageDown": does("pageDown", "Selection page down"),
  "tui.select.confirm": does("enter", "Confirm selection"),
  "tui.select.cancel": does(["escape", "ctrl+c"], "Cancel selection"),
};

// What pi itself listens to, as far as hints speak of it.
const APP_KEYBINDINGS: typeof TUI_KEYBINDINGS = {
  "app.interrupt": does("escape", "Cancel or abort"),
  "app.clear": does("ctrl+c", "Clear editor"),
  "app.exit": does("ctrl+d", "Exit when editor is empty"),
  "app.suspend": does("ctrl+z", "Suspend to background"),
  "app.thinking.cycle": does("shift+tab", "Cycle thinking level"),
  "app.model.cycleForward": does("ctrl+p", "Cycle to next model"),
  "app.model.cycleBackward": does("shift+ctrl+p", "Cycle to previous model"),
  "app.model.select": does("ctrl+l", "Open model selector"),
  "app.tools.expand": does("ctrl+o", "Toggle tool output"),
  "app.thinking.toggle": does("ctrl+t", "Toggle thinking blocks"),
  "app.editor.external": does("ctrl+g", "Open external editor"),
  "app.message.followUp": does("alt+enter", "Queue follow-up message"),
  "app.message.dequeue": does("alt+up", "Restore queued messages"),
  "app.clipboard.pasteImage": does("ctrl+v", "Paste image from clipboard"),
};

const listOf = (keys: string | string[] | undefined): string[] => [...new Set([keys ?? []].flat())];

/** Which keys do what: as defined, or as the user has bound them. */
export class KeybindingsManager {
  constructor(private readonly definitions: any, private userBindings: Record<string, string | string[]> = {}) {}

  getKeys(binding: string): string[] {
    return listOf(this.userBindings[binding] ?? this.definitions[binding]?.defaultKeys);
  }
  matches(data: string, binding: string): boolean {
    return this.getKeys(binding).some((key) => matchesKey(data, key));
  }
  getDefinition(binding: string): any {
    return this.definitions[binding];
  }
  getUserBindings(): any {
    return { ...this.userBindings };
  }
  setUserBindings(bindings: Record<string, string | string[]>): void {
    this.userBindings = bindings;
  }
  getResolvedBindings(): any {
    const all = Object.keys(this.definitions).map((id) => [id, this.getKeys(id)]);
    return Object.fromEntries(all.map(([id, keys]: any) => [id, keys.length === 1 ? keys[0] : keys]));
  }
  /** Keys that the user has given to more than one thing. */
  getConflicts(): { key: string; keybindings: string[] }[] {
    const claims = new Map<string, string[]>();
    for (const [id, keys] of Object.entries(this.userBindings)) {
      if (!(id in this.definitions)) continue;
      for (const key of listOf(keys)) claims.set(key, [...(claims.get(key) ?? []), id]);
    }
    return [...claims].filter(([, ids]) => ids.length > 1).map(([key, keybindings]) => ({ key, keybindings }));
  }
}

let bindings = new KeybindingsManager({ ...TUI_KEYBINDINGS, ...APP_KEYBINDINGS });
export const getKeybindings = (): KeybindingsManager => bindings;
export const setKeybindings = (manager: KeybindingsManager): void => void (bindings = manager);
