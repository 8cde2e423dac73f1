//! The manifest of a runtime: whatever the text, it is read or refused, and what was read names no way out.

#![no_main]

use ampoule::Manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Manifest::parse("fuzz", text) {
        Ok(manifest) => {
            for name in manifest.image_names() {
                assert!(!name.is_empty() && !name.contains(['/', '\\', '\0']) && name != "..", "{name:?}");
            }
            let paths = manifest.mounts.iter().map(|mount| mount.folder.as_str()).chain([manifest.module.as_str()]);
            for path in paths {
                assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."), "{path:?}");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
