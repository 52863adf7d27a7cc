//! The workbench of the command line.

use std::sync::Arc;

use becket_face_kit::{Options, caller, person};
use becket_front::Output;
use becket_hooks::Witness;
use becket_run::Purpose;
use becket_system::{CliError, Surroundings};
use becket_workbench::Lab;
use tokio_util::sync::CancellationToken;

/// Opens the workbench. Remarks go to standard error.
pub async fn lab(
    options: &Options,
    surroundings: &Surroundings,
    witness: Option<Arc<dyn Witness>>,
    cancel: &CancellationToken,
) -> Result<Lab, CliError> {
    let output = Arc::new(Output::default());
    let person = person(options, surroundings, &output, Purpose::Care);
    Lab::open(caller(options, surroundings, cancel), person, witness).await
}
