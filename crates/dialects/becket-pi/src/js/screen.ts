// Components of an extension on the user's screen. They live here: the program asks for their lines, sends keys, and
// shows what it is given. It waits for none of them.

import { about } from "pi:context";
import { ask, askLater, report, room } from "pi:host";
import { theme } from "pi:theme";

type Component = {
    render(width: number): string[];
    handleInput?(data: string): void;
    invalidate?(): void;
    dispose?(): void;
    focused?: boolean;
    wantsKeyRelease?: boolean;
};

/** A component on the screen. Until the program has asked for its lines, nobody knows how wide it is. */
type Shown = {
    id: number;
    component: Component;
    focus?: Component;
    width?: number;
    text?: string;
    sight?: Sight;
    over(): void;
};

/** An overlay that decides itself whether it is seen, and what it decided last. */
type Sight = { visible(columns: number, rows: number): boolean; seen: boolean };

/** Frames are not drawn more often than this, in milliseconds. */
const FRAME = 16;

const shown = new Map<number, Shown>();
/** Numbers of components; no two lives of the extension have one in common. */
let lastId = about.life * 2 ** 32;
let waiting = false;

export const keybindings = (): any => room("pi:screen-keys").getKeybindings();

function linesOf(each: Shown): string[] {
    const lines = Array.from(each.component.render(each.width as number), String);
    each.text = lines.join("\n");
    return lines;
}

/** Takes a component away that cannot be drawn or does not understand its keys. */
function broken(each: Shown, error: unknown): void {
    report("component", error);
    close(each.id);
}

function draw(): void {
    waiting = false;
    for (const each of [...shown.values()]) {
        const before = each.text;
        try {
            if (each.sight !== undefined) look(each.id, each.sight);
            if (each.width === undefined) continue;
            const lines = linesOf(each);
            if (each.text !== before) ask({ draw: { id: each.id, lines } });
        } catch (error) {
            broken(each, error);
        }
    }
}

/** Has an overlay decide anew whether it is seen. */
function look(id: number, sight: Sight): void {
    const seen = Boolean(sight.visible(terminal.columns, terminal.rows));
    if (seen === sight.seen) return;
    sight.seen = seen;
    ask({ overlay: { id, wish: seen ? "appear" : "disappear" } });
}

/** Has everything drawn again, soon. */
export function requestRender(): void {
    if (waiting || shown.size === 0) return;
    waiting = true;
    setTimeout(draw, FRAME);
}

/** Has everything drawn from scratch: colours may be others. */
export function invalidate(): void {
    for (const { component } of shown.values()) component.invalidate?.();
    requestRender();
}

function close(id: number): void {
    const each = shown.get(id);
    if (each === undefined) return;
    shown.delete(id);
    ask({ close_component: { id } });
    try {
        each.component.dispose?.();
    } catch (error) {
        report("component", error);
    }
    each.over();
}

// -------------------------------------------------------------------- what the program asks

export function render_component({ id, width, focused, kitty }: any): string[] | null {
    const each = shown.get(id);
    if (each === undefined) return null;
    room("pi:screen-keys").setKittyProtocolActive(kitty);
    each.width = width;
    const target = each.focus ?? each.component;
    if (target.focused !== undefined || "focused" in target) target.focused = focused;
    try {
        return linesOf(each);
    } catch (error) {
        broken(each, error);
        return null;
    }
}

export function overlay_visible({ id, columns, rows }: any): boolean {
    const each = shown.get(id);
    if (each?.sight === undefined) return false;
    try {
        return (each.sight.seen = Boolean(each.sight.visible(columns, rows)));
    } catch (error) {
        broken(each, error);
        return false;
    }
}

export function component_key({ id, data }: any): string[] | null {
    const each = shown.get(id);
    if (each === undefined) return null;
    try {
        (each.focus ?? each.component).handleInput?.(data);
        return shown.has(id) && each.width !== undefined ? linesOf(each) : null;
    } catch (error) {
        broken(each, error);
        return null;
    }
}

export function set_editor_text({ text, paste }: any): null {
    if (paste) editor?.insertTextAtCursor?.(text);
    else editor?.setText?.(text);
    requestRender();
    return null;
}

// -------------------------------------------------------------------- the screen as components see it

const terminal = {
    get columns(): number {
        return ask("screen_size")?.columns ?? 80;
    },
    get rows(): number {
        return ask("screen_size")?.rows ?? 24;
    },
    get kittyProtocolActive(): boolean {
        return room("pi:screen-keys").isKittyProtocolActive();
    },
    setTitle(title: string): void {
        ask({ show: { title: { title: String(title) } } });
    },
    write(): void {},
    hideCursor(): void {},
    showCursor(): void {},
};

/** pi's `TUI`, as far as a component has to do with it. */
function tuiFor(id: number): any {
    return {
        terminal,
        requestRender,
        invalidate: (): void => shown.get(id)?.component.invalidate?.(),
        setFocus(component: Component): void {
            const each = shown.get(id);
            if (each !== undefined) each.focus = component;
        },
        showOverlay: (component: Component, options?: any): unknown => overlay(component, options),
        hideOverlay: (): void => {
            const last = overlays.pop();
            if (last !== undefined) close(last);
        },
        hasOverlay: (): boolean => overlays.length > 0,
        // Another program may want the terminal.
        stop: (): void => void ask({ lend_terminal: { lent: true } }),
        start: (): void => void ask({ lend_terminal: { lent: false } }),
    };
}

const overlays: number[] = [];

function handleOf(id: number): any {
    const wish = (wish: string): boolean => ask({ overlay: { id, wish } }) === true;
    return {
        hide: (): void => close(id),
        setHidden: (hidden: boolean): void => void wish(hidden ? "hide" : "show"),
        isHidden: (): boolean => wish("is_hidden"),
        focus: (): void => void wish("focus"),
        unfocus: (): void => void wish("unfocus"),
        isFocused: (): boolean => wish("is_focused"),
    };
}

/** Where an overlay stands, as data. */
function overlayPlace(options: any, sight: Sight | undefined): Record<string, unknown> {
    const { anchor, width, minWidth, maxHeight, row, col, offsetX, offsetY, margin, nonCapturing } = options;
    const cells = (extent: unknown) => (typeof extent === "number" ? String(Math.floor(extent)) : extent);
    const sides = typeof margin === "number" ? { top: margin, right: margin, bottom: margin, left: margin } : margin;
    return {
        anchor, minWidth, offsetX, offsetY, margin: sides, nonCapturing: nonCapturing === true,
        width: cells(width), maxHeight: cells(maxHeight), row: cells(row), col: cells(col),
        visible: sight?.seen,
    };
}

/** Puts a component on the screen for a while. `over` is called when it is gone, whoever has taken it away. */
function stand(id: number, component: Component, place: unknown, over: () => void, sight?: Sight): void {
    shown.set(id, { id, component, sight, over });
    const releases = component.wantsKeyRelease === true;
    const gone = () => close(id);
    askLater({ component: { id, place, releases } }).then(gone, (error) => {
        report("component", error);
        gone();
    });
}

/** Puts a component on top of everything. Options may be made by a function; without any, it may be wide by itself. */
function standAbove(id: number, component: Component, given: any, over: () => void): any {
    const width = (component as any).width;
    const options = (typeof given === "function" ? given() : given) ?? (width ? { width } : {});
    const visible = typeof options.visible === "function" ? options.visible.bind(options) : undefined;
    const sight = visible && { visible, seen: Boolean(visible(terminal.columns, terminal.rows)) };
    stand(id, component, { overlay: overlayPlace(options, sight) }, over, sight);
    return handleOf(id);
}

function overlay(component: Component, options?: any): any {
    const id = ++lastId;
    overlays.push(id);
    return standAbove(id, component, options, () => {
        const at = overlays.indexOf(id);
        if (at >= 0) overlays.splice(at, 1);
    });
}

/** `ctx.ui.custom`: a component in the editor's place or on top of everything, until it is done. */
export async function custom(factory: (...given: any[]) => any, options: any = {}): Promise<unknown> {
    const id = ++lastId;
    let result: unknown;
    let isOver = false;
    let tell: () => void = () => {};
    const over = new Promise<void>((resolve) => (tell = resolve));
    const done = (value: unknown): void => {
        if (isOver) return;
        isOver = true;
        result = value;
        close(id);
        tell();
    };
    const component = await factory(tuiFor(id), theme, keybindings(), done);
    // It may have been done before there was anything to see.
    if (isOver) component?.dispose?.();
    else if (options.overlay) {
        const handle = standAbove(id, component, options.overlayOptions, () => done(undefined));
        options.onHandle?.(handle);
    } else stand(id, component, "custom", () => done(undefined));
    await over;
    return result;
}

// -------------------------------------------------------------------- what stays

const standing = new Map<string, number>();

/** Puts what a factory makes into a place of the screen, in the place of what was there. */
export function place(slot: string, where: unknown, make: ((tui: any) => Component) | undefined): void {
    const before = standing.get(slot);
    if (before !== undefined) close(before);
    standing.delete(slot);
    if (make === undefined) return;
    const id = ++lastId;
    const component = make(tuiFor(id));
    shown.set(id, { id, component, over: () => {} });
    standing.set(slot, id);
    ask({ place_component: { id, place: where, releases: component.wantsKeyRelease === true } });
}

/** What a footer can know besides. */
const footerData = {
    getGitBranch: (): string | null => ask("git_branch") ?? null,
    getExtensionStatuses: (): Map<string, string> => new Map(ask("statuses") ?? []),
    getAvailableProviderCount(): number {
        const models: { provider: string }[] = ask({ models: { available: true } }) ?? [];
        return new Set(models.map((model) => model.provider)).size;
    },
    onBranchChange: (): (() => void) => () => {},
};

type Factory = (...given: any[]) => Component;

export function setHeader(factory?: Factory): void {
    place("header", "header", factory && ((tui) => factory(tui, theme)));
}

export function setFooter(factory?: Factory): void {
    place("footer", "footer", factory && ((tui) => factory(tui, theme, footerData)));
}

export function setWidget(key: string, factory: Factory | undefined, placement: string | undefined): void {
    place(`widget ${key}`, { widget: { key, placement } }, factory && ((tui) => factory(tui, theme)));
}

// -------------------------------------------------------------------- the editor

let editor: any;
let editorFactory: Factory | undefined;

export const getEditorComponent = (): Factory | undefined => editorFactory;

/** Keys that the program means by themselves, by pi's names for what they do. */
const KEYS: Record<string, string> = { "app.clear": "ctrl+c", "app.message.dequeue": "alt+up" };

/** Puts another editor in the place of the usual one. What is written in it goes to the program as it changes. */
export function setEditorComponent(factory?: Factory): void {
    const text = editor?.getText?.() ?? ask("get_editor_text") ?? "";
    editorFactory = factory;
    editor = undefined;
    const paint = (text: string) => theme.fg("border", text);
    const make = (tui: any): any => {
        const selectList = room("pi:agent-screen").getSelectListTheme();
        const made: any = factory?.(tui, { borderColor: paint, selectList }, keybindings());
        const submit = (text: string, key: string) => {
            made.addToHistory?.(text);
            ask({ editor: { submitted: { text, key } } });
        };
        const press = (key: string) => () => void ask({ editor: { pressed: { key } } });
        made.onSubmit = (text: string) => submit(text, "enter");
        made.onChange = (text: string) => void ask({ editor: { changed: { text } } });
        made.onEscape ??= press("escape");
        made.onCtrlD ??= press("ctrl+d");
        for (const action in KEYS) made.onAction?.(action, press(KEYS[action]));
        made.onAction?.("app.message.followUp", () => {
            const text = made.getText?.() ?? "";
            made.setText?.("");
            submit(text, "alt+enter");
        });
        editor = made;
        if (text !== "") made.setText?.(text);
        return made;
    };
    place("editor", "editor", factory && make);
}

// -------------------------------------------------------------------- keys and words before anybody else gets them

type Heard = { consume?: boolean; data?: string } | undefined;
const listeners = new Set<(data: string) => Heard>();

/** `ctx.ui.onTerminalInput`: hears keys before whoever has the focus. */
export function onTerminalInput(listener: (data: string) => Heard): () => void {
    listeners.add(listener);
    ask({ intercept: { on: true } });
    return () => {
        listeners.delete(listener);
        if (listeners.size === 0) ask({ intercept: { on: false } });
    };
}

/** What is left of a key when all have heard it; nothing if somebody keeps it. */
export function terminal_input({ data }: any): string | null {
    for (const listener of listeners) {
        const heard = listener(data);
        if (heard?.consume) return null;
        if (typeof heard?.data === "string") data = heard.data;
    }
    return data;
}

const completers: ((current: any) => any)[] = [];

/** What the program itself, and extensions before this one, would complete. */
const others = {
    async getSuggestions(lines: string[], line: number, col: number, options: any = {}): Promise<unknown> {
        const before = [...lines.slice(0, line), lines[line].slice(0, col)].join("\n");
        const found = await askLater({ complete: { text: lines.join("\n"), before, forced: options.force === true } });
        return found?.items.length > 0 ? found : null;
    },
    applyCompletion(lines: string[], line: number, col: number, item: any, prefix: string): unknown {
        const start = col - prefix.length;
        const changed = lines[line].slice(0, start) + item.value + lines[line].slice(col);
        return { lines: lines.with(line, changed), cursorLine: line, cursorCol: start + item.value.length };
    },
};

/** `ctx.ui.addAutocompleteProvider`: a factory that is given the provider before it. */
export function addAutocompleteProvider(factory: (current: any) => any): void {
    completers.push(factory);
    if (completers.length === 1) ask("register_completer");
}

export async function suggest({ text, before, forced }: any): Promise<unknown> {
    const provider = completers.reduce((current, make) => make(current), others as any);
    const above = before.split("\n");
    const options = { signal: new AbortController().signal, force: forced };
    const col = above[above.length - 1].length;
    const found = await provider.getSuggestions(text.split("\n"), above.length - 1, col, options);
    if (!found) return null;
    const items = found.items.map(({ value, label, description }: any) => ({
        value: String(value), label: String(label ?? value), description,
    }));
    return { prefix: String(found.prefix), items };
}
