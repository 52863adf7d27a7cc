//! Extensions whose tools call other tools, as their files show.

use super::extension_list::Guest;
use super::registry::ExtensionRegistry;

/// Whether the files of an extension call tools from within its own. Such calls wait for their turns, so a tool that
/// makes some runs beside no other call of its answer.
pub fn calls_tools(registry: &ExtensionRegistry, extension: &str) -> bool {
    let look = |guest: &mut Guest| (guest.calls_tools, guest.candidate.code().to_path_buf());
    let Some((known, file)) = registry.extensions.with(extension, look) else {
        return false;
    };
    known.unwrap_or_else(|| {
        let files = std::iter::once(file.clone()).chain(becket_js::own_files(&file));
        let mut texts = files.filter_map(|file| becket_fs::read_to_string(file).ok());
        let calls = texts.any(|text| CALLING.iter().any(|word| text.contains(word)));
        registry
            .extensions
            .with(extension, |guest| guest.calls_tools = Some(calls));
        calls
    })
}

/// Words of files that call tools.
const CALLING: &[&str] = &["executeTool", "createAgentSession"];
