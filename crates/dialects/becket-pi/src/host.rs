//! pi's extensions as one of the kinds of guests that a run can have: `found.rs` finds and loads them, `guests.rs` are
//! the loaded ones.

use std::sync::Arc;

use becket_agent::front::Front;
use becket_check::{HookFile, NamedFile};
use becket_hooks::Section;
use becket_host::{Client, ForeignCli, Found, GuestSearch, Host, HostOption, Mode, SessionFiles};
use becket_system::CliError;

use crate::check;
use crate::command_line::CLI;
use crate::config::{JsConfig, PiConfig};
use crate::discovery::EXTENSION;
use crate::options::OPTIONS;
use crate::program::PiClient;
use crate::session_files::PiSessionFiles;

pub use crate::found::FoundExtensions;
pub use crate::guests::ExtensionGuests;
pub use crate::options::EXTENSION_OPTION;

/// Finds extensions.
pub struct ExtensionHost;

impl Host for ExtensionHost {
    fn kind(&self) -> &'static str {
        EXTENSION
    }

    fn sections(&self) -> &'static [Section] {
        const { &[Section::of::<PiConfig>(), Section::of::<JsConfig>()] }
    }

    fn client(&self, mode: Mode, front: Arc<dyn Front>) -> Option<Arc<dyn Client>> {
        let has_words = mode != Mode::Print;
        has_words.then(|| Arc::new(PiClient::new(mode, front)) as Arc<dyn Client>)
    }

    fn foreign_cli(&self) -> Option<&'static ForeignCli> {
        Some(&CLI)
    }

    fn session_files(&self) -> Option<&'static dyn SessionFiles> {
        Some(&PiSessionFiles)
    }

    fn brings_options(&self) -> bool {
        true
    }

    fn options(&self) -> Vec<HostOption> {
        let options = OPTIONS.iter();
        options
            .map(|(name, short, value, help)| HostOption {
                name: (*name).into(),
                short: *short,
                value: *value,
                help: (*help).into(),
                is_rare: *name != EXTENSION_OPTION,
                ..HostOption::default()
            })
            .collect()
    }

    fn check_files(&self, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
        check::files(place)
    }

    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        check::file(file)
    }

    fn hidden_folders(&self) -> &'static [&'static str] {
        &[".pi"]
    }

    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError> {
        Ok(Box::new(FoundExtensions::find(place)?))
    }
}
