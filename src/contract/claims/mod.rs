//! What each claim tries.

mod directory;
mod ending;
mod environment;
mod input;
mod output;
mod serving;

use super::trial::Broken;
use super::{Claim, Subject};

pub async fn check(claim: Claim, subject: &Subject) -> Result<(), Broken> {
    match claim {
        Claim::StdinCarriesTheArguments => input::carries_the_arguments(subject).await,
        Claim::NoArgumentsIsEndOfInput => input::ends_without_arguments(subject).await,
        Claim::AnEmptyScriptSucceeds => ending::empty_script(subject).await,
        Claim::ExitCodeAndStreamsComeBack => ending::code_and_streams(subject).await,
        Claim::OutputIsCutAtTheCap => output::is_cut(subject).await,
        Claim::ATimeoutStopsTheScript => ending::timeout(subject).await,
        Claim::CancellationStopsTheScript => ending::cancellation(subject).await,
        Claim::TheHostsEnvironmentIsNotThere => environment::is_the_contract_s(subject).await,
        Claim::EachCallHasItsOwnDirectory => directory::is_each_call_s_own(subject).await,
        Claim::TheContentRunsNotTheFile => serving::content_runs(subject).await,
        Claim::UnreadInputDoesNotBlock => input::may_stay_unread(subject).await,
        Claim::TheExecutorKeepsServing => serving::keeps_serving(subject).await,
    }
}
