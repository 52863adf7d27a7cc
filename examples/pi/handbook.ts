// A handbook: skills, prompt templates and themes from any folder of yours.
//
//     becket -e examples/pi/handbook.ts --handbook ~/handbook "/review the parser"
//
// In it, `skills` has a folder with a SKILL.md for each skill, `prompts` a Markdown file for each template, and
// `themes` a JSON file for each theme. `/handbook` lists what you can call.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
    pi.registerFlag("handbook", { type: "string", default: "handbook", description: "The folder of the handbook" });

    pi.on("resources_discover", (event) => {
        const folder = resolve(event.cwd, String(pi.getFlag("handbook")));
        const part = (name: string) => [join(folder, name)].filter((path) => existsSync(path));
        return { skillPaths: part("skills"), promptPaths: part("prompts"), themePaths: part("themes") };
    });

    pi.registerCommand("handbook", {
        description: "List what can be called by name",
        handler: async (_args, ctx) => {
            const called = pi.getCommands().filter((command) => command.source !== "extension");
            const lines = called.map(({ name, description }) => `/${name}: ${description}`);
            const themes = ctx.ui.getAllThemes().map((theme) => theme.name);
            const { skills = [] } = ctx.getSystemPromptOptions();
            const known = skills.filter((skill) => !skill.disableModelInvocation).map((skill) => skill.name);
            lines.push(`themes: ${themes.join(", ")}`, `the model knows: ${known.join(", ") || "nothing"}`);
            ctx.ui.notify(lines.join("\n"));
        },
    });
}
