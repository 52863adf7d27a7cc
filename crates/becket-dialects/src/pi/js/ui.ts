// `ctx.ui`: how an extension talks to the person.
//
// All dialogs are one call to the program, which knows whether anybody is there; nobody means `undefined`, or `false`
// for a confirmation. Words and lines of state go to the program as well. What only a terminal with pi's own screen can
// show (components, editors, footers, titles) does nothing, as pi does where there is none.

import { ask, askUntil, inSession } from "pi:host";
import { theme } from "pi:theme";

type Options = { signal?: AbortSignal; timeout?: number } | undefined;

/** Asks the person. The answer of a dialog that its signal has closed is nothing. */
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

/** Does nothing where there is no screen, but only while there is a session. */
function idle(): void {
    inSession();
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
        inSession();
        const level = LEVELS.includes(type as string) ? type : "info";
        ask({ notify: { message: String(message), level } });
    },
    setStatus(key: string, text?: string): void {
        inSession();
        const line = text === undefined || text === null ? undefined : String(text);
        ask({ set_status: { key: String(key), text: line } });
    },

    async custom(): Promise<undefined> {
        inSession();
        return undefined;
    },
    onTerminalInput(): () => void {
        inSession();
        return () => {};
    },
    setWorkingMessage: idle,
    setWorkingVisible: idle,
    setWorkingIndicator: idle,
    setHiddenThinkingLabel: idle,
    setWidget: idle,
    setFooter: idle,
    setHeader: idle,
    setTitle: idle,
    pasteToEditor: idle,
    setEditorText: idle,
    getEditorText(): string {
        inSession();
        return "";
    },
    addAutocompleteProvider: idle,
    setEditorComponent: idle,
    getEditorComponent: idle,

    get theme() {
        return theme;
    },
    getAllThemes(): { name: string; path: string | undefined }[] {
        inSession();
        return [];
    },
    getTheme: idle,
    setTheme(): { success: boolean; error?: string } {
        inSession();
        return { success: false, error: "UI not available" };
    },
    getToolsExpanded(): boolean {
        inSession();
        return false;
    },
    setToolsExpanded: idle,
};
