// `modelRegistry.authStorage`: which providers have a key. Keys stay with the program, so what an extension reads is a
// word in their place; a key that it sets itself is its own, and is forgotten with the run.

import { isUsable, KEPT } from "pi:models";

type Credential = { type: string; key?: string; [name: string]: unknown };

const own = new Map<string, Credential>();

const get = (provider: string): Credential | undefined =>
    own.get(provider) ?? (isUsable(provider) ? { type: "api_key", key: KEPT } : undefined);

export const authStorage = {
    get,
    has: (provider: string): boolean => get(provider) !== undefined,
    hasAuth: (provider: string): boolean => get(provider) !== undefined,
    getAuthStatus: (provider: string) => ({ configured: get(provider) !== undefined }),
    getApiKey: async (provider: string): Promise<string | undefined> => get(provider)?.key,
    set: (provider: string, credential: Credential): void => void own.set(provider, credential),
    setRuntimeApiKey: (provider: string, key: string): void => void own.set(provider, { type: "api_key", key }),
    remove: (provider: string): void => void own.delete(provider),
    removeRuntimeApiKey: (provider: string): void => void own.delete(provider),
    logout: (provider: string): void => void own.delete(provider),
    list: (): string[] => [...own.keys()],
    getAll: (): Record<string, Credential> => Object.fromEntries(own),
    getOAuthProviders: (): unknown[] => [],
    setFallbackResolver: (): void => {},
    drainErrors: (): unknown[] => [],
    // There is no file: what can be used is asked for whenever somebody looks.
    reload: (): void => {},
};
