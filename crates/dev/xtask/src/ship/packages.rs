//! The packages: an archive, a Debian package, an npm package.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::files::{PROGRAMS, Release, copy, make, name_of, remove, write};
use crate::problem::{Problem, output};

/// Packs the content of a folder, the same bytes each time. The ending of the file's name says how it is compressed.
fn pack(release: &Release<'_>, folder: &Path, what: &str, file: &Path) -> Result<(), Problem> {
    let mut tar = Command::new("tar");
    tar.arg("--create")
        .arg("--file")
        .arg(file)
        .arg("--directory")
        .arg(folder);
    tar.args([
        "--auto-compress",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
    ]);
    tar.args(["--mode=u+w,go-w,a+rX", "--format=gnu"]);
    tar.arg(format!("--mtime={}", release.time)).arg(what);
    // Neither the time nor the name of the file that is packed.
    tar.env("GZIP", "-n9").env("XZ_OPT", "-9");
    output(tar).map(drop)
}

/// The archive for people and for `install.sh`.
pub fn archive(release: &Release<'_>, folder: &Path) -> Result<PathBuf, Problem> {
    let name = release.name();
    let file = folder.join(format!("{name}.tar.xz"));
    pack(release, folder, &name, &file)?;
    Ok(file)
}

/// The package for Debian and what descends from it.
pub fn debian(release: &Release<'_>, folder: &Path) -> Result<PathBuf, Problem> {
    let tree = folder.join(release.name());
    let (root, control) = (folder.join("deb"), folder.join("control"));
    let share = root.join("usr/share");
    for program in PROGRAMS {
        copy(&tree.join(program), &root.join("usr/bin").join(program))?;
    }
    for page in entries(&tree.join("man"))? {
        copy(&page, &share.join("man/man1").join(name_of(&page)))?;
    }
    let completions = [
        ("becket", "bash-completion/completions/becket"),
        ("_becket", "zsh/vendor-completions/_becket"),
        ("becket.fish", "fish/vendor_completions.d/becket.fish"),
    ];
    for (name, place) in completions {
        copy(&tree.join("completions").join(name), &share.join(place))?;
    }
    for name in [
        "README.md",
        "CHANGELOG.md",
        "THIRD-PARTY.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
    ] {
        copy(&tree.join(name), &share.join("doc/becket").join(name))?;
    }
    let text = control_file(release, &root)?;
    write(&control.join("control"), text)?;
    let (inner_control, data) = (folder.join("control.tar.xz"), folder.join("data.tar.xz"));
    pack(release, &control, ".", &inner_control)?;
    pack(release, &root, ".", &data)?;
    let (processor, _) = release.target.processor();
    let file = folder.join(format!("becket_{}_{processor}.deb", release.version));
    write(
        &file,
        ar(&[
            ("debian-binary", b"2.0\n".to_vec()),
            read(&inner_control)?,
            read(&data)?,
        ]),
    )?;
    for made in [&root, &control] {
        remove(made)?;
    }
    for made in [&inner_control, &data] {
        std::fs::remove_file(made).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    Ok(file)
}

fn control_file(release: &Release<'_>, root: &Path) -> Result<String, Problem> {
    let mut du = Command::new("du");
    du.args(["--summarize", "--block-size=1024", "--apparent-size"])
        .arg(root);
    let size = output(du)?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    let (processor, _) = release.target.processor();
    Ok(format!(
        "Package: becket\nVersion: {}\nArchitecture: {processor}\nMaintainer: the becket project <becket@localhost>\n\
         Installed-Size: {size}\nSection: utils\nPriority: optional\nRecommends: git\n\
         Description: a hook engine for LLM agents, and an agent in which hooks fire\n\
         \x20Runs hooks, plugins and extensions written for several agents, in one order, with guards that never fail\n\
         \x20open, and lets those agents ask the same hooks.\n",
        release.version
    ))
}

fn read(file: &Path) -> Result<(&str, Vec<u8>), Problem> {
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok((name, bytes))
}

/// The container of a Debian package: a header of 60 bytes before each file, which begins at an even place.
fn ar(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in files {
        let header = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            100_644,
            content.len()
        );
        bytes.extend(header.into_bytes());
        bytes.extend(content);
        if content.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// The package for npm, which carries the programs: `npx becket`.
pub fn npm(release: &Release<'_>, folder: &Path) -> Result<PathBuf, Problem> {
    let tree = folder.join(release.name());
    let package = folder.join("npm/package");
    for program in PROGRAMS {
        copy(&tree.join(program), &package.join("bin").join(program))?;
    }
    for name in ["README.md", "THIRD-PARTY.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&tree.join(name), &package.join(name))?;
    }
    let (_, processor) = release.target.processor();
    let programs: serde_json::Map<_, _> = PROGRAMS
        .map(|program| (program.to_owned(), json!(format!("bin/{program}"))))
        .into_iter()
        .collect();
    let description = json!({
        "name": "becket", "version": release.version, "license": "MIT OR Apache-2.0",
        "description": "A hook engine for LLM agents, and an agent in which hooks fire",
        "os": ["linux"], "cpu": [processor],
        "bin": programs,
    });
    write(&package.join("package.json"), format!("{description:#}\n"))?;
    let file = folder.join(format!("becket-{}.tgz", release.version));
    pack(release, &folder.join("npm"), "package", &file)?;
    remove(&folder.join("npm"))?;
    Ok(file)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    make(folder)?;
    let entries = folder
        .read_dir()
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}
