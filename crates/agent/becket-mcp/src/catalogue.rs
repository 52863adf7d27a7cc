//! Remembers the tools of servers, so that a warm start runs none of them.
//!
//! A list is valid as long as the server is the same (`ServerSettings::print`), and is replaced whenever the server
//! really runs. A failure is remembered for a while, or a server that hangs would cost every start its deadline. The
//! file holds nothing that cannot be made again: one that cannot be read is ignored, and of two writers the last wins.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::offer::Offer;
use crate::settings::ServerSettings;

/// The version of the file's format. A file of another version is ignored.
const VERSION: u32 = 2;

/// How long a failure is remembered.
const FAILURE_AGE: Duration = Duration::from_secs(10 * 60);

/// What is known of a server without running it.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// The tools that the server offered when it ran last.
    Offers(Vec<Offer>),
    /// The server failed a short while ago, and is not asked again so soon.
    Failed(String),
    /// Nothing is known: the server has to be asked.
    Nothing,
}

/// The file that remembers the tools of servers.
#[derive(Debug, Clone)]
pub(crate) struct Catalogue {
    file: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct CatalogueFile {
    version: u32,
    servers: BTreeMap<String, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    print: String,
    asked_ms: u64,
    offers: Vec<Offer>,
    failure: Option<String>,
}

impl Catalogue {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// What is known of a server with its current settings.
    pub(crate) fn known(&self, settings: &ServerSettings) -> Known {
        let mut servers = self.read().servers;
        let Some(entry) = servers.remove(&settings.name) else {
            return Known::Nothing;
        };
        let age = now_ms().checked_sub(entry.asked_ms);
        match entry.failure {
            _ if entry.print != settings.print() => Known::Nothing,
            None => Known::Offers(entry.offers),
            Some(failure) if age.is_some_and(|age| u128::from(age) < FAILURE_AGE.as_millis()) => {
                Known::Failed(failure)
            }
            Some(_) => Known::Nothing,
        }
    }

    /// Remembers a server's answer. A folder that cannot be written to only costs time, so failures are ignored.
    pub(crate) fn remember(&self, settings: &ServerSettings, answer: Result<&[Offer], &str>) {
        let entry = Entry {
            print: settings.print(),
            asked_ms: now_ms(),
            offers: answer.unwrap_or_default().to_vec(),
            failure: answer.err().map(ToOwned::to_owned),
        };
        let mut all = self.read();
        all.version = VERSION;
        all.servers.insert(settings.name.clone(), entry);
        let _ = self.write(&all);
    }

    fn read(&self) -> CatalogueFile {
        let text = std::fs::read(&self.file).ok();
        let read = text.and_then(|text| serde_json::from_slice::<CatalogueFile>(&text).ok());
        read.filter(|read| read.version == VERSION).unwrap_or_default()
    }

    fn write(&self, all: &CatalogueFile) -> std::io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
        fresh.write_all(&serde_json::to_vec(all)?)?;
        fresh.persist(&self.file).map_err(|error| error.error)?;
        Ok(())
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
