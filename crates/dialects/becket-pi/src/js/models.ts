// `ctx.modelRegistry`: the models there are. Keys stay with the program: an extension learns whether there is one, and
// gets a word in its place that says so. Requests that go through the program (`complete`) need no key.

import { ask, askUntil, inSession, room } from "pi:host";
import { found, native, registered, registeredNames, registerProvider, unregisterProvider } from "pi:providers";

type Model = { provider: string; id: string; [name: string]: unknown };

/** Stands where pi gives a key. Extensions look whether there is one before they ask a model. */
export const KEPT = "kept-by-becket";

function models(available: boolean): Model[] {
    inSession();
    return ask({ models: { available } });
}

/** A model by its name. Of providers that becket knows by itself every name is believed. */
export function find(provider: string, id?: string, available = false): Model | undefined {
    inSession();
    return ask({ find_model: { provider, id, available } }) ?? undefined;
}

export const isUsable = (provider: string, id?: string): boolean => find(provider, id, true) !== undefined;

/** Asks a model, outside of the session; `by` says by which interface, and with which key of the extension's own. */
export async function complete(model: Model, context: unknown, options: any = {}, by?: any): Promise<unknown> {
    inSession();
    const { maxTokens, temperature, reasoning, signal } = options;
    const wanted = { maxTokens, temperature, reasoning };
    const own = by && { ...by, apiKey: by.apiKey === KEPT ? undefined : by.apiKey };
    return askUntil(signal, (id) => ({ model_complete: { id, model, context, options: wanted, by: own } }));
}

const ofType = (type: string, provider: string | undefined, available: boolean): Model[] =>
    type === "chat" ? models(available).filter((model) => provider === undefined || model.provider === provider) : [];

/** A provider that has models, as pi's packages describe one. */
function providerOf(id: string): unknown {
    const known = models(false).filter((model) => model.provider === id);
    if (known.length === 0) return undefined;
    const { stream, streamSimple } = modelRegistry;
    return { id, name: id, baseUrl: known[0].baseUrl, auth: {}, getModels: () => known, stream, streamSimple };
}

/** What requests to a provider carry. The program's keys stay with it; what an extension finds itself is its own. */
async function authOf(id: string): Promise<unknown> {
    const own = native(id);
    if (own?.auth?.apiKey !== undefined) return found(own);
    if (!isUsable(id)) return undefined;
    const { baseUrl, headers = {} }: any = registered(id) ?? providerOf(id) ?? {};
    return { auth: { apiKey: KEPT, headers, baseUrl } };
}

export const modelRegistry: Record<string, unknown> = {
    getAll: () => models(false),
    getAvailable: () => models(true),
    find: (provider: string, id: string) => find(provider, id),
    hasConfiguredAuth: (model: Model) => isUsable(model.provider, model.id),
    getProviderAuthStatus: (provider: string) => ({ configured: isUsable(provider) }),
    getProviderDisplayName: (provider: string) => provider,
    getProvider: (provider: string) => native(provider) ?? providerOf(provider),
    getRegisteredNativeProvider: (provider: string) => native(provider),
    getProviderAuth: authOf,
    // All models that becket knows answer in words.
    getModelsOfType: (type: string, provider?: string) => ofType(type, provider, false),
    getAvailableOfType: async (type: string, provider?: string) => ofType(type, provider, true),
    getModelOfType: (type: string, provider: string, id: string) =>
        type === "chat" ? find(provider, id) : undefined,
    findOfType: (type: string, provider: string, id: string) => (type === "chat" ? find(provider, id) : undefined),
    isUsingOAuth: () => false,
    getApiKey: async (model: Model) => (isUsable(model.provider, model.id) ? KEPT : undefined),
    getApiKeyForProvider: async (provider: string) => (isUsable(provider) ? KEPT : undefined),
    getApiKeyAndHeaders: async (model: Model) =>
        isUsable(model.provider, model.id)
            ? { ok: true, apiKey: KEPT, headers: {} }
            : { ok: false, error: `No API key found for "${model.provider}"` },
    complete,
    stream: (...values: unknown[]) => room("pi:ai-stream").stream(...values),
    streamSimple: (...values: unknown[]) => room("pi:ai-stream").streamSimple(...values),
    // The models are asked for whenever somebody looks, so there is nothing to read again.
    refresh: async () => {},
    getError: () => undefined,
    registerProvider,
    unregisterProvider,
    getRegisteredProviderConfig: (name: string) => registered(name),
    getRegisteredProviderIds: () => registeredNames(),
    registerVirtualModel: (model: unknown): void => room("pi:virtual-models").registerVirtualModel(model),
    unregisterVirtualModel: (provider: string, id: string): void =>
        room("pi:virtual-models").unregisterVirtualModel(provider, id),
    get authStorage() {
        return room("pi:auth").authStorage;
    },
};
