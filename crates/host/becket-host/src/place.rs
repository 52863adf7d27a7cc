//! Where guests are looked for, and the settings of the user.

use std::path::{Path, PathBuf};

use becket_events::OperationKind;
use becket_hooks::{OwnHook, Section, SectionSettings};
use becket_system::{CliError, Folders, Surroundings};
use becket_trust::Trust;

use crate::options::GuestOptions;

/// The place where guests are looked for, with the settings and options that decide which count.
#[derive(Clone, Copy)]
pub struct GuestSearch<'a> {
    /// The machine as the program found it.
    pub surroundings: &'a Surroundings,
    /// becket's own folders.
    pub folders: &'a Folders,
    /// The root of the project in which the program was started.
    pub project_root: &'a Path,
    /// Decides which of the project's guests are trusted.
    pub trust: &'a Trust,
    /// The user's settings.
    pub settings: &'a SettingsText,
    /// The options of the command line that are about guests.
    pub options: &'a GuestOptions,
    /// Guests that the user leaves out, by name.
    pub without: &'a [String],
    /// The tables of the user's settings that are about guests of all kinds.
    pub sections: &'a [Section],
    /// The operation that some system means by the name of a tool.
    pub operation_called: fn(&str) -> Option<OperationKind>,
}

impl GuestSearch<'_> {
    /// The settings in one table of the user's file.
    pub fn section<T: SectionSettings>(&self) -> Result<T, CliError> {
        self.settings.section()
    }
}

/// The text of the user's settings. Each kind of guest reads its own tables of it.
#[derive(Clone, Default)]
pub struct SettingsText {
    /// The path of the settings file.
    pub file: PathBuf,
    /// The content of the settings file; empty if there is none.
    pub text: String,
    /// The hooks in the settings.
    pub hooks: Vec<OwnHook>,
}

impl SettingsText {
    /// The settings in one table.
    pub fn section<T: SectionSettings>(&self) -> Result<T, CliError> {
        Ok(T::read(&self.text, &self.file)?)
    }
}
