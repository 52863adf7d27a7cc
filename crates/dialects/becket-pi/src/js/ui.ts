// `ctx.ui`: how an extension talks to the user.
//
// All dialogs are one call to the program, which knows whether anybody is there; nobody means `undefined`, or `false`
// for a confirmation. What is shown goes to the program as well, which shows what it can. What only a screen can show
// (components, editors, footers) does nothing where there is none, as in pi; where there is one, see `screen.ts`.

import { ask, askUntil, inSession, room } from "pi:host";
import { forgetTheme, painted, theme } from "pi:theme";

type Options = { signal?: AbortSignal; timeout?: number } | undefined;

/** Asks the user. The answer of a dialog that its signal has closed is nothing. */
async function dialog(question: Record<string, unknown>, options: Options): Promise<any> {
    inSession();
    const signal = options?.signal;
    if (signal?.aborted) return undefined;
    const asked = askUntil(signal, (id) => ({ dialog: { id, dialog: question, timeout: options?.timeout } }));
    if (signal === undefined) return asked;
    const closed = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return Promise.race([asked, closed.then(() => undefined)]);
}

const LEVELS = ["info", "warning", "error"];
const PLACEMENTS = ["aboveEditor", "belowEditor"];

/** Shows the user something. What is not said is left out. */
function show(what: string, fields: Record<string, unknown>): void {
    inSession();
    ask({ show: { [what]: fields } });
}

/** A text, or nothing where nothing is said. */
function words(text: unknown): string | undefined {
    return text === undefined || text === null ? undefined : String(text);
}

function oneOf(known: string[], word: unknown): string | undefined {
    return known.find((each) => each === word);
}

/** What draws components; nothing where there is no screen. */
function screen(): any {
    inSession();
    return ask("about").mode === "tui" ? room("pi:screen") : undefined;
}

export const ui = {
    select(title: string, options: string[], opts?: Options): Promise<string | undefined> {
        return dialog({ kind: "select", title: String(title), options: Array.from(options, String) }, opts);
    },
    async confirm(title: string, message: string, opts?: Options): Promise<boolean> {
        const asked = { kind: "confirm", title: String(title), message: String(message ?? "") };
        return (await dialog(asked, opts)) === true;
    },
    input(title: string, placeholder?: string, opts?: Options): Promise<string | undefined> {
        return dialog({ kind: "input", title: String(title), placeholder }, opts);
    },
    editor(title: string, prefill?: string): Promise<string | undefined> {
        return dialog({ kind: "editor", title: String(title), prefill }, undefined);
    },

    notify(message: string, type?: string): void {
        show("notify", { message: String(message), level: oneOf(LEVELS, type) ?? "info" });
    },
    setStatus(key: string, text?: string): void {
        show("status", { key: String(key), text: words(text) });
    },
    /** Lines are shown; a component needs a screen that can draw it. */
    setWidget(key: string, content: unknown, options?: { placement?: string }): void {
        const placement = oneOf(PLACEMENTS, options?.placement);
        const component = typeof content === "function" ? content : undefined;
        screen()?.setWidget(String(key), component, placement);
        if (component !== undefined) return;
        const lines = Array.isArray(content) ? Array.from(content, String) : undefined;
        show("widget", { key: String(key), lines, placement });
    },
    setTitle(title: string): void {
        show("title", { title: String(title) });
    },
    setEditorText(text: string): void {
        show("editor_text", { text: String(text) });
    },
    pasteToEditor(text: string): void {
        show("paste", { text: String(text) });
    },
    getEditorText(): string {
        inSession();
        return ask("get_editor_text") ?? "";
    },
    setWorkingMessage(message?: string): void {
        show("working_message", { text: words(message) });
    },
    setWorkingVisible(visible: boolean): void {
        show("working_visible", { visible: Boolean(visible) });
    },
    setWorkingIndicator(options?: { frames?: string[]; intervalMs?: number }): void {
        const frames = options?.frames && Array.from(options.frames, String);
        show("working_indicator", { frames, intervalMs: options?.intervalMs });
    },
    setHiddenThinkingLabel(label?: string): void {
        show("hidden_thinking_label", { text: words(label) });
    },
    getToolsExpanded(): boolean {
        inSession();
        return ask("get_tools_expanded") === true;
    },
    setToolsExpanded(expanded: boolean): void {
        show("tools_expanded", { expanded: Boolean(expanded) });
    },

    async custom(factory: any, options?: any): Promise<unknown> {
        return screen()?.custom(factory, options);
    },
    onTerminalInput(listener: any): () => void {
        return screen()?.onTerminalInput(listener) ?? (() => {});
    },
    setFooter(factory?: any): void {
        screen()?.setFooter(factory);
    },
    setHeader(factory?: any): void {
        screen()?.setHeader(factory);
    },
    setEditorComponent(factory?: any): void {
        screen()?.setEditorComponent(factory);
    },
    getEditorComponent(): unknown {
        return screen()?.getEditorComponent();
    },
    addAutocompleteProvider(factory: any): void {
        screen()?.addAutocompleteProvider(factory);
    },

    get theme() {
        return ask("about").mode === "tui" ? painted(ask({ theme: {} })) : theme;
    },
    getAllThemes(): { name: string; path: string | undefined }[] {
        inSession();
        return ask("themes");
    },
    getTheme(name: string): unknown {
        inSession();
        const found = ask({ theme: { name: String(name) } });
        return found && painted(found);
    },
    setTheme(chosen: any): { success: boolean; error?: string } {
        inSession();
        const answer = ask({ set_theme: { name: String(chosen?.name ?? chosen) } });
        forgetTheme();
        screen()?.invalidate();
        return answer;
    },
};
