// `util.parseArgs`.

const { coded, argument } = require("internal/errors");

function problem(code: string, message: string): any {
    return coded(TypeError, `ERR_PARSE_ARGS_${code}`, message);
}

/** Splits words into tokens: options with their values, positionals, and the two dashes that end options. */
function tokensOf(words: string[], options: any): any[] {
    const tokens: any[] = [];
    const kind = (name: string) => options[name]?.type;
    const byShort = (letter: string) => Object.keys(options).find((name) => options[name].short === letter) ?? letter;
    for (let at = 0; at < words.length; at++) {
        const word = words[at];
        if (word === "--") {
            tokens.push({ kind: "option-terminator", index: at });
            words.slice(at + 1).forEach((value, more) => tokens.push({ kind: "positional", index: at + 1 + more, value }));
            break;
        }
        const push = (name: string, rawName: string, value: string | undefined, inlineValue?: boolean) =>
            tokens.push({ kind: "option", name, rawName, index: at, value, inlineValue });
        const next = (name: string) => kind(name) === "string" && words[at + 1] !== undefined;
        if (word.startsWith("--")) {
            const equals = word.indexOf("=");
            const name = equals < 0 ? word.slice(2) : word.slice(2, equals);
            if (equals >= 0) push(name, `--${name}`, word.slice(equals + 1), true);
            else if (next(name)) { push(name, word, words[at + 1], false); at++; }
            else push(name, word, undefined);
        } else if (word.startsWith("-") && word !== "-") {
            const letters = [...word.slice(1)];
            for (let letter = 0; letter < letters.length; letter++) {
                const name = byShort(letters[letter]);
                const rest = letters.slice(letter + 1).join("");
                if (kind(name) !== "string") { push(name, `-${letters[letter]}`, undefined); continue; }
                if (rest !== "") push(name, `-${letters[letter]}`, rest, true);
                else if (next(name)) { push(name, `-${letters[letter]}`, words[at + 1], false); at++; }
                else push(name, `-${letters[letter]}`, undefined);
                break;
            }
        } else {
            tokens.push({ kind: "positional", index: at, value: word });
        }
    }
    return tokens;
}

function parseArgs(config: any = {}): any {
    const { args = require("process").argv.slice(2), options = {}, strict = true, tokens: wanted = false } = config;
    const allowPositionals = config.allowPositionals ?? !strict;
    for (const [name, option] of Object.entries<any>(options)) {
        if (option.type !== "string" && option.type !== "boolean") {
            throw argument(`options.${name}.type`, "('string|boolean')", option.type);
        }
    }
    const values: any = Object.create(null);
    const positionals: string[] = [];
    const tokens = tokensOf(args, options);
    for (const token of tokens) {
        if (token.kind === "positional") {
            if (!allowPositionals) {
                throw problem("UNEXPECTED_POSITIONAL",
                    `Unexpected argument '${token.value}'. This command does not take positional arguments`);
            }
            positionals.push(token.value);
        } else if (token.kind === "option") {
            store(values, token, options, strict, allowPositionals, config.allowNegative);
        }
    }
    for (const [name, option] of Object.entries<any>(options)) {
        if (option.default !== undefined && values[name] === undefined) values[name] = option.default;
    }
    return wanted ? { values, positionals, tokens } : { values, positionals };
}

function store(values: any, token: any, options: any, strict: boolean, positionals: boolean, negative: boolean): void {
    let { name, value } = token;
    let given: any = value ?? true;
    if (negative && name.startsWith("no-") && options[name.slice(3)]?.type === "boolean") {
        name = name.slice(3);
        given = false;
    }
    const option = options[name];
    if (strict && option === undefined) {
        const hint = positionals ? `. To specify a positional argument starting with a '-', place it at the end of the ` +
            `command after '--', as in '-- "${token.rawName}"` : "";
        throw problem("UNKNOWN_OPTION", `Unknown option '${token.rawName}'${hint}`);
    }
    const shown = option?.short ? `-${option.short}, --${name}` : `--${name}`;
    if (strict && option.type === "string" && typeof given !== "string") {
        throw problem("INVALID_OPTION_VALUE", `Option '${shown} <value>' argument missing`);
    }
    if (strict && option.type === "boolean" && value !== undefined) {
        throw problem("INVALID_OPTION_VALUE", `Option '${shown}' does not take an argument`);
    }
    if (option?.multiple) (values[name] ??= []).push(given);
    else values[name] = given;
}

module.exports = { parseArgs };
