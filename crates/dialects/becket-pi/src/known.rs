//! Remembers which extensions were found where. A folder that still exists and no longer yields its extension, for
//! example because its `package.json` was emptied, holds an extension that cannot be loaded.

use std::path::Path;

use becket_dialect_kit::Remembered;
use becket_host::Unloaded;

use super::discovery::{EXTENSION, Found};
use super::extension_place::{Entry, ExtensionPlace};

/// The version of the file's format. A file with another version is ignored.
const VERSION: u32 = 1;

type Known = Remembered<Vec<Entry>>;

impl Found {
    /// Adds the extensions that were found earlier, according to the file, in places that no longer yield them.
    pub fn miss_known(&mut self, file: &Path) {
        let known = Known::read(Some(file), VERSION);
        let missing = self.places.iter().flat_map(|place| {
            let missing = self.missing(&known, place).into_iter();
            missing.map(|gone| {
                let why = format!(
                    "{} was an extension, and nothing there names it any more; is the package.json whole?",
                    gone.file.display()
                );
                Unloaded::new(EXTENSION, gone.name, &place.path, why)
            })
        });
        let missing: Vec<Unloaded> = missing.collect();
        self.unloaded.extend(missing);
    }

    /// Stores the extensions that were found, and the missing ones until their place is gone.
    pub fn remember(&self, file: &Path) -> std::io::Result<()> {
        let mut known = Known::read(Some(file), VERSION);
        known.forget_gone();
        for place in &self.places {
            let missing = self.missing(&known, place);
            let files: Vec<Entry> = place.files.iter().cloned().chain(missing).collect();
            if !files.is_empty() || known.at(&place.path).is_some() {
                known.remember(&place.path, files);
            }
        }
        known.write()
    }

    /// The extensions that a place once yielded and no longer yields. If the place still yields others, one whose file
    /// is gone was removed on purpose.
    fn missing(&self, known: &Known, place: &ExtensionPlace) -> Vec<Entry> {
        let is_found = |known: &Entry| {
            let mut files = self.places.iter().flat_map(|place| &place.files);
            files.any(|found| found.file == known.file)
        };
        let counts = |known: &Entry| place.files.is_empty() || becket_fs::exists(&known.file);
        let known = known.at(&place.path).into_iter().flatten();
        known
            .filter(|known| !is_found(known) && counts(known))
            .cloned()
            .collect()
    }
}
