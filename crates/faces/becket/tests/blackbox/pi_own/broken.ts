// An extension with one part of pi's API broken, so that a test can say whether it would notice.
//
// `broken(factory, how, name)` is the same extension. `name` is an event for `hears`, else a member as it is written:
// `pi.exec`, `ctx.ui.notify`. What `how` means: `hears`, the handler is never called; `does`, the member does nothing;
// `tells`, it tells something else than it should; `takes`, it throws.

type Factory = (pi: any) => unknown;
type Seen = { object: any; path: string };

/** The objects whose members can be broken, besides `pi` and `ctx`. */
const INNER = ["ctx.ui", "ctx.sessionManager", "ctx.modelRegistry"];

function isContext(value: any): boolean {
    return typeof value === "object" && value !== null && "sessionManager" in value && "hasUI" in value;
}

/** Something of the same kind that is not true. */
function lie(value: any): any {
    if (value instanceof Promise) return value.then(lie);
    if (value === undefined || value === null) return "a lie";
    if (typeof value === "boolean") return !value;
    if (typeof value === "number") return value + 1;
    if (typeof value === "string") return `not ${value}`;
    if (typeof value === "function") return (...given: any[]) => lie(value(...given));
    if (Array.isArray(value)) return value.length === 0 ? ["a lie"] : [];
    if (Object.getPrototypeOf(value) !== Object.prototype) return undefined;
    return Object.fromEntries(Object.keys(value).map((name) => [name, lie(value[name])]));
}

function mute(value: any): any {
    if (typeof value !== "object" || value === null) return () => undefined;
    return Object.fromEntries(Object.keys(value).map((name) => [name, () => undefined]));
}

export function broken(factory: Factory, how: string, name: string): Factory {
    function instead({ object, path }: Seen): any {
        if (how === "takes") throw new Error(`${path} is broken`);
        const value = object[path.slice(path.lastIndexOf(".") + 1)];
        if (how === "does") return mute(value);
        if (typeof value !== "function") return lie(value);
        return (...given: any[]) => lie(value.apply(object, given));
    }

    /** What the extension hands over: when it is called, it sees broken contexts too. */
    function listening(value: any): any {
        if (typeof value === "function") {
            const shown = (one: any) => (isContext(one) ? seen(one, "ctx") : one);
            return (...given: any[]) => value(...given.map(shown));
        }
        if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
        const parts = Object.keys(value).map((part) => {
            const own = value[part];
            return [part, typeof own === "function" ? listening(own) : own];
        });
        return Object.fromEntries(parts);
    }

    function seen(object: any, path: string): any {
        return new Proxy(object, {
            get(_target, key) {
                const member = `${path}.${String(key)}`;
                if (how !== "hears" && member === name) return instead({ object, path: member });
                const value = object[key];
                if (INNER.includes(member)) return seen(value, member);
                if (path !== "pi" || typeof value !== "function") return value;
                return (...given: any[]) => {
                    if (how === "hears" && key === "on" && given[0] === name) return () => {};
                    return value.apply(object, given.map(listening));
                };
            },
        });
    }

    return (pi) => factory(seen(pi, "pi"));
}
