// Draws messages, entries and tools as their extensions want it. The lines go to the program, which prints them.

import { renderers } from "pi:api";
import { about } from "pi:context";
import { ask, report } from "pi:host";
import { theme } from "pi:theme";
import { tools } from "pi:tools";

/** The lines of what a renderer makes; nothing where it makes none, or fails. */
function drawn(make: () => any, width: number): string[] | null {
    try {
        const component = make();
        return component === undefined || component === null ? null : Array.from(component.render(width), String);
    } catch (error) {
        report("renderer", error);
        return null;
    }
}

/** What renderers of tools are told besides. Nothing is drawn again, so there is nothing to keep. */
function contextOf({ args, expanded, isError = false }: any): unknown {
    return {
        args, toolCallId: "", invalidate() {}, lastComponent: undefined, state: {}, cwd: about.cwd,
        executionStarted: true, argsComplete: true, isPartial: false, expanded, showImages: false, isError,
    };
}

export function render_message({ message, width, expanded }: any): string[] | null {
    const draw: any = renderers.messages.get(message.customType);
    return drawn(() => draw?.(message, { expanded }, theme), width);
}

export function render_call(call: any): string[] | null {
    const tool: any = tools.get(call.tool);
    return drawn(() => tool?.renderCall?.(call.args, theme, contextOf(call)), call.width);
}

export function render_result(call: any): string[] | null {
    const tool: any = tools.get(call.tool);
    const { result, expanded } = call;
    return drawn(
        () => tool?.renderResult?.(result, { expanded, isPartial: false }, theme, contextOf(call)),
        call.width,
    );
}

/** Draws an entry where the person sees it, if somebody draws its kind. */
export function showEntry(customType: string, data: unknown): void {
    const draw: any = renderers.entries.get(customType);
    const size = draw && ask("screen_size");
    if (!size) return;
    const entry = { type: "custom", customType, data };
    const lines = drawn(() => draw(entry, { expanded: false }, theme), size.columns);
    if (lines !== null) ask({ print: { lines } });
}
