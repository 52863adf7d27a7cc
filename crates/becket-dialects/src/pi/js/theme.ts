// pi's theme, as extensions use it to colour their words. Where nobody looks at a terminal there are no colours: every
// style gives the text back as it is. Colours come in at one place, `paint`.

/** Puts a style around a text. */
type Paint = (style: string, text: string) => string;

const plain: Paint = (_style, text) => text;

export class Theme {
    readonly sourcePath: string | undefined = undefined;

    constructor(readonly name: string = "plain", private readonly paint: Paint = plain) {}

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
