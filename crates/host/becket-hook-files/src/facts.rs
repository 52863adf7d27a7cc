//! The facts about a run that hooks are told.

use std::path::{Path, PathBuf};

use becket_host::GuestSearch;

use crate::prompt_ids::PromptIds;
use crate::requests::Requests;

/// The facts about a run that hooks are told.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The root of the project.
    pub project_root: PathBuf,
    /// The directory in which the agent works.
    pub cwd: PathBuf,
    /// The directory of hooks whose system runs them where the agent works, if it is another one here: such hooks name
    /// their scripts as seen from their own project.
    pub hooks_directory: Option<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The folder for files that hooks are given the paths of.
    pub files: PathBuf,
    /// The user's shell.
    pub user_shell: Option<String>,
    /// Whether a user is there to be asked.
    pub is_attended: bool,
    /// The prompts that sessions answer.
    pub prompts: PromptIds,
    /// The requests that models of sessions answer.
    pub requests: Requests,
}

impl Facts {
    /// The facts of a place.
    pub fn of(place: &GuestSearch<'_>) -> Self {
        Self {
            project_root: place.trust.root().to_path_buf(),
            cwd: place.surroundings.cwd.clone(),
            hooks_directory: None,
            home: place.surroundings.variable("HOME").map(PathBuf::from),
            user_shell: place.surroundings.variable("SHELL"),
            files: place.folders.hook_files(),
            is_attended: place.surroundings.stdin_is_terminal,
            prompts: PromptIds::default(),
            requests: Requests::default(),
        }
    }

    /// The facts about a file that is looked at alone: its project is the folder with one of these folders in it.
    pub fn beside(file: &Path, folders: &[&str]) -> Self {
        let own = file
            .ancestors()
            .find(|above| folders.iter().any(|name| above.ends_with(name)));
        let project = own.and_then(Path::parent).or(file.parent()).unwrap_or(file);
        Self {
            project_root: project.to_path_buf(),
            cwd: project.to_path_buf(),
            hooks_directory: None,
            home: None,
            files: PathBuf::new(),
            user_shell: None,
            is_attended: false,
            prompts: PromptIds::default(),
            requests: Requests::default(),
        }
    }

    /// The file with the skills and commands that a conversation uses.
    pub fn used_texts(&self, context: &str) -> PathBuf {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let letters = context.chars().map(|letter| match is_plain(letter) {
            true => letter.to_string(),
            false => format!("%{:x}", u32::from(letter)),
        });
        self.files
            .join(format!("{}.used.json", letters.collect::<String>()))
    }

    /// The file with the conversation of a session.
    pub fn transcript(&self, session_id: &str) -> PathBuf {
        self.files.join(format!("{session_id}.jsonl"))
    }
}
