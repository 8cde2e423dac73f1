//! Claim 9: a temporary directory for each call.

use std::path::Path;

use crate::ScriptRequest;
use crate::contract::Subject;
use crate::contract::trial::{Broken, Ran};

pub async fn is_each_call_s_own(subject: &Subject) -> Result<(), Broken> {
    let what = "two calls at once that mark their temporary directories";
    let mark = |skill: &'static str| {
        let request = ScriptRequest { skill_name: skill.into(), ..subject.request(&subject.scripts.marks_directory) };
        async move { directory(&subject.run(what, request).await?, skill) }
    };
    let (first, second) = tokio::join!(mark("first"), mark("second"));
    let (first, second) = (first?, second?);
    if first == second {
        return Err(format!("{what}: both have `{first}`"));
    }
    for directory in [first, second] {
        let what = format!("the temporary directory `{directory}` of a call that ended");
        // It may be a path of the host's, or one that only scripts see.
        if Path::new(&directory).exists() {
            return Err(format!("{what}: it is still there"));
        }
        let request =
            ScriptRequest { arguments_json: Some(directory), ..subject.request(&subject.scripts.looks_for_path) };
        subject.run(&what, request).await?.exited(0)?.stdout("gone\n")?;
    }
    subject.is_clean(what).await
}

/// The directory's path, from a script that made a file named like its skill there and saw no other.
fn directory(ran: &Ran, skill: &str) -> Result<String, Broken> {
    ran.exited(0)?;
    let text = ran.outcome.stdout_text();
    let mut lines = text.lines();
    let path = lines.next().unwrap_or_default();
    ran.expect(!path.is_empty(), || "TRACON_SKILL_TEMP is not there".into())?;
    let names: Vec<&str> = lines.collect();
    ran.expect(names == [skill], || format!("`{path}` was to hold `{skill}` alone, but holds {names:?}"))?;
    Ok(path.to_owned())
}
