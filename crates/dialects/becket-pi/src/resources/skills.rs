//! Skills: instructions for one kind of work, of which the model knows only the names until it needs them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::front_matter::front_matter;
use crate::host_call::{SkillInfo, SourceInfo};

/// The file that makes a folder a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// The prefix of a skill's name on the command line.
pub const SKILL_PREFIX: &str = "skill:";

const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;

/// A skill of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The skill's name.
    pub name: String,
    /// The skill's purpose, and when to use it.
    pub description: String,
    /// The skill's file.
    pub file: PathBuf,
    /// Whether the model does not see the skill; the user can still call it.
    pub is_hidden: bool,
    /// The skill's source.
    pub source: SourceInfo,
}

/// The skill in a file, if there is one, and remarks about it.
pub(super) struct ReadSkill {
    pub(super) skill: Option<Skill>,
    pub(super) remarks: Vec<String>,
}

impl ReadSkill {
    fn none(remarks: Vec<String>) -> Self {
        Self { skill: None, remarks }
    }
}

impl Skill {
    /// Reads a file. A file without a description is no skill, and is remarked on if its name claims that it is.
    pub(super) fn read(file: &Path, source: SourceInfo) -> ReadSkill {
        let is_declared = file.file_name().is_some_and(|name| name == SKILL_FILE);
        let remark = |words: &str| vec![format!("the skill {}: {words}", file.display())];
        let text = match becket_fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => return ReadSkill::none(remark(&error.to_string())),
        };
        let front = match front_matter(&text, file) {
            Ok(front) => front,
            Err(error) if is_declared => return ReadSkill::none(remark(&error)),
            Err(_) => return ReadSkill::none(Vec::new()),
        };
        let Some(description) = front.text("description") else {
            let remarks = match is_declared {
                true => remark("it has no description that says what it is for"),
                false => Vec::new(),
            };
            return ReadSkill::none(remarks);
        };
        let folder = file.parent().and_then(Path::file_name);
        let folder = folder.map(|name| name.to_string_lossy().into_owned());
        let name = front.text("name").map(ToOwned::to_owned).or(folder);
        let name = name.unwrap_or_else(|| "skill".into());
        let odd = odd_name(&name).into_iter().chain(odd_description(description));
        ReadSkill {
            remarks: odd.flat_map(|words| remark(&words)).collect(),
            skill: Some(Self {
                name,
                description: description.to_owned(),
                file: file.to_owned(),
                is_hidden: front.is_set("disable-model-invocation"),
                source,
            }),
        }
    }

    /// The text after the slash that calls the skill.
    pub fn command(&self) -> String {
        format!("{SKILL_PREFIX}{}", self.name)
    }

    /// The folder to which the skill's paths are relative.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    /// The folder that belongs to the skill alone, or the file itself if the skill is a single file, whose folder may
    /// hold other files.
    pub fn own_place(&self) -> &Path {
        match self.file.ends_with(SKILL_FILE) {
            true => self.folder(),
            false => &self.file,
        }
    }

    /// The skill as extensions see it.
    pub fn shown(&self) -> SkillInfo {
        SkillInfo {
            name: self.name.clone(),
            description: self.description.clone(),
            file_path: self.file.display().to_string(),
            base_dir: self.folder().display().to_string(),
            source_info: self.source.clone(),
            disable_model_invocation: self.is_hidden,
        }
    }

    /// The whole skill as a message, with the user's text about it.
    pub fn expanded(&self, words: &str) -> Result<String, String> {
        let (file, folder) = (self.file.display(), self.folder().display());
        let failed = |error: String| format!("the skill {} cannot be used: {error}", self.name);
        let text =
            becket_fs::read_to_string(&self.file).map_err(|error| failed(format!("{file}: {error}")))?;
        let body = front_matter(&text, &self.file).map_err(failed)?.body;
        let mut expanded = format!(
            "<skill name=\"{}\" location=\"{file}\">\nReferences are relative to {folder}.\n\n{body}\n</skill>",
            self.name
        );
        if !words.trim().is_empty() {
            let _ = write!(expanded, "\n\n{}", words.trim());
        }
        Ok(expanded)
    }
}

/// The section about skills of the system prompt, for a model that reads files with that tool; `None` if there are no
/// skills for it.
pub fn skills_for_prompt(skills: &[Skill], reader: &str) -> Option<String> {
    let mut listed = String::new();
    for skill in skills.iter().filter(|skill| !skill.is_hidden) {
        let fields = [
            ("name", skill.name.clone()),
            ("description", skill.description.clone()),
            ("location", skill.file.display().to_string()),
        ];
        listed.push_str("  <skill>\n");
        for (field, text) in fields {
            let _ = writeln!(listed, "    <{field}>{}</{field}>", escaped(&text));
        }
        listed.push_str("  </skill>\n");
    }
    (!listed.is_empty()).then(|| {
        format!(
            "There are skills: instructions for particular kinds of work. When what is asked fits the description of \
             one, read its file with {reader} before you begin. Paths in it are relative to the folder of that file; \
             give them to tools as absolute paths.\n\n<available_skills>\n{listed}</available_skills>"
        )
    })
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Why other programs would not accept a name, if they would not.
fn odd_name(name: &str) -> Option<String> {
    let length = name.chars().count();
    let is_plain = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    let wrong = if length > LONGEST_NAME {
        format!("has {length} characters; at most {LONGEST_NAME} are usual")
    } else if !name
        .chars()
        .all(|character| is_plain(character) || character == '-')
    {
        "should have lower case letters, digits and hyphens only".into()
    } else if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        "should have hyphens between words only, one at a time".into()
    } else {
        return None;
    };
    Some(format!("its name {name:?} {wrong}"))
}

fn odd_description(description: &str) -> Option<String> {
    let length = description.chars().count();
    (length > LONGEST_DESCRIPTION)
        .then(|| format!("its description has {length} characters; at most {LONGEST_DESCRIPTION} are usual"))
}
