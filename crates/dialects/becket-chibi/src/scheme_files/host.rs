//! Scheme files as guests of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use becket_agent::flocks::Flocks;
use becket_agent::guests::Guests as SessionGuests;
use becket_agent::tool::Tool;
use becket_agent::vfs::{self, Kind, Vfs, VfsPath, VfsPlace};
use becket_check::{CheckedHook, Finding, HookFile, NamedFile, Start, Subject, boxed};
use becket_events::Profile;
use becket_hooks::Section;
use becket_host::{Found, FoundGuest, GuestSearch, Guests, Host, Loading, Report, Stage, Toolbox, Unloaded};
use becket_system::CliError;
use becket_system::files::read_regular;
use futures_util::future::BoxFuture;

use super::attempts::Attempts;
use super::calls::Callers;
use super::config::SchemeConfig;
use super::eval::EvalTool;
use super::files::{Around, DEEPEST, MOST_BYTES, SchemeFiles};
use super::io::Io;
use super::marks::Marks;
use super::web::Web;
use super::world::World;
use crate::config::ChibiConfig;
use crate::home::HOME_OPTION;
use crate::plugin;
use crate::plugins::{call_seconds, home_of_run};
use crate::scheme::{EVAL_TOOL, FileSettings, Reach, Tier, ZONE_FOLDERS, zone_of};
use crate::tools::profile;

/// Finds Scheme files.
pub struct SchemeHost;

impl Host for SchemeHost {
    fn kind(&self) -> &'static str {
        "Scheme file"
    }

    fn sections(&self) -> &'static [Section] {
        const { &[Section::of::<SchemeConfig>()] }
    }

    fn check_files(&self, place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
        let guests = self.find(place)?.guests().into_iter();
        let files = guests.map(|guest| {
            let text = read_regular(&guest.file, MOST_BYTES).unwrap_or_default();
            checked(&guest.file, &text)
        });
        Ok(files.collect())
    }

    fn check_file(&self, file: &NamedFile<'_>) -> Option<HookFile> {
        let is_scheme = file.ending() == Some("scm") && file.is_named;
        is_scheme.then(|| checked(file.shown, file.text.as_deref().unwrap_or_default()))
    }

    fn find(&self, place: &GuestSearch<'_>) -> Result<Box<dyn Found>, CliError> {
        let config: ChibiConfig = place.section()?;
        let given = place.options.path(HOME_OPTION);
        let home = home_of_run(given.as_deref(), &config, place.folders, place.surroundings)?;
        let scheme: SchemeConfig = place.section()?;
        let shared = home.clone().unwrap_or_else(|| place.folders.data.clone());
        let vfs = Vfs::new(&shared.join("vfs"));
        let is_left_out = |name: &&String| {
            let address = VfsPath::parse(name).and_then(|path| vfs.place(&path));
            name.starts_with(vfs::SCHEME) && address.is_ok_and(|place| becket_fs::exists(place.file()))
        };
        Ok(Box::new(FoundScheme {
            left_out: place.without.iter().filter(is_left_out).cloned().collect(),
            settings: scheme.with_home(home.as_deref())?,
            has_home: home.is_some(),
            shared,
            vfs,
            config,
        }))
    }
}

/// A Scheme file for `hooks check`: its definitions are unknown before it runs.
#[derive(Debug)]
struct CheckedFile;

impl CheckedHook for CheckedFile {
    fn start(&self) -> Start<'_> {
        Start::Nothing
    }

    fn check(&self, subject: &Subject<'_>) -> Vec<Finding> {
        let message = "it ends in the middle of a form, so it cannot be loaded".to_owned();
        let is_whole = becket_scheme::is_whole(&subject.file.text);
        let finding = (!is_whole).then(|| subject.finding(becket_check::Kind::BadScript, message));
        finding.into_iter().collect()
    }
}

fn checked(file: &Path, text: &str) -> HookFile {
    HookFile::new(file, text, Ok(boxed([CheckedFile])))
}

/// The places and rights of Scheme files.
pub struct FoundScheme {
    config: ChibiConfig,
    settings: FileSettings,
    /// The folder of contexts and of the virtual file system.
    shared: PathBuf,
    vfs: Vfs,
    /// Whether that folder is a chibi home.
    has_home: bool,
    left_out: Vec<String>,
}

impl Found for FoundScheme {
    fn guests(&self) -> Vec<FoundGuest> {
        let mut guests = Vec::new();
        if self.vfs.is_empty() {
            return guests;
        }
        for folder in ZONE_FOLDERS {
            let place = VfsPath::from_path(folder).and_then(|path| self.vfs.place(&path));
            place.iter().for_each(|place| walk(place, 0, &mut guests));
        }
        guests.retain(|guest| !self.left_out.contains(&guest.name));
        guests
    }

    fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }

    fn load<'a>(&'a self, loading: &'a Loading<'a>) -> BoxFuture<'a, Result<Arc<dyn Guests>, CliError>> {
        Box::pin(async move { Ok(self.files(loading) as Arc<dyn Guests>) })
    }
}

/// The files below a folder that some context sees.
fn walk(folder: &VfsPlace, depth: usize, found: &mut Vec<FoundGuest>) {
    let entries = folder.entries().unwrap_or_default().into_iter();
    for entry in entries.filter(|entry| !entry.name.starts_with('.')) {
        let Ok(place) = folder.child(&entry.name) else {
            continue;
        };
        match entry.kind {
            Kind::Folder if depth < DEEPEST => walk(&place, depth + 1, found),
            Kind::File if zone_of(place.address().as_str()).is_some() => found.push(FoundGuest {
                name: place.address().to_string(),
                file: place.file().to_owned(),
                is_trusted: true,
            }),
            Kind::Folder | Kind::File => {}
        }
    }
}

impl FoundScheme {
    fn files(&self, loading: &Loading<'_>) -> Arc<SchemeFiles> {
        let place = &loading.place;
        let world = World {
            tier: Tier::Sandboxed,
            reach: Reach::Nowhere,
            web: Web {
                judge: loading.urls.clone(),
                most_bytes: loading.fetch.bytes,
                longest: loading.fetch.longest,
            },
            variables: Vec::new(),
            time: call_seconds(self.config.tool_timeout.as_ref()),
            io: Io {
                vfs: self.vfs.clone(),
                cwd: place.surroundings.cwd.clone(),
            },
            signals: place.surroundings.signals.clone(),
        };
        let surroundings = place.surroundings.clone();
        let around = Around {
            engine: Arc::clone(loading.engine),
            front: Arc::clone(&loading.person.front),
            vfs: self.vfs.clone(),
            flocks: Flocks::new(self.vfs.clone()),
            settings: self.settings.clone(),
            variables: Arc::new(move |name| surroundings.variable(name)),
            marks: Marks::new(place.folders.marks_folder()),
            attempts: Attempts::new(place.folders.attempts_folder()),
            host: plugin::HostFacts {
                chibi_home: self.shared.clone(),
                project_root: place.project_root.to_path_buf(),
                hook_timeout: call_seconds(self.config.hook_timeout.as_ref()),
                environment: Arc::default(),
                terminal: None,
                verbose: self.config.verbose,
            },
            world,
            has_home: self.has_home,
            without: place.without.to_vec(),
        };
        SchemeFiles::new(around, Arc::new(Callers::default()))
    }
}

impl Guests for SchemeFiles {
    fn unloaded(&self) -> Vec<Unloaded> {
        self.broken()
    }

    fn leave_out(&self, name: &str) {
        self.go_on_without(name);
    }

    fn register(&self, stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
        self.show_contexts(stage.store, stage.models);
        Ok(Vec::new())
    }

    fn add_tools(&self, toolbox: &mut Toolbox<'_>) -> Vec<String> {
        if toolbox.profile.extras.contains(&EVAL_TOOL) {
            let world = self.world(Tier::Sandboxed);
            toolbox.tools.push(Arc::new(EvalTool::new(world, self.callers())));
        }
        // Under another system's names, the model has that system's tools.
        let is_own = toolbox.profile.name == Profile::own().name;
        for tool in self.home_tools() {
            let name = &tool.spec().face.name;
            let is_wanted =
                (is_own && self.has_home()) || toolbox.profile.extras.iter().any(|extra| extra == name);
            // A plugin may have brought one of that name.
            if is_wanted && toolbox.tool(name).is_none() {
                toolbox.tools.push(Arc::clone(tool));
            }
        }
        Vec::new()
    }

    fn settle_tools(&self, toolbox: &Toolbox<'_>) {
        let known = (toolbox.own_tools)(&profile());
        let name = |tool: &Arc<dyn Tool>| tool.spec().face.name.clone();
        let present = toolbox.tools.iter().chain(&known).map(name);
        let own = toolbox.own_names.iter().chain([&EVAL_TOOL]);
        let own = own.map(|name| (*name).to_owned());
        self.set_taken(own.chain(present).collect());
        self.callers().set_known(known);
    }

    fn in_session(self: Arc<Self>) -> Option<Arc<dyn SessionGuests>> {
        Some(self)
    }

    fn tool_names(&self) -> Vec<String> {
        self.defined_tools()
    }

    fn enter(&self, context: &str) {
        self.look(context);
    }

    fn reports(&self) -> Vec<Report> {
        let names = self.addresses().into_iter();
        names
            .map(|name| Report::new(format!("Scheme file {name}"), None))
            .collect()
    }
}
