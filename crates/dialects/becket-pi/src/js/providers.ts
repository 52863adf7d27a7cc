// Providers of models that an extension brings: an address with a known interface, or a function that streams by
// itself and is driven from here.

import { ask, askLater, messageOf, mustBe, notOver, report, serve } from "pi:host";

type Config = Record<string, any>;

const providers = new Map<string, Config>();
/** Providers that were given as a whole, as newer versions take them. */
const natives = new Map<string, Config>();
const streams = new Map<number, AbortController>();

/** What pi's providers can do besides, and becket's cannot. */
const OTHERS = ["oauth", "images", "classifiers", "refreshModels"];

/** Brings a provider, or changes one: what is not said stays as it was. Newer versions also take a whole provider. */
export function registerProvider(name: string | Config, config: Config): void {
    notOver();
    if (typeof name === "object" && name !== null) {
        mustBe("string", name.id, "registerProvider: the id of the provider");
        providers.delete(name.id);
        registerProvider(name.id, configOf(name));
        natives.set(name.id, name);
        return;
    }
    mustBe("string", name, "registerProvider: the name");
    const said = Object.entries(config ?? {}).filter(([, value]) => value !== undefined);
    const all: Config = { ...providers.get(name), ...Object.fromEntries(said) };
    check(name, all);
    for (const other of OTHERS) {
        if (config?.[other] !== undefined) {
            report("register_provider", `not supported by becket yet: ${other} of the provider ${name}`);
        }
    }
    const { baseUrl, apiKey, api, headers = {}, authHeader = false, models } = all;
    const streaming = typeof all.streamSimple === "function";
    ask({
        register_provider: {
            name, label: all.name, baseUrl, apiKey, api, headers, authHeader, models, streams: streaming,
            oauth: Boolean(all.oauth),
        },
    });
    providers.set(name, all);
}

/** A whole provider as a configuration: it streams by itself, with the key that its own functions find. */
function configOf(provider: Config): Config {
    const { id, name, headers, auth = {}, refreshModels } = provider;
    mustBe("function", provider.getModels, `registerProvider("${id}"): getModels`);
    mustBe("function", provider.streamSimple, `registerProvider("${id}"): streamSimple`);
    const models = [...provider.getModels()];
    return {
        name,
        models,
        refreshModels,
        oauth: auth.oauth,
        baseUrl: provider.baseUrl ?? models[0]?.baseUrl ?? "provider:",
        api: models[0]?.api ?? "provider",
        // The program asks for no key: the provider has ways of its own.
        apiKey: "none",
        streamSimple: async (model: any, context: any, options: any) => {
            const known = await resolved(provider, options?.signal);
            const baseUrl = known?.baseUrl ?? model.baseUrl ?? provider.baseUrl;
            const all = { ...headers, ...known?.headers, ...options?.headers };
            const given = { ...options, apiKey: known?.apiKey, headers: all };
            return provider.streamSimple({ ...model, baseUrl }, context, given);
        },
    };
}

/** What a whole provider finds about its key by itself. */
export async function found({ auth }: Config, signal = new AbortController().signal): Promise<any> {
    const { env } = (globalThis as any).process;
    const ctx = { env: async (name: string) => env[name], fileExists: async () => false };
    return auth.apiKey.resolve({ ctx, credential: undefined, signal });
}

/** What a whole provider needs for a request. */
async function resolved(provider: Config, signal?: AbortSignal): Promise<any> {
    if (provider.auth?.apiKey === undefined) return undefined;
    const known = await found(provider, signal);
    if (known === undefined) throw new Error(`No API key found for ${provider.id}`);
    return known.auth;
}

/** A whole provider that this extension has registered. */
export const native = (name: string): Config | undefined => natives.get(name);

/** A provider as this extension has registered it. */
export const registered = (name: string): Config | undefined => providers.get(name);

/** The names of the providers that this extension has registered. */
export const registeredNames = (): string[] => [...providers.keys()];

export function unregisterProvider(name: string): void {
    notOver();
    providers.delete(name);
    natives.delete(name);
    ask({ unregister_provider: { name } });
}

function check(name: string, config: Config): void {
    const { models, api, baseUrl, apiKey, oauth, streamSimple } = config;
    if (streamSimple && !api) {
        throw new Error(`Provider ${name}: "api" is required when registering streamSimple.`);
    }
    if (!models?.length) return;
    if (!baseUrl) throw new Error(`Provider ${name}: "baseUrl" is required when defining models.`);
    if (!apiKey && !oauth) {
        throw new Error(`Provider ${name}: "apiKey" or "oauth" is required when defining models.`);
    }
    const silent = models.find((model: Config) => !(model.api ?? api));
    if (silent) throw new Error(`Provider ${name}, model ${silent.id}: no "api" specified.`);
}

// -------------------------------------------------------------------- streams

/** Tells the program what a stream gives, until its end. */
async function drive(stream: number, events: any): Promise<unknown> {
    for await (const event of events) {
        if (event.type === "done") return event.message;
        if (event.type === "error") return event.error;
        const { partial, ...part } = event;
        ask({ provider_event: { stream, event: part } });
    }
    // A stream that is over has its result by now, or never.
    return Promise.race([events.result?.(), new Promise((resolve) => setTimeout(resolve, 0))]);
}

function failure(model: any, aborted: boolean, error: unknown): unknown {
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    return {
        role: "assistant",
        content: [],
        api: model.api,
        provider: model.provider,
        model: model.id,
        usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost },
        stopReason: aborted ? "aborted" : "error",
        errorMessage: messageOf(error),
        timestamp: Date.now(),
    };
}

serve("provider_stream", async ({ stream, provider, model, context, options }) => {
    const controller = new AbortController();
    streams.set(stream, controller);
    const told = {
        ...options,
        signal: controller.signal,
        onPayload: (payload: unknown) => askLater({ provider_payload: { stream, payload } }),
        onResponse: ({ status, headers }: any) =>
            askLater({ provider_response: { stream, status, headers } }),
        onProviderStreamEvent: (data: unknown) => ask({ provider_data: { stream, data } }),
    };
    try {
        const streamSimple = providers.get(provider)?.streamSimple;
        if (streamSimple === undefined) throw new Error(`the provider ${provider} does not stream by itself`);
        const message = await drive(stream, await streamSimple(model, context, told));
        if (message === undefined) {
            throw new Error(`the stream of ${provider} ended without "done" or "error"`);
        }
        return { message };
    } catch (error) {
        return { message: failure(model, controller.signal.aborted, error) };
    } finally {
        streams.delete(stream);
    }
});

serve("abort_stream", ({ stream }) => streams.get(stream)?.abort());
