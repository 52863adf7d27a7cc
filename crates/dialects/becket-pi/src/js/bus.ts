// `pi.events`: a bus on which extensions talk to each other. Listeners in the same extension are given what was emitted
// as it is; others, who live in engines of their own, a copy of its data.

import { ask, report, serve } from "pi:host";

type Listener = (data: unknown) => unknown;

const listeners = new Map<string, Set<Listener>>();

/** Calls whoever listens. What they throw is reported, and the others go on. */
function tell(channel: string, data: unknown): void {
    const failed = (error: unknown) => report(`event:${channel}`, error);
    for (const listener of [...(listeners.get(channel) ?? [])]) {
        try {
            Promise.resolve(listener(data)).catch(failed);
        } catch (error) {
            failed(error);
        }
    }
}

serve("bus_event", ({ channel, data }) => tell(channel, data));

export const events = {
    emit(channel: string, data?: unknown): void {
        tell(channel, data);
        try {
            ask({ bus_emit: { channel, data } });
        } catch (error) {
            report(`event:${channel}`, error);
        }
    },
    on(channel: string, listener: Listener): () => void {
        let known = listeners.get(channel);
        if (known === undefined) {
            listeners.set(channel, (known = new Set()));
            ask({ bus_listen: { channel } });
        }
        // The same function may listen twice.
        const own: Listener = (data) => listener(data);
        known.add(own);
        return () => known.delete(own);
    },
};
