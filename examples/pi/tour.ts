// A tour of `ctx.ui`: every way to talk to the user, and what comes back when nobody is there.
//
//     becket -e examples/pi/tour.ts "/tour"
//
// Nothing here waits for ever: without a user dialogs answer `undefined` or `false` at once, and what belongs to pi's
// screen does nothing.

import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";

async function dialogs(ctx: ExtensionCommandContext): Promise<string[]> {
    const drink = await ctx.ui.select("What do you drink?", ["tea", "coffee"], { timeout: 60_000 });
    const sure = await ctx.ui.confirm("Sure?", `You want ${drink ?? "nothing"}.`);
    const name = await ctx.ui.input("Who are you?", "a name");
    const poem = await ctx.ui.editor("A few words, please", "Roses are red");
    const drawn = await ctx.ui.custom(() => ({ render: () => ["a component"], invalidate() {} }) as any);
    return [`drink: ${drink}`, `sure: ${sure}`, `name: ${name}`, `poem: ${poem}`, `drawn: ${drawn}`];
}

function screen(ctx: ExtensionCommandContext): void {
    ctx.ui.setTitle("on tour");
    ctx.ui.setWidget("tour", ["a line above the editor"], { placement: "aboveEditor" });
    ctx.ui.setHeader(undefined);
    ctx.ui.setFooter(undefined);
    ctx.ui.setWorkingMessage("wandering about");
    ctx.ui.setWorkingVisible(true);
    ctx.ui.setWorkingIndicator({ frames: ["*"] });
    ctx.ui.setHiddenThinkingLabel("thoughts");
    ctx.ui.setEditorText("typed by an extension");
    ctx.ui.pasteToEditor(" and pasted");
    ctx.ui.setToolsExpanded(!ctx.ui.getToolsExpanded());
    ctx.ui.addAutocompleteProvider((current) => current);
    ctx.ui.setEditorComponent(ctx.ui.getEditorComponent());
    const stop = ctx.ui.onTerminalInput(() => undefined);
    stop();
}

function colours(ctx: ExtensionCommandContext): string {
    const dark = ctx.ui.getTheme("dark");
    const changed = ctx.ui.setTheme(dark ?? "dark");
    const themes = ctx.ui.getAllThemes();
    const words = ctx.ui.theme.bold(ctx.ui.theme.fg("accent", "in colour where there are colours"));
    const known = dark === undefined ? "unknown" : "known";
    return `${words}; themes: ${themes.length}, dark is ${known}, changed: ${changed.success}`;
}

export default function (pi: ExtensionAPI) {
    pi.registerCommand("tour", {
        description: "Show every way to talk to the user",
        handler: async (_args, ctx) => {
            ctx.ui.setStatus("tour", "on tour");
            const answers = await dialogs(ctx);
            screen(ctx);
            const editor = `editor: "${ctx.ui.getEditorText()}"`;
            const tools = `tools are shown in full: ${ctx.ui.getToolsExpanded()}`;
            ctx.ui.notify([...answers, colours(ctx), editor, tools].join("\n"));
            ctx.ui.setStatus("tour", undefined);
            const details = { answers };
            pi.sendMessage({ customType: "tour", content: "The tour is over.", display: true, details });
        },
    });

    // How the message of the tour and other things are drawn, where somebody draws them.
    pi.registerMessageRenderer("tour", () => undefined);
    pi.registerEntryRenderer?.("tour", () => undefined);
    pi.registerToolRenderer?.(() => undefined);
    pi.registerMarkdownTransformer?.((markdown: string) => markdown);
}
