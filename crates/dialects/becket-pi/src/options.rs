//! The options of the command line about extensions and resources.

pub(crate) use becket_host::{API_KEY, NO_CONTEXT_FILES};
use becket_host::{GuestOptions, OptionValue};

use crate::extensions::Given;

/// The option that names an extension.
pub const EXTENSION_OPTION: &str = "extension";

const NO_EXTENSIONS: &str = "no-extensions";
const SKILL: &str = "skill";
const NO_SKILLS: &str = "no-skills";
const TEMPLATE: &str = "prompt-template";
const NO_TEMPLATES: &str = "no-prompt-templates";
const THEME: &str = "theme";
const NO_THEMES: &str = "no-themes";

/// The option that leaves out the tools which pi does not offer by default.
pub(crate) const DEFAULT_TOOLS: &str = "pi-default-tools";

/// The option that leaves out what the project brings.
pub(crate) const NO_PROJECT: &str = "pi-no-project";

/// The options about extensions and resources, with their help texts.
pub(crate) const OPTIONS: [(&str, Option<char>, OptionValue, &str); 12] = [
    (
        API_KEY,
        None,
        OptionValue::Text("KEY"),
        "The API key for the model's provider. Other users of this machine can see it",
    ),
    (
        NO_CONTEXT_FILES,
        None,
        OptionValue::Nothing,
        "Read no instruction files, such as AGENTS.md",
    ),
    (
        EXTENSION_OPTION,
        Some('e'),
        OptionValue::Path("PATH"),
        "Load this pi extension, and trust it; may be given several times",
    ),
    (
        NO_EXTENSIONS,
        None,
        OptionValue::Nothing,
        "Use no extensions but those that `-e` names. Also: `-ne`",
    ),
    (
        SKILL,
        None,
        OptionValue::Path("PATH"),
        "A skill, a file or a folder; may be given several times",
    ),
    (
        NO_SKILLS,
        None,
        OptionValue::Nothing,
        "Use no skills but those that `--skill` names, or extensions bring. Also: `-ns`",
    ),
    (
        TEMPLATE,
        None,
        OptionValue::Path("PATH"),
        "A prompt template, a file or a folder of them, to be called as `/name`; may be given several times",
    ),
    (
        NO_TEMPLATES,
        None,
        OptionValue::Nothing,
        "Use no prompt templates but those that `--prompt-template` names, or extensions bring. Also: `-np`",
    ),
    (
        THEME,
        None,
        OptionValue::Path("PATH"),
        "A theme, a file or a folder of them; may be given several times",
    ),
    (
        NO_THEMES,
        None,
        OptionValue::Nothing,
        "Use no themes but becket's own and those that `--theme` names, or extensions bring",
    ),
    (
        DEFAULT_TOOLS,
        None,
        OptionValue::Nothing,
        "Offer no `grep`, `find` and `ls` until an extension activates them, as pi does",
    ),
    (
        NO_PROJECT,
        None,
        OptionValue::Nothing,
        "Use no extensions, skills, prompt templates and themes of the project",
    ),
];

/// The options that were given.
pub(crate) fn given(options: &GuestOptions, trust: bool) -> Given {
    Given {
        extensions: options.paths(EXTENSION_OPTION),
        no_extensions: options.has(NO_EXTENSIONS),
        skills: options.paths(SKILL),
        no_skills: options.has(NO_SKILLS),
        templates: options.paths(TEMPLATE),
        no_templates: options.has(NO_TEMPLATES),
        themes: options.paths(THEME),
        no_themes: options.has(NO_THEMES),
        default_tools: options.has(DEFAULT_TOOLS),
        no_project: options.has(NO_PROJECT),
        trust,
    }
}
