// An extension as people write them: a gate, a transformed prompt, a tool with state, a command.
import { Type } from "typebox";
import { join } from "node:path";

interface Todo {
    id: number;
    text: string;
    done: boolean;
}

type Action = "list" | "add" | "toggle" | "clear";

enum Level {
    Careful = "careful",
    Relaxed = "relaxed",
}

const DANGEROUS: RegExp[] = [/\brm\s+(-rf?|--recursive)/i, /\bsudo\b/i, /\b(chmod|chown)\b.*777/i];

const Parameters = Type.Object({
    action: Type.String({ description: "What to do" }),
    text: Type.Optional(Type.String({ description: "The text of what is to be done" })),
    id: Type.Optional(Type.Number({ description: "Its number" })),
});

class Todos {
    private todos: Todo[] = [];
    private next = 1;

    constructor(private readonly level: Level) {}

    add(text: string): Todo {
        const todo: Todo = { id: this.next++, text, done: false };
        this.todos.push(todo);
        return todo;
    }

    toggle(id: number): Todo | undefined {
        const todo = this.todos.find((one) => one.id === id);
        if (todo) todo.done = !todo.done;
        return todo;
    }

    clear(): number {
        const count = this.todos.length;
        this.todos = [];
        this.next = 1;
        return count;
    }

    toString(): string {
        if (this.todos.length === 0) return "Nothing to do";
        const lines = this.todos.map((todo) => `[${todo.done ? "x" : " "}] #${todo.id}: ${todo.text}`);
        return this.level === Level.Careful ? `${lines.join("\n")}\nTake care.` : lines.join("\n");
    }
}

function apply(todos: Todos, action: Action, text?: string, id?: number): { content: object[]; details: object } {
    const answer = (words: string) => ({ content: [{ type: "text", text: words }], details: { action } });
    switch (action) {
        case "list":
            return answer(String(todos));
        case "add": {
            if (!text) return answer("Error: a text is needed to add something");
            const todo = todos.add(text);
            return answer(`Added #${todo.id}: ${todo.text}`);
        }
        case "toggle": {
            if (id === undefined) return answer("Error: a number is needed to toggle something");
            const todo = todos.toggle(id);
            return answer(todo ? `#${todo.id} is ${todo.done ? "done" : "open"}` : `There is no #${id}`);
        }
        case "clear":
            return answer(`Cleared ${todos.clear()}`);
        default:
            return answer(`Unknown action: ${action}`);
    }
}

export default function (pi: any) {
    const todos = new Todos(Level.Careful);
    let enabled = false;

    pi.on("small", async (event: any, ctx: any) => {
        if (event.toolName !== "bash") return undefined;
        const command = event.input.command as string;
        if (!DANGEROUS.some((pattern) => pattern.test(command))) return { seen: command };
        if (!ctx?.hasUI) return { block: true, reason: "Dangerous command blocked (nobody to ask)" };
        const choice = await ctx.ui.select(`Dangerous: ${command}`, ["Yes", "No"]);
        return choice === "Yes" ? undefined : { block: true, reason: "Blocked by the user" };
    });

    pi.on("ignored", async (event: any) => ({ seen: event.toolName }));

    pi.on("read", async (event: any) => {
        let letters = 0;
        for (const message of event.messages) letters += message.content[0].text.length;
        return { letters };
    });

    pi.on("before_agent_start", async (event: any) => {
        if (!enabled) return undefined;
        const file = join("notes", "todo.md");
        return { systemPrompt: `${event.systemPrompt}\nKeep a list of what is to be done in ${file}.` };
    });

    pi.registerTool({
        name: "todo",
        label: "Todo",
        description: "Keeps a list of what is to be done",
        parameters: Parameters,
        async execute(_id: string, params: any) {
            return apply(todos, params.action, params.text, params.id);
        },
    });

    pi.registerCommand("todos", {
        description: "Turns the list on or off",
        handler: async (_args: string, ctx: any) => {
            enabled = !enabled;
            ctx.ui.notify(enabled ? "The list is on" : "The list is off", "info");
        },
    });
}
