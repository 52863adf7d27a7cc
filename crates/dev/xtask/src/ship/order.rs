//! Links the shipped program so that the functions that nearly every run needs stand beside each other.
//!
//! A turn runs some 3 MB of the program's code, in functions that are spread over all of it, and the kernel brings a
//! program's file into memory in pieces of 64 kB: without an order a turn holds 20 MB of code, and the first start
//! reads as much from the disk. So this program stands in for the linker of that one build: it links becket, has
//! valgrind tell which functions some runs call, and links again with those first.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{ModelServer, OpenAiStream, Response, Room};

use crate::problem::{Problem, output};

/// The name by which this program is a linker.
pub const LINKER: &str = "becket-linker";

/// The program that tells which functions run.
const VALGRIND: &str = "valgrind";

/// What becket is linked with otherwise.
const USUAL_LINKER: &str = "cc";

/// Makes this program a linker in a folder, and returns its path; `None` without valgrind.
pub fn linker_in(folder: &Path) -> Result<Option<PathBuf>, Problem> {
    if Command::new(VALGRIND).arg("--version").output().is_err() {
        println!(
            "valgrind is not installed: the program's functions are not ordered, and a turn needs 15 MB more"
        );
        return Ok(None);
    }
    let linker = folder.join(LINKER);
    let failed = |error: std::io::Error| format!("{}: {error}", linker.display());
    let _ = std::fs::remove_file(&linker);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let own = std::env::current_exe().map_err(failed)?;
    std::os::unix::fs::symlink(own, &linker).map_err(failed)?;
    Ok(Some(linker))
}

/// Links what the compiler wants to have linked; becket itself with its functions in order.
pub fn link(arguments: &[OsString]) -> Result<(), Problem> {
    let Some(program) = program_of(arguments) else {
        return link_plainly(arguments);
    };
    let is_strip = |argument: &&OsString| argument.to_string_lossy().starts_with("-Wl,--strip-");
    let named: Vec<OsString> = arguments
        .iter()
        .filter(|argument| !is_strip(argument))
        .cloned()
        .collect();
    link_plainly(&named)?;
    let order = program.with_extension("order");
    let functions: Vec<String> = called_functions(&program)?.into_iter().collect();
    std::fs::write(&order, functions.join("\n")).map_err(|error| format!("{}: {error}", order.display()))?;
    let mut ordered = arguments.to_vec();
    ordered.push(format!("-Wl,--symbol-ordering-file={}", order.display()).into());
    // Functions of the same machine code are kept once, and the others' names are then missing.
    ordered.push("-Wl,--no-warn-symbol-ordering".into());
    link_plainly(&ordered)
}

/// becket's file, if that is what is linked: its name ends with a hash.
fn program_of(arguments: &[OsString]) -> Option<PathBuf> {
    let place = arguments.iter().position(|argument| argument == "-o")?;
    let file = Path::new(arguments.get(place + 1)?);
    let hash = file.file_name()?.to_str()?.strip_prefix("becket-")?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| file.to_owned())
}

fn link_plainly(arguments: &[OsString]) -> Result<(), Problem> {
    let mut linker = Command::new(USUAL_LINKER);
    linker.args(arguments);
    output(linker).map(drop)
}

/// The functions that a few usual runs call, by their names in the program.
fn called_functions(program: &Path) -> Result<BTreeSet<String>, Problem> {
    let answer = |text: &str| {
        OpenAiStream::new("m")
            .text(text)
            .finish("stop")
            .usage(9, 9)
            .done()
    };
    let call = OpenAiStream::new("m").tool_call(0, "c1", "shell", &[r#"{"command":"true"}"#]);
    let server = ModelServer::start([
        Response::events(call.finish("tool_calls").usage(9, 9).done()),
        Response::events(answer("done")),
        Response::events(answer("hello")),
    ]);
    let room = Room::new(VALGRIND)
        .with("OPENAI_API_KEY", "k")
        .with("OPENAI_BASE_URL", &server.url());
    room.write(
        "hooks.toml",
        "[[hook]]\nevent = \"pre_tool\"\ncommand = \"cat >/dev/null\"\n",
    );
    let runs: [&[&str]; 3] = [
        &["--hooks", "hooks.toml", "--yes", "--model", "openai/m", "Run it."],
        &["--model", "openai/m", "Go on."],
        &["hooks", "list"],
    ];
    let told = room.work().join("functions");
    let mut functions = BTreeSet::new();
    for words in runs {
        let mut arguments: Vec<&OsStr> = vec!["--tool=callgrind".as_ref(), "--demangle=no".as_ref()];
        let file = format!("--callgrind-out-file={}", told.display());
        arguments.extend([OsStr::new(&file), program.as_os_str()]);
        arguments.extend(words.iter().map(OsStr::new));
        let run = room.run(arguments);
        if run.code != 0 {
            return Err(format!(
                "becket {} under valgrind: {}",
                words.join(" "),
                run.stderr
            ));
        }
        let text = std::fs::read_to_string(&told).map_err(|error| format!("what valgrind tells: {error}"))?;
        functions.extend(text.lines().filter_map(function_in).map(ToOwned::to_owned));
    }
    Ok(functions)
}

/// The function that a line of valgrind's names for the first time: `fn=(12) name`, or `cfn=` for one that is called.
/// An apostrophe and a number after a name mean a recursion.
fn function_in(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("fn=(").or_else(|| line.strip_prefix("cfn=("))?;
    let (_, name) = rest.split_once(") ")?;
    Some(name.split_once('\'').map_or(name, |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_read_from_what_valgrind_tells() {
        let named = |line| function_in(line).unwrap_or_default();
        assert_eq!(named("fn=(12) _ZN6becket4main17h0E"), "_ZN6becket4main17h0E");
        assert_eq!(named("cfn=(3) again'2"), "again");
        assert_eq!(named("fn=(12)"), "", "it was named before");
        assert_eq!(named("calls=1 0"), "");
    }

    #[test]
    fn only_becket_itself_is_ordered() {
        let linked = |file: &str| program_of(&["-m64".into(), "-o".into(), file.into()]).is_some();
        assert!(linked("/t/dist/deps/becket-0123456789abcdef"));
        for other in [
            "/t/deps/becket_hook-0123456789abcdef",
            "/t/build/becket-0/build",
            "/t/becket-x",
        ] {
            assert!(!linked(other), "{other}");
        }
    }
}
