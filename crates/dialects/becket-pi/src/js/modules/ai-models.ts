// Models as pi describes them. Which there are, becket says: its own list is short, but it believes every name of a
// provider that it knows.
import { ask } from "pi:host";

type Model = any;

const all = (): Model[] => ask({ models: { available: false } });

export const getModels = (provider: string): Model[] => all().filter((model) => model.provider === provider);
export const getModel = (provider: string, id: string): Model | undefined =>
  ask({ find_model: { provider, id, available: false } }) ?? undefined;
export const getProviders = (): string[] => [...new Set(all().map((model) => model.provider))];
export const getBuiltinModel = getModel;
export const getBuiltinModels = getModels;
export const getBuiltinProviders = getProviders;
export const getAllBuiltinModels = all;

/** Fills in what a usage costs, by the model's prices for a million tokens. */
export function calculateCost(model: Model, usage: any): any {
  const cost = usage.cost;
  cost.total = 0;
  for (const part of ["input", "output", "cacheRead", "cacheWrite"]) {
    cost[part] = (model.cost[part] / 1_000_000) * usage[part];
    cost.total += cost[part];
  }
  return cost;
}

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];

/** The levels of thinking that a model knows; the highest only if it says so. */
export function getSupportedThinkingLevels(model: Model): string[] {
  if (!model.reasoning) return ["off"];
  const map = model.thinkingLevelMap ?? {};
  return LEVELS.filter((level) => map[level] !== null && (level !== "xhigh" || map[level] !== undefined));
}

export const supportsXhigh = (model: Model): boolean => getSupportedThinkingLevels(model).includes("xhigh");

/** The level itself, or the nearest that the model knows: first upwards, then downwards. */
export function clampThinkingLevel(model: Model, level: string): string {
  const known = getSupportedThinkingLevels(model);
  const wanted = LEVELS.indexOf(level);
  if (wanted === -1) return known[0] ?? "off";
  const nearest = [...LEVELS.slice(wanted), ...LEVELS.slice(0, wanted).reverse()];
  return nearest.find((candidate) => known.includes(candidate)) ?? "off";
}

export const modelsAreEqual = (a: Model, b: Model): boolean =>
  Boolean(a && b) && a.id === b.id && a.provider === b.provider;
export const getModelType = (model: Model): string => model.type ?? "chat";
export const isModelType = (model: Model, type: string): boolean => getModelType(model) === type;
export const hasApi = (model: Model, api: string): boolean => isModelType(model, "chat") && model.api === api;

/** The variables of the environment that hold a provider's key. */
const KEYS: Record<string, string[]> = {
  anthropic: ["ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"],
  "azure-openai-responses": ["AZURE_OPENAI_API_KEY"],
  cerebras: ["CEREBRAS_API_KEY"],
  "cloudflare-ai-gateway": ["CLOUDFLARE_API_KEY"],
  "cloudflare-workers-ai": ["CLOUDFLARE_API_KEY"],
  deepseek: ["DEEPSEEK_API_KEY"],
  fireworks: ["FIREWORKS_API_KEY"],
  "github-copilot": ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
  google: ["GEMINI_API_KEY"],
  "google-vertex": ["GOOGLE_CLOUD_API_KEY"],
  groq: ["GROQ_API_KEY"],
  huggingface: ["HF_TOKEN"],
  "kimi-coding": ["KIMI_API_KEY"],
  minimax: ["MINIMAX_API_KEY"],
  "minimax-cn": ["MINIMAX_CN_API_KEY"],
  mistral: ["MISTRAL_API_KEY"],
  moonshotai: ["MOONSHOT_API_KEY"],
  "moonshotai-cn": ["MOONSHOT_API_KEY"],
  openai: ["OPENAI_API_KEY"],
  opencode: ["OPENCODE_API_KEY"],
  "opencode-go": ["OPENCODE_API_KEY"],
  openrouter: ["OPENROUTER_API_KEY"],
  "vercel-ai-gateway": ["AI_GATEWAY_API_KEY"],
  xai: ["XAI_API_KEY"],
  xiaomi: ["XIAOMI_API_KEY"],
  "xiaomi-token-plan-ams": ["XIAOMI_TOKEN_PLAN_AMS_API_KEY"],
  "xiaomi-token-plan-cn": ["XIAOMI_TOKEN_PLAN_CN_API_KEY"],
  "xiaomi-token-plan-sgp": ["XIAOMI_TOKEN_PLAN_SGP_API_KEY"],
  zai: ["ZAI_API_KEY"],
};

export function findEnvKeys(provider: string): string[] | undefined {
  const set = (KEYS[provider] ?? []).filter((name) => process.env[name]);
  return set.length > 0 ? set : undefined;
}

export const getEnvApiKey = (provider: string): string | undefined => {
  const [name] = findEnvKeys(provider) ?? [];
  return name && process.env[name];
};
