//! Claim 8: the variables that a script finds.

use std::collections::HashMap;
use std::env;

use crate::ScriptRequest;
use crate::contract::Subject;
use crate::contract::trial::Broken;

/// The skill's variables.
const NAME: &str = "TRACON_SKILL_NAME";
const TEMP: &str = "TRACON_SKILL_TEMP";

/// What every script needs, inside the sandbox.
const NEEDED: [&str; 4] = ["PATH", "HOME", "TMPDIR", "LANG"];

/// What a shell sets by itself.
const SHELL_S_OWN: [&str; 12] =
    ["PWD", "OLDPWD", "SHLVL", "_", "IFS", "OPTIND", "PPID", "PS1", "PS2", "PS4", "SHELL", "TERM"];

pub async fn is_the_contract_s(subject: &Subject) -> Result<(), Broken> {
    let what = "the environment, listed";
    let known = |name: &str| {
        let listed = NEEDED.contains(&name) || SHELL_S_OWN.contains(&name) || [NAME, TEMP].contains(&name);
        listed || subject.variables.iter().any(|variable| variable == name)
    };
    // The markers: variables of this process that no executor has a reason to pass on.
    let host: Vec<(String, String)> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| !known(name) && !value.is_empty())
        .collect();
    if host.is_empty() {
        return Err("the host's environment holds no variable that could be looked for; set one for the test".into());
    }
    let mut directories = Vec::new();
    for skill in ["first skill", "grüße"] {
        let request = ScriptRequest { skill_name: skill.into(), ..subject.request(&subject.scripts.lists_environment) };
        let ran = subject.run(what, request).await?;
        ran.exited(0)?;
        let text = ran.outcome.stdout_text();
        let seen: HashMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
        for (name, value) in &host {
            ran.expect(!seen.contains_key(name.as_str()), || format!("the host's variable {name} is there"))?;
            // Under another name it is the host's still. A short one may be there by chance.
            let first = value.lines().next().unwrap_or_default();
            let copied = seen.iter().find(|(seen, value)| first.len() >= 16 && **value == first && !known(seen));
            ran.expect(copied.is_none(), || format!("the value of the host's {name} is there: {copied:?}"))?;
        }
        let found = seen.get(NAME);
        ran.expect(found == Some(&skill), || format!("{NAME} was to be {skill:?}, but is {found:?}"))?;
        let Some(directory) = seen.get(TEMP).filter(|path| !path.is_empty()) else {
            return Err(format!("{what}: {TEMP} is not there"));
        };
        directories.push((*directory).to_owned());
        for name in ["HOME", "TMPDIR"] {
            let same = matches!((seen.get(name), env::var(name)), (Some(seen), Ok(host)) if *seen == host);
            // Folders with the same name on every system tell nothing.
            ran.expect(!same || seen[name].starts_with("/tmp"), || format!("{name} is the host's"))?;
        }
    }
    if directories[0] == directories[1] {
        return Err(format!("{what}: {TEMP} is {} in two calls", directories[0]));
    }
    Ok(())
}
