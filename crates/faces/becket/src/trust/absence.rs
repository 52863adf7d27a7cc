//! Guards that the person has trusted, alone or by a lock, and that are not there any more. A run without one needs a
//! yes of its own: otherwise whoever removes a guard makes the agent run unguarded, and nobody hears of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use becket_host::project_root::SETTINGS;

use super::item::{Item, Kind};
use super::{Judged, LOCK_FILE, Lock, Trust};

/// A guard, by what it is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    pub kind: Kind,
    pub source: String,
    pub name: String,
}

impl Known {
    fn is(&self, item: &Item) -> bool {
        (self.kind, &self.source, &self.name) == (item.kind, &item.source, &item.name)
    }

    /// Whether it would count in a folder of the project.
    fn concerns(&self, folder: &Path) -> bool {
        let source = Path::new(&self.source);
        match self.kind {
            Kind::Extension => {
                let settings = becket_pi::project_settings(folder);
                settings.parent().is_some_and(|brings| source.starts_with(brings))
            }
            _ => SETTINGS.iter().any(|name| {
                let mut folders = folder.ancestors();
                folders.any(|folder| source == folder.join(name))
            }),
        }
    }
}

/// Says which guards are gone without a yes.
pub fn gone(things: &[Judged]) -> impl Iterator<Item = String> {
    let gone = things.iter().filter(|judged| judged.item.kind == Kind::Absence);
    let gone = gone.filter(|judged| !judged.is_trusted());
    gone.map(|judged| {
        let Item { source, name, .. } = &judged.item;
        format!("{source} had the guard {name}, which was trusted and is gone")
    })
}

impl Trust {
    /// The guards of these kinds that are gone, seen beside what is there. Each is known by the guards that are left,
    /// so that a yes means exactly this.
    pub fn absences(&self, things: &[Judged], kinds: &[Kind]) -> Vec<Judged> {
        let left: Vec<&Item> = things
            .iter()
            .map(|judged| &judged.item)
            .filter(|item| item.guards)
            .collect();
        let Ok(folder) = self.cwd.strip_prefix(&self.root) else {
            return Vec::new();
        };
        let known = self
            .known_guards()
            .into_iter()
            .filter(|known| kinds.contains(&known.kind));
        let gone = known.filter(|known| known.concerns(folder) && !left.iter().any(|item| known.is(item)));
        let gone = gone.map(|known| {
            let mut entry = format!(
                "what was trusted: {}\nthe guards that are left:\n",
                known.kind.name()
            );
            entry.extend(
                left.iter()
                    .map(|item| format!("{} {}\n", item.title(), item.identity())),
            );
            let files = self.gatherer(&self.root);
            let item = self.item(Kind::Absence, &known.name, Path::new(&known.source), entry, files);
            self.judge(Item { guards: true, ..item })
        });
        gone.collect()
    }

    /// Every guard that the person trusts: by the newest version of it, and by the lock.
    fn known_guards(&self) -> BTreeSet<Known> {
        let mut newest = BTreeMap::new();
        let mut lock = None;
        for record in self.store.records() {
            if record.kind == Kind::Lock {
                lock = record
                    .files
                    .get(LOCK_FILE)
                    .and_then(|file| self.store.bytes(&file.hash));
            }
            let known = Known {
                kind: record.kind,
                source: record.source,
                name: record.name,
            };
            newest.insert(known, record.guards);
        }
        let trusted = self
            .lock()
            .filter(|lock| lock.is_trusted())
            .and_then(|_| self.locked().cloned());
        let before = || Lock::read(&String::from_utf8(lock?).ok()?, Path::new(LOCK_FILE)).ok();
        let lock = trusted.or_else(before);
        let locked = lock.iter().flat_map(Lock::guards);
        let guards = newest
            .into_iter()
            .filter(|(known, guards)| *guards && Kind::named(known.kind.name()).is_some());
        guards.map(|(known, _)| known).chain(locked).collect()
    }
}
