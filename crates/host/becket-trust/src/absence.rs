//! Trusted guards that no longer exist, whether they were trusted alone or by a lock. A run without one needs a yes of
//! its own: otherwise removing a guard would silently make the agent run unguarded.
//!
//! An absence is known by the guards that are left. Known by the guard's name alone, one yes would let it vanish for
//! ever.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use becket_system::{CliError, Exit};

use super::item::{Item, Kind, Known};
use super::lock::{LOCK_FILE, Lock};
use super::trust::{Judged, TRUST_HINT, Trust};

/// Names the guards that are gone without a yes.
pub fn gone(things: &[Judged]) -> impl Iterator<Item = String> {
    let gone = things.iter().filter(|judged| judged.item.kind == Kind::Absence);
    let gone = gone.filter(|judged| !judged.is_trusted());
    gone.map(|judged| {
        let Item { source, name, .. } = &judged.item;
        format!("{source} had the guard {name}, which was trusted and is gone")
    })
}

/// Why no run may start: some of these guards are not trusted, or are gone.
pub fn refusal(things: &[Judged], trust: &Trust) -> Option<CliError> {
    let untrusted = things.iter().filter(|judged| !judged.is_trusted());
    let untrusted = untrusted.filter(|judged| judged.item.guards && judged.item.kind != Kind::Absence);
    let untrusted = untrusted.map(|judged| {
        let news = trust.news(judged).map(|words| format!(" ({words})"));
        format!(
            "{} may be a guard, and is not trusted{}",
            judged.item.title(),
            news.unwrap_or_default()
        )
    });
    let reasons: Vec<String> = untrusted.chain(gone(things)).collect();
    (!reasons.is_empty()).then(|| CliError {
        exit: Exit::UntrustedGuard,
        message: reasons.join("; "),
        hint: Some(TRUST_HINT.into()),
    })
}

impl Trust {
    /// The trusted guards of these kinds that are not among `things`. Each absence is identified by the guards that are
    /// left, so that a yes means exactly this.
    ///
    /// `counts` says whether a file, by its path from the root, would count in a folder of the project.
    pub fn absences(
        &self,
        things: &[Judged],
        kinds: &[Kind],
        counts: impl Fn(&Path, &Path) -> bool,
    ) -> Vec<Judged> {
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
        let is_left = |known: &Known| left.iter().any(|item| known.is(item));
        let gone = known.filter(|known| counts(Path::new(&known.source), folder) && !is_left(known));
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

    /// Every guard that the user trusts: by its newest version, and by the lock.
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
