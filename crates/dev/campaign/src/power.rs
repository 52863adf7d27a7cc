//! Power cuts: the disk as it was at the moment of an acknowledgement, without anything that was only in memory.
//!
//! The home is on a file system of its own, which lies in a file. A copy of that file holds what was flushed, and
//! nothing else; mounting the copy is the restart after the cut.

use std::path::Path;
use std::time::{Duration, Instant};

use testkit::{Room, Signal};

use crate::conversation::{acknowledged, check, check_home, model};
use crate::mount::{Mount, may_mount, run};
use crate::round::{Campaign, Round, ensure};

pub const CAMPAIGN: Campaign = Campaign {
    name: "power",
    promise: "What was acknowledged is on the disk: a power cut loses none of it.",
    round,
};

/// The kernel writes nothing by itself for so long.
const OPTIONS: &str = "loop,commit=3000";

fn round(round: &mut Round<'_>) -> Result<(), String> {
    if !may_mount() || run("mkfs.ext4", &["-V"]).is_err() {
        round.skip("power cuts", "root, mount and mkfs.ext4");
        // Rounds without effect must not fill the state's file.
        std::thread::sleep(Duration::from_secs(1));
        return Ok(());
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let disk = folder.path().join("disk");
    make_disk(&disk)?;
    let mount = Mount::new(
        &["-o", OPTIONS, &disk.display().to_string()],
        &folder.path().join("before"),
    )?;
    let room = Room::within(mount.folder(), round.program());
    let model = model(&room);
    let begun = Instant::now();
    room.run(["--yes", "--json", "-c", "first", "--model", &model, "go"])
        .ended_with(0);
    let most = begun.elapsed().as_micros() as usize * 5 / 4;
    for number in 0..4 {
        // Each cut has a file of its own: nothing that is still being unmounted may write into it.
        let copy = folder.path().join(format!("copy-{number}"));
        let run = room.start(["--yes", "--json", "-c", "cut", "--model", &model, "go"]);
        std::thread::sleep(Duration::from_micros(round.random.below(most) as u64));
        // What is acknowledged from here on may or may not be on the copy.
        run.signal_group(Signal::STOP);
        let promised = acknowledged(&run.output());
        copy_disk(&disk, &copy)?;
        drop(run);
        after_cut(round, &copy, &room, &promised)?;
    }
    Ok(())
}

fn make_disk(disk: &Path) -> Result<(), String> {
    let file = std::fs::File::create(disk).map_err(|error| error.to_string())?;
    file.set_len(64 << 20).map_err(|error| error.to_string())?;
    run("mkfs.ext4", &["-q", "-F", &disk.display().to_string()])
}

fn copy_disk(disk: &Path, copy: &Path) -> Result<(), String> {
    let words = [
        "--sparse=always",
        &disk.display().to_string(),
        &copy.display().to_string(),
    ];
    run("cp", &words)
}

/// The restart after a cut.
fn after_cut(round: &mut Round<'_>, copy: &Path, room: &Room, promised: &[String]) -> Result<(), String> {
    let place = copy.with_extension("mounted");
    let mount = Mount::new(&["-o", "loop", &copy.display().to_string()], &place)?;
    let restarted = room.moved(mount.folder());
    round.count("power cuts", 1);
    check(&restarted.store_file(), "cut", promised)?;
    round.count("acknowledged messages found again", promised.len());
    check_home(&restarted)?;
    let model = model(&restarted);
    let next = restarted.run(["--yes", "--json", "-c", "cut", "--model", &model, "go"]);
    ensure!(next.code == 0, "the conversation does not go on: {next:#?}");
    Ok(())
}
