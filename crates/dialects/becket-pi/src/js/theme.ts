// pi's theme, as extensions use it to colour their words. Where nobody looks at a screen there are no colours: every
// style gives the text back as it is. Colours come in at one place, `paint`. A theme that somebody asks for by its name
// has them all.

import { ask } from "pi:host";

/** Puts a style around a text. */
type Paint = (style: string, text: string) => string;

const plain: Paint = (_style, text) => text;

let inUse: Paint | undefined;

/** Paints with the theme that was chosen, where there is a screen. */
const chosen: Paint = (style, text) => {
    if (inUse === undefined) {
        const onScreen = ask("about").mode === "tui";
        const found = onScreen ? ask({ theme: {} }) : undefined;
        // As long as there is no agent nobody has chosen one.
        if (onScreen && !found) return text;
        inUse = found ? painter(found.colors) : plain;
    }
    return inUse(style, text);
};

/** Another theme may have been chosen. */
export function forgetTheme(): void {
    inUse = undefined;
}

/** A colour: `#rrggbb`, the number of one of 256, or an empty text for the terminal's own. */
type Color = string | number;

/** What begins and ends each style that is no colour. */
const STYLES: Record<string, [number, number]> = {
    bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], strikethrough: [9, 29],
};

function code(color: Color, ground: number): string {
    if (color === "") return `${ground + 1}`;
    if (typeof color === "number") return `${ground};5;${color}`;
    const part = (at: number) => parseInt(color.slice(at, at + 2), 16);
    return `${ground};2;${part(1)};${part(3)};${part(5)}`;
}

/** Puts a theme's colours around texts, as terminals understand them. */
function painter(colors: Record<string, Color>): Paint {
    return (style, text) => {
        const [kind, name] = style.split(":");
        if (name === undefined) return `\x1b[${STYLES[kind][0]}m${text}\x1b[${STYLES[kind][1]}m`;
        const color = colors[name];
        if (color === undefined) throw new Error(`Unknown theme color: ${name}`);
        const ground = kind === "fg" ? 38 : 48;
        return `\x1b[${code(color, ground)}m${text}\x1b[${ground + 1}m`;
    };
}

/** A theme with its colours, as the program knows it. */
export function painted(found: { name: string; path?: string; colors: Record<string, Color> }): Theme {
    return new Theme(found.name, painter(found.colors), found.path);
}

export class Theme {
    constructor(
        readonly name: string = "plain",
        private readonly paint: Paint = chosen,
        readonly sourcePath: string | undefined = undefined,
    ) {}

    fg(color: string, text: string): string { return this.paint(`fg:${color}`, text); }
    bg(color: string, text: string): string { return this.paint(`bg:${color}`, text); }
    bold(text: string): string { return this.paint("bold", text); }
    dim(text: string): string { return this.paint("dim", text); }
    italic(text: string): string { return this.paint("italic", text); }
    underline(text: string): string { return this.paint("underline", text); }
    inverse(text: string): string { return this.paint("inverse", text); }
    strikethrough(text: string): string { return this.paint("strikethrough", text); }

    /** The code that begins a colour: what stands before a painted text. */
    getFgAnsi(color: string): string { return this.fg(color, "\0").split("\0")[0]; }
    getBgAnsi(color: string): string { return this.bg(color, "\0").split("\0")[0]; }
    getColorMode(): "truecolor" | "256color" { return "256color"; }

    getThinkingBorderColor(level: string): (text: string) => string {
        return (text) => this.fg(`thinking${level[0].toUpperCase()}${level.slice(1)}`, text);
    }

    getBashModeBorderColor(): (text: string) => string {
        return (text) => this.fg("bashMode", text);
    }
}

export const theme = new Theme();
