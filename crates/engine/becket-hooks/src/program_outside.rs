//! Finding a program for becket's own use. A project may have a folder on the search path, such as that of an active
//! virtual environment, and what lies there is anybody's: a command in a sandbox may have put it there.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first program of a name on the search path that lies outside of the project around a folder: outside of its
/// repository, or else of the folder itself.
pub fn program_outside(name: &str, search_path: &OsStr, folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let mut around = folder.ancestors();
    let project = around
        .find(|place| place.join(".git").exists())
        .unwrap_or(&folder);
    let places = std::env::split_paths(search_path).filter(|place| place.is_absolute());
    let mut programs = places.map(|place| place.join(name));
    programs.find(|program| is_program(program) && !lies_in(program, project))
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Whether a program or what it links to lies in a folder.
fn lies_in(program: &Path, folder: &Path) -> bool {
    let place = program.parent().and_then(|place| place.canonicalize().ok());
    let target = program.canonicalize().ok();
    [place, target]
        .iter()
        .flatten()
        .any(|place| place.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_project_is_passed_over() {
        let room = tempfile::tempdir().unwrap();
        let room = room.path().canonicalize().unwrap();
        let program = |place: &str| {
            let place = room.join(place);
            std::fs::create_dir_all(&place).unwrap();
            let file = place.join("git");
            std::fs::write(&file, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
            file
        };
        let (planted, real) = (program("project/.venv/bin"), program("usr/bin"));
        std::fs::create_dir_all(room.join("project/.git")).unwrap();
        std::fs::create_dir_all(room.join("project/src")).unwrap();
        std::fs::create_dir_all(room.join("links")).unwrap();
        std::os::unix::fs::symlink(&planted, room.join("links/git")).unwrap();
        let places = ["links", "project/.venv/bin", "none", "usr/bin"].map(|place| room.join(place));
        let found = |places: &[PathBuf]| {
            let path = std::env::join_paths(places).unwrap();
            program_outside("git", &path, &room.join("project/src"))
        };
        assert_eq!(found(&places), Some(real));
        assert_eq!(found(&places[..3]), None);
        assert_eq!(program_outside("git", OsStr::new(""), &room), None);
    }
}
