//! The variables a guest finds: what every script needs, the runtime's own, and the call's, the later ones winning.

use std::collections::BTreeMap;

use super::scratch::TMP;

/// What every guest gets, under names that do not depend on the call.
const COMMON: [(&str, &str); 3] = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("TMPDIR", TMP), ("LANG", "C.UTF-8")];

/// Variables in the order in which they were first set.
#[derive(Debug, Default)]
pub(super) struct Environment(Vec<(String, String)>);

impl Environment {
    /// What is the same in every call. A reactor reads it once, before its image is taken.
    pub fn constant(runtime: &BTreeMap<String, String>) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in COMMON {
            environment.set(name.to_owned(), value.to_owned());
        }
        for (name, value) in runtime {
            environment.set(name.clone(), value.clone());
        }
        environment
    }

    /// What belongs to one call: its directory, the skill it runs for, and what the caller asked for.
    pub fn add_call(&mut self, directory: &str, skill: Option<&str>, variables: Vec<(String, String)>) {
        self.set("HOME".to_owned(), directory.to_owned());
        if let Some(skill) = skill {
            self.set("TRACON_SKILL_NAME".to_owned(), skill.to_owned());
            self.set("TRACON_SKILL_TEMP".to_owned(), directory.to_owned());
        }
        for (name, value) in variables {
            self.set(name, value);
        }
    }

    fn set(&mut self, name: String, value: String) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => self.0.push((name, value)),
        }
    }

    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_s_variables_win_over_the_runtime_s_and_those_over_the_common_ones() {
        let runtime =
            BTreeMap::from([("LANG".to_owned(), "runtime".to_owned()), ("A".to_owned(), "runtime".to_owned())]);
        let mut environment = Environment::constant(&runtime);
        environment.add_call("/scratch/1", None, vec![("A".to_owned(), "call".to_owned())]);
        let value = |name: &str| {
            let found: Vec<&str> = environment
                .pairs()
                .iter()
                .filter(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
                .collect();
            assert_eq!(found.len(), 1, "{name}");
            found[0]
        };
        assert_eq!((value("LANG"), value("A"), value("HOME")), ("runtime", "call", "/scratch/1"));
    }
}
