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

/** What draws tools, where the extension has a say in it. */
const resolved = new Map<string, any>();

export function render_call(call: any): string[] | null {
    const tool: any = resolved.get(call.tool) ?? tools.get(call.tool);
    return drawn(() => tool?.renderCall?.(call.args, theme, contextOf(call)), call.width);
}

export function render_result(call: any): string[] | null {
    const tool: any = resolved.get(call.tool) ?? tools.get(call.tool);
    const { result, expanded } = call;
    return drawn(
        () => tool?.renderResult?.(result, { expanded, isPartial: false }, theme, contextOf(call)),
        call.width,
    );
}

/** Stands for what somebody else draws. Who calls it instead of passing it on sees the tool's name. */
const elsewhere = (name: string) => ({ renderCall: passed(name), renderResult: passed(name) });
const passed = (name: string) => Object.assign(() => ({ render: () => [name] }), { isElsewhere: true });

function whose(draw: any): string {
    return typeof draw !== "function" ? "nobody" : draw.isElsewhere ? "others" : "own";
}

/** Asks the extension's functions who draws a tool, each with what those behind it would say. */
export function resolve_renderers({ tool, others }: any): unknown {
    const last = () => tools.get(tool) ?? (others ? elsewhere(tool) : undefined);
    const chain = renderers.tools.reduceRight((next: () => any, resolver) => () => {
        try {
            return resolver(tool, next);
        } catch (error) {
            report("renderer", error);
            return next();
        }
    }, last);
    const found = chain();
    resolved.set(tool, found);
    return { call: whose(found?.renderCall), result: whose(found?.renderResult) };
}

/** A text as the extension wants it to look. One function that fails keeps none of the others from it. */
export function transform_markdown({ markdown, messageType, isStreaming, width }: any): string {
    for (const transform of renderers.markdown) {
        try {
            const changed = transform(markdown, { messageType, isStreaming, availableWidth: width });
            if (typeof changed === "string") markdown = changed;
        } catch (error) {
            report("markdown", error);
        }
    }
    return markdown;
}

/** Draws an entry where the user sees it, if somebody draws its kind. */
export function showEntry(customType: string, data: unknown): void {
    const draw: any = renderers.entries.get(customType);
    const size = draw && ask("screen_size");
    if (!size) return;
    const entry = { type: "custom", customType, data };
    const lines = drawn(() => draw(entry, { expanded: false }, theme), size.columns);
    if (lines !== null) ask({ print: { lines } });
}
