//! Claims 1, 2 and 11: standard input.

use crate::ScriptRequest;
use crate::contract::Subject;
use crate::contract::trial::Broken;

/// Input that is larger than any pipe's buffer.
const LARGE: usize = 1 << 20;

pub async fn carries_the_arguments(subject: &Subject) -> Result<(), Broken> {
    let large: String = "zeile – 行 – 😀\n".chars().cycle().take(LARGE / 4).collect();
    for (what, arguments) in [
        ("a JSON object", "{\"city\": \"Paris\", \"days\": [1, 2]}"),
        ("multi-byte text", "{\"text\": \"grüße, 世界, 😀, e\u{301}\"}"),
        ("a newline at the end", "one\ntwo\n"),
        ("odd characters", "\u{feff}tab\t cr\r\n quote\" back\\slash $HOME `x` \u{1}\u{7f} end"),
        ("nothing", ""),
        ("large input", &large),
    ] {
        let request = request_with(subject, &subject.scripts.copies_input, arguments);
        let ran = subject.run(&format!("{what} on standard input, copied"), request).await?;
        ran.exited(0)?.stdout(arguments)?;
    }
    Ok(())
}

pub async fn ends_without_arguments(subject: &Subject) -> Result<(), Broken> {
    let request = subject.request(&subject.scripts.copies_input);
    subject.run("no arguments, copied", request).await?.exited(0)?.stdout("")?;
    Ok(())
}

pub async fn may_stay_unread(subject: &Subject) -> Result<(), Broken> {
    let input = "x".repeat(LARGE);
    for (what, script, stdout) in [
        ("large input that is not read", &subject.scripts.does_nothing, ""),
        ("large input that a script that writes does not read", &subject.scripts.says_content, "content\n"),
    ] {
        subject.run(what, request_with(subject, script, &input)).await?.exited(0)?.stdout(stdout)?;
    }
    Ok(())
}

fn request_with(subject: &Subject, script: &str, arguments: &str) -> ScriptRequest {
    ScriptRequest { arguments_json: Some(arguments.to_owned()), ..subject.request(script) }
}
