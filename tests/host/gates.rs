//! Each gate closed, with every other open: a test for each row of the contract.

use std::time::{Duration, SystemTime};

use ampoule::host::{ArgumentSchema, ContentPin, Denial, Grant, HostConfig, HostError, Script, ScriptHost};
use serde_json::json;

use crate::world::{NAME, SKILL, TENANT, World, call, in_an_hour};

const TEXT: &str = "print('hello')";

#[tokio::test]
async fn with_every_gate_open_the_executor_gets_the_request_and_the_caller_the_outcome() {
    let world = World::with(TEXT);
    let mut asked = call().arguments("{}");
    asked.run = Some("run-7".into());
    let run = world.run(asked).await.unwrap();
    assert_eq!((run.outcome.stdout_text().as_str(), run.recorded), (TEXT, true));
    let requests = world.executor.requests.lock().unwrap();
    let request = &requests[0];
    assert_eq!((request.tenant_id.as_str(), request.run_id.as_deref()), (TENANT, Some("run-7")));
    assert_eq!((request.skill_name.as_str(), request.script_name.as_str()), (SKILL, NAME));
    assert_eq!((request.interpreter.as_str(), request.arguments_json.as_deref()), ("python-3.15", Some("{}")));
    assert_eq!(request.content_sha256, ampoule::content_sha256(TEXT));
    assert_eq!((request.timeout, request.max_output_bytes), (Duration::from_secs(30), 256 << 10));
}

#[tokio::test]
async fn gate_1_scripts_that_are_switched_off_do_not_run() {
    let mut world = World::with(TEXT);
    world.config.scripts_enabled = false;
    let (gate, denial) = world.denied(call()).await;
    assert_eq!((gate, &denial), ("enabled", &Denial::Disabled));
    assert!(denial.to_string().contains("`scripts_enabled = true`"));
}

#[tokio::test]
async fn gate_2_a_script_that_nobody_knows_does_not_run() {
    let mut world = World::with(TEXT);
    world.scripts.clear();
    let (gate, denial) = world.denied(call()).await;
    assert_eq!(gate, "known");
    assert_eq!(denial.to_string(), "there is no script `hello.py` in the skill `greetings`: check both names");
}

#[tokio::test]
async fn gate_3_arguments_that_the_script_does_not_take_are_denied_without_being_shown() {
    let mut world = World::with(TEXT);
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    world.scripts[0] = world.scripts[0].clone().schema(ArgumentSchema::new(&schema).unwrap());
    world.run(call().arguments(r#"{"name": "Ada"}"#)).await.unwrap();
    world.audit.take();
    for arguments in [Some(r#"{"name": 4711}"#), Some("{}"), Some("{"), None] {
        let mut asked = call();
        asked.arguments = arguments.map(str::to_owned);
        let (gate, denial) = world.denied(asked).await;
        assert_eq!(gate, "schema");
        assert!(!denial.to_string().contains("4711"), "{denial}");
    }
}

#[tokio::test]
async fn gate_4_without_a_grant_or_after_its_end_nothing_runs() {
    let mut world = World::with(TEXT);
    let granted = world.grants.clone();
    let pin = ContentPin::of_script(SKILL, NAME, TEXT);
    for others in [
        Vec::new(),
        vec![Grant::script("other", SKILL, NAME).pinned(pin.clone())],
        vec![Grant::script(TENANT, "other", NAME).pinned(pin.clone())],
        vec![Grant::script(TENANT, SKILL, "other.py").pinned(pin)],
    ] {
        world.grants = others;
        let (gate, denial) = world.denied(call()).await;
        assert_eq!(gate, "grant");
        assert!(denial.to_string().contains("ampoule grant add --tenant acme --skill greetings --script hello.py"));
    }
    world.grants = vec![granted[0].clone().until(SystemTime::now() - Duration::from_secs(1))];
    let (gate, denial) = world.denied(call()).await;
    assert!(gate == "grant" && matches!(denial, Denial::Expired { .. }), "{denial}");
    world.grants = vec![granted[0].clone().until(in_an_hour())];
    world.run(call()).await.unwrap();
}

#[tokio::test]
async fn gate_4_a_narrow_grant_beats_a_wide_one_whatever_it_says() {
    let mut world = World::with(TEXT);
    let wide = Grant::skill(TENANT, SKILL).pinned(ContentPin::of_skill(SKILL, [(NAME, TEXT)]));
    let narrow = world.grants[0].clone();
    world.grants = vec![wide.clone()];
    world.run(call()).await.unwrap();
    world.audit.take();
    // Whichever was added first.
    let expired = narrow.clone().until(SystemTime::now() - Duration::from_secs(1));
    for grants in [vec![wide.clone(), expired.clone()], vec![expired, wide.clone()]] {
        world.grants = grants;
        assert!(matches!(world.denied(call()).await.1, Denial::Expired { .. }));
    }
    let expired = wide.until(SystemTime::now() - Duration::from_secs(1));
    world.grants = vec![narrow, expired];
    world.run(call()).await.unwrap();
}

#[tokio::test]
async fn gate_5_a_stored_script_runs_only_with_the_content_that_was_granted() {
    let mut world = World::with(TEXT);
    world.scripts[0].content = "print('other')".into();
    let (gate, denial) = world.denied(call()).await;
    assert!(gate == "pin" && matches!(denial, Denial::OtherContent { .. }), "{denial}");
    world.grants[0].pin = None;
    assert!(matches!(world.denied(call()).await.1, Denial::NotPinned { .. }));
    // The pin that a denial names is the one to grant.
    let Denial::NotPinned { found, .. } = world.denied(call()).await.1 else { unreachable!() };
    world.grants[0].pin = Some(found);
    world.run(call()).await.unwrap();
}

#[tokio::test]
async fn gate_5_a_grant_for_a_skill_pins_all_of_its_stored_scripts() {
    let mut world = World::with(TEXT);
    world.scripts.push(Script::stored(SKILL, "other.py", "1"));
    let pin = ContentPin::of_skill(SKILL, [("other.py", "1"), (NAME, TEXT)]);
    world.grants = vec![Grant::skill(TENANT, SKILL).pinned(pin)];
    world.run(call()).await.unwrap();
    world.audit.take();
    world.scripts[1].content = "2".into();
    assert!(matches!(world.denied(call()).await.1, Denial::OtherContent { .. }));
}

#[tokio::test]
async fn gate_5_a_file_s_content_is_not_pinned() {
    let mut world = World::with(TEXT);
    world.scripts = vec![Script::file(SKILL, NAME, "whatever it is now")];
    world.run(call()).await.unwrap();
}

#[tokio::test]
async fn gate_6_an_extension_that_is_not_on_the_allow_list_does_not_run_and_its_case_is_no_matter() {
    let mut world = World::with(TEXT);
    world.config.interpreters.clear();
    let (gate, denial) = world.denied(call()).await;
    assert_eq!(gate, "interpreter");
    assert!(denial.to_string().contains("`py`") && denial.to_string().contains("(nothing)"), "{denial}");
    world.config.interpreters.insert("PY".into(), "python".into());
    world.run(call()).await.unwrap();
    for name in ["hello", "hello.", "hello.rb", "a.py/hello"] {
        world.scripts = vec![Script::file(SKILL, name, TEXT)];
        world.grants = vec![Grant::skill(TENANT, SKILL)];
        world.audit.take();
        let mut asked = call();
        asked.script = name.into();
        assert_eq!(world.denied(asked).await.0, "interpreter", "{name}");
    }
}

#[tokio::test]
async fn gate_7_arguments_are_allowed_at_their_limit_and_denied_one_byte_over() {
    let world = World::with(TEXT);
    world.run(call().arguments("x".repeat(16 << 10))).await.unwrap();
    world.audit.take();
    let (gate, denial) = world.denied(call().arguments("x".repeat((16 << 10) + 1))).await;
    assert_eq!(gate, "arguments-size");
    assert!(denial.to_string().contains("16385 bytes, but `max_arguments_bytes` allows 16384"), "{denial}");
}

#[tokio::test]
async fn gate_8_a_script_is_allowed_at_its_limit_and_denied_one_byte_over() {
    let world = World::with(&"x".repeat(64 << 10));
    world.run(call()).await.unwrap();
    let world = World::with(&"x".repeat((64 << 10) + 1));
    let (gate, denial) = world.denied(call()).await;
    assert_eq!(gate, "script-size");
    assert!(denial.to_string().contains("65537 bytes, but `max_script_bytes` allows 65536"), "{denial}");
}

#[tokio::test]
async fn gate_9_a_stored_script_needs_a_name_that_is_safe() {
    for name in [" .py", "/hello.py", "..\\hello.py", "a/hello.py", "a:hello.py"] {
        let mut world = World::with(TEXT);
        world.scripts = vec![Script::stored(SKILL, name, TEXT)];
        world.grants = vec![Grant::script(TENANT, SKILL, name).pinned(ContentPin::of_script(SKILL, name, TEXT))];
        let mut asked = call();
        asked.script = name.into();
        if name == " .py" {
            // Not blank.
            world.run(asked).await.unwrap();
            continue;
        }
        let (gate, denial) = world.denied(asked).await;
        assert!(gate == "safe-name" && matches!(denial, Denial::UnsafeName { .. }), "{name}: {denial}");
    }
    let mut world = World::with(TEXT);
    for name in ["", " ", ".", ".."] {
        // With an extension none of them would be that name: the allow-list is asked for another.
        let mut script = Script::stored(SKILL, name, TEXT);
        script.extension = Some("py".into());
        world.scripts = vec![script];
        world.grants = vec![Grant::script(TENANT, SKILL, name).pinned(ContentPin::of_script(SKILL, name, TEXT))];
        let mut asked = call();
        asked.script = name.into();
        assert_eq!(world.denied(asked).await.0, "safe-name", "{name:?}");
    }
    world.scripts = vec![Script::file(SKILL, "scripts/fetch.py", TEXT)];
    world.grants = vec![Grant::skill(TENANT, SKILL)];
    let mut asked = call();
    asked.script = "scripts/fetch.py".into();
    world.run(asked).await.unwrap();
}

#[tokio::test]
async fn a_timeout_is_allowed_up_to_the_longest_and_denied_beyond() {
    let world = World::with(TEXT);
    world.run(call().timeout(Duration::from_secs(600))).await.unwrap();
    world.audit.take();
    for timeout in [Duration::ZERO, Duration::from_millis(600_001)] {
        assert_eq!(world.denied(call().timeout(timeout)).await.0, "timeout");
    }
}

#[tokio::test]
async fn the_first_closed_gate_in_the_contract_s_order_is_the_one_that_is_named() {
    let mut world = World::with(&"x".repeat(1 << 20));
    let schema = ArgumentSchema::new(&json!(false)).unwrap();
    world.scripts[0] = world.scripts[0].clone().schema(schema);
    world.scripts[0].name = "a/b".into();
    world.config.interpreters.clear();
    world.grants = vec![Grant::script(TENANT, SKILL, "a/b").until(SystemTime::UNIX_EPOCH)];
    world.config.scripts_enabled = false;
    let asked = || {
        let mut asked = call().arguments("x".repeat(20_000)).timeout(Duration::ZERO);
        asked.script = "a/b".into();
        asked
    };
    let scripts = std::mem::take(&mut world.scripts);
    let mut order = vec![world.denied(asked()).await.0];
    world.config.scripts_enabled = true;
    order.push(world.denied(asked()).await.0);
    world.scripts = scripts;
    order.push(world.denied(call_small()).await.0);
    order.push(world.denied(asked()).await.0);
    world.grants[0].expires = None;
    order.push(world.denied(asked()).await.0);
    world.grants[0].pin = Some(ContentPin::of_script(SKILL, "a/b", &world.scripts[0].content));
    order.push(world.denied(asked()).await.0);
    world.scripts[0].extension = Some("py".into());
    world.config.interpreters.insert("py".into(), "python".into());
    order.push(world.denied(asked()).await.0);
    world.config.max_arguments_bytes = 1 << 20;
    world.scripts[0].schema = None;
    order.push(world.denied(asked()).await.0);
    world.config.max_script_bytes = 2 << 20;
    order.push(world.denied(asked()).await.0);
    assert_eq!(
        order,
        ["enabled", "known", "schema", "grant", "pin", "interpreter", "arguments-size", "script-size", "safe-name"]
    );

    fn call_small() -> ampoule::host::ScriptCall {
        let mut asked = call().arguments("{}");
        asked.script = "a/b".into();
        asked
    }
}

#[tokio::test]
async fn a_host_does_not_start_with_an_executor_that_its_configuration_does_not_name() {
    let world = World::with(TEXT);
    let config = HostConfig::new("wasm");
    let error =
        ScriptHost::builder(config, "process", world.executor.clone(), world.audit.clone()).build().unwrap_err();
    assert!(error.to_string().contains("given the executor `process`, but its configuration names `wasm`"), "{error}");
}

#[tokio::test]
async fn a_store_that_does_not_answer_denies() {
    struct Broken;
    #[ampoule::async_trait]
    impl ampoule::host::GrantStore for Broken {
        async fn find(&self, _: &str, _: &str, _: &str) -> Result<Option<Grant>, ampoule::host::StoreError> {
            Err("the disk is gone".into())
        }
        async fn add(&self, _: Grant) -> Result<(), ampoule::host::StoreError> {
            Err("the disk is gone".into())
        }
        async fn list(&self) -> Result<Vec<Grant>, ampoule::host::StoreError> {
            Err("the disk is gone".into())
        }
        async fn revoke(&self, _: &str) -> Result<bool, ampoule::host::StoreError> {
            Err("the disk is gone".into())
        }
    }
    let world = World::with(TEXT);
    let host = ScriptHost::builder(world.config.clone(), "recording", world.executor.clone(), world.audit.clone())
        .catalog(std::sync::Arc::new(ampoule::host::MemoryCatalog::new(world.scripts.clone())))
        .grants(std::sync::Arc::new(Broken))
        .build()
        .unwrap();
    let error = host.run(call(), &ampoule::CancellationToken::new()).await.unwrap_err();
    let HostError::Denied { gate: "grant", denial, .. } = &error else { panic!("{error}") };
    assert!(matches!(**denial, Denial::Unchecked { .. }), "{error}");
    assert!(error.to_string().contains("the disk is gone"));
    assert_eq!(world.executor.calls(), 0);
}
