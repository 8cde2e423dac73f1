//! What a crate that tests an executor calls.

/// Makes a module with one test for each [`Claim`](crate::contract::Claim) of the executor's contract.
///
/// The first argument names the module; the second is a function (or closure) without arguments that returns the
/// [`Subject`](crate::contract::Subject), called once for each test. To be used where tests are: in a file of `tests/`
/// or in a module under `#[cfg(test)]`. See [`contract`](crate::contract).
#[macro_export]
macro_rules! executor_contract {
    ($module:ident, $subject:expr $(,)?) => {
        $crate::executor_contract! { @tests $module, $subject;
            stdin_carries_the_arguments: StdinCarriesTheArguments,
            no_arguments_is_end_of_input: NoArgumentsIsEndOfInput,
            an_empty_script_succeeds: AnEmptyScriptSucceeds,
            exit_code_and_streams_come_back: ExitCodeAndStreamsComeBack,
            output_is_cut_at_the_cap: OutputIsCutAtTheCap,
            a_timeout_stops_the_script: ATimeoutStopsTheScript,
            cancellation_stops_the_script: CancellationStopsTheScript,
            the_hosts_environment_is_not_there: TheHostsEnvironmentIsNotThere,
            each_call_has_its_own_directory: EachCallHasItsOwnDirectory,
            the_content_runs_not_the_file: TheContentRunsNotTheFile,
            unread_input_does_not_block: UnreadInputDoesNotBlock,
            the_executor_keeps_serving: TheExecutorKeepsServing,
        }
    };
    (@tests $module:ident, $subject:expr; $($name:ident: $claim:ident,)*) => {
        pub(crate) mod $module {
            #[allow(unused_imports, reason = "the subject may be an expression that needs nothing of its surroundings")]
            use super::*;
            $(
                #[test]
                pub(crate) fn $name() {
                    $crate::contract::run($crate::contract::Claim::$claim, $subject);
                }
            )*
        }
    };
}

/// Checks, while the tests are compiled, that a crate tests every contract of this library, claim by claim. To be used
/// beside the modules it names.
///
/// Each contract is named with the module that tests it, or with the reason why it is not tested. Today there is one:
///
/// ```
/// ampoule::contract_coverage!(executor: skip "this crate has no executor");
/// ```
///
/// A module that was written by hand, without [`executor_contract!`](crate::executor_contract), must hold a test of
/// each claim's name. When the library gains a claim, this one stops compiling, as it does here:
///
/// ```compile_fail
/// mod by_hand {
///     pub fn stdin_carries_the_arguments() {}
/// }
/// ampoule::contract_coverage!(executor: by_hand);
/// ```
///
/// When it gains a contract, a call that does not name it stops compiling:
///
/// ```compile_fail
/// ampoule::contract_coverage!();
/// ```
#[macro_export]
macro_rules! contract_coverage {
    (executor: skip $reason:literal $(,)?) => {};
    (executor: $module:ident $(,)?) => {
        #[allow(unused_imports, reason = "only whether the names are there matters")]
        const _: () = {
            use $module::{
                a_timeout_stops_the_script, an_empty_script_succeeds, cancellation_stops_the_script,
                each_call_has_its_own_directory, exit_code_and_streams_come_back, no_arguments_is_end_of_input,
                output_is_cut_at_the_cap, stdin_carries_the_arguments, the_content_runs_not_the_file,
                the_executor_keeps_serving, the_hosts_environment_is_not_there, unread_input_does_not_block,
            };
        };
    };
}
