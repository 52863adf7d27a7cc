// pi's settings: `settings.json` of its folder, and that of a project over it. They say what pi would do, so extensions
// find them; what becket does stands in its own settings.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { getAgentDir } from "pi:agent-folder";

type Settings = Record<string, any>;

/** What can be read and set one by one: the name after `get` and `set`, its place, and what it is by default. */
const FIELDS: [name: string, place: string, standard?: unknown][] = [
  ["LastChangelogVersion", "lastChangelogVersion"],
  ["SessionDir", "sessionDir"],
  ["DefaultProvider", "defaultProvider"],
  ["DefaultModel", "defaultModel"],
  ["DefaultThinkingLevel", "defaultThinkingLevel"],
  ["SteeringMode", "steeringMode", "one-at-a-time"],
  ["FollowUpMode", "followUpMode", "one-at-a-time"],
  ["Theme", "theme"],
  ["Transport", "transport", "auto"],
  ["CompactionEnabled", "compaction.enabled", true],
  ["CompactionReserveTokens", "compaction.reserveTokens", 16384],
  ["CompactionKeepRecentTokens", "compaction.keepRecentTokens", 20000],
  ["BranchSummarySkipPrompt", "branchSummary.skipPrompt", false],
  ["RetryEnabled", "retry.enabled", true],
  ["HideThinkingBlock", "hideThinkingBlock", false],
  ["ShellPath", "shellPath"],
  ["ShellCommandPrefix", "shellCommandPrefix"],
  ["NpmCommand", "npmCommand"],
  ["QuietStartup", "quietStartup", false],
  ["CollapseChangelog", "collapseChangelog", false],
  ["EnableInstallTelemetry", "enableInstallTelemetry", true],
  ["EnableSkillCommands", "enableSkillCommands", true],
  ["Packages", "packages", []],
  ["ExtensionPaths", "extensions", []],
  ["SkillPaths", "skills", []],
  ["PromptTemplatePaths", "prompts", []],
  ["ThemePaths", "themes", []],
  ["ThinkingBudgets", "thinkingBudgets"],
  ["ShowImages", "terminal.showImages", true],
  ["ImageWidthCells", "terminal.imageWidthCells", 60],
  ["ClearOnShrink", "terminal.clearOnShrink", false],
  ["ShowTerminalProgress", "terminal.showTerminalProgress", false],
  ["ImageAutoResize", "images.autoResize", true],
  ["BlockImages", "images.blockImages", false],
  ["EnabledModels", "enabledModels"],
  ["DoubleEscapeAction", "doubleEscapeAction", "tree"],
  ["TreeFilterMode", "treeFilterMode", "default"],
  ["ShowHardwareCursor", "showHardwareCursor", false],
  ["EditorPaddingX", "editorPaddingX", 0],
  ["AutocompleteMaxVisible", "autocompleteMaxVisible", 5],
  ["CodeBlockIndent", "markdown.codeBlockIndent", "  "],
  ["Warnings", "warnings", {}],
];

function read(file: string | undefined): Settings {
  if (file === undefined) return {};
  try {
    return JSON.parse(readFileSync(file, "utf-8"));
  } catch {
    return {};
  }
}

const isGroup = (value: unknown): value is Settings =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** One over the other, group by group. */
function merged(below: Settings, above: Settings): Settings {
  const both = Object.entries(above).map(([name, value]) => [
    name, isGroup(value) && isGroup(below[name]) ? merged(below[name], value) : value,
  ]);
  return { ...below, ...Object.fromEntries(both) };
}

const found = (settings: Settings, place: string): any =>
  place.split(".").reduce((value: any, name) => value?.[name], settings);

function put(settings: Settings, place: string, value: unknown): void {
  const names = place.split(".");
  const last = names.pop()!;
  const group = names.reduce((at, name) => (at[name] ??= {}), settings);
  if (value === undefined) delete group[last];
  else group[last] = value;
}

export class SettingsManager {
  [member: string]: any;
  private user: Settings = {};
  private project: Settings = {};
  private overrides: Settings = {};

  private constructor(private readonly files: { user?: string; project?: string }) {
    void this.reload();
  }

  static create(cwd: string = process.cwd(), agentDir: string = getAgentDir()): SettingsManager {
    return new SettingsManager({ user: join(agentDir, "settings.json"), project: join(cwd, ".pi", "settings.json") });
  }
  static inMemory(settings: Settings = {}): SettingsManager {
    const manager = new SettingsManager({});
    manager.user = structuredClone(settings);
    return manager;
  }
  static fromStorage(): SettingsManager {
    return SettingsManager.inMemory();
  }

  /** All that is set, of a project only if it is trusted. */
  settings(trusted = true): Settings {
    return structuredClone(merged(merged(this.user, trusted ? this.project : {}), this.overrides));
  }
  getGlobalSettings = (): Settings => structuredClone(this.user);
  getProjectSettings = (): Settings => structuredClone(this.project);
  applyOverrides(overrides: Settings): void {
    this.overrides = merged(this.overrides, overrides);
  }
  async reload(): Promise<void> {
    if (this.files.user !== undefined) this.user = read(this.files.user);
    this.project = read(this.files.project);
  }
  async flush(): Promise<void> {}
  drainErrors = (): unknown[] => [];

  getCompactionSettings = () => ({
    enabled: this.getCompactionEnabled(),
    reserveTokens: this.getCompactionReserveTokens(),
    keepRecentTokens: this.getCompactionKeepRecentTokens(),
  });
  getBranchSummarySettings = () => ({ reserveTokens: 16384, skipPrompt: false, ...this.settings().branchSummary });
  getRetrySettings = () => ({ enabled: true, maxRetries: 3, baseDelayMs: 2000, ...this.settings().retry });
  getProviderRetrySettings = () => ({ maxRetryDelayMs: 60000, ...this.settings().retry?.provider });
  setDefaultModelAndProvider(provider: string, model: string): void {
    this.change("defaultProvider", provider);
    this.change("defaultModel", model);
  }

  /** Changes what is the user's, in the file too. */
  change(place: string, value: unknown): void {
    put(this.user, place, value);
    this.write(this.files.user, place, value);
  }
  changeProject(place: string, value: unknown): void {
    put(this.project, place, value);
    this.write(this.files.project, place, value);
  }
  private write(file: string | undefined, place: string, value: unknown): void {
    if (file === undefined) return;
    const settings = read(file);
    put(settings, place, value);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(settings, null, 2)}\n`);
  }
}

for (const [name, place, standard] of FIELDS) {
  const prototype: any = SettingsManager.prototype;
  prototype[`get${name}`] = function () {
    return found(this.settings(), place) ?? structuredClone(standard);
  };
  prototype[`set${name}`] = function (value: unknown) {
    this.change(place, value);
  };
  prototype[`setProject${name}`] = function (value: unknown) {
    this.changeProject(place, value);
  };
}
