//! Whether what may be run fits into the memory that a call may have: found when the runner starts, not call by call.

use super::{AllowList, Policy};
use crate::BuildError;

/// Refuses a ceiling under which a value of the allow-list could never run. An image of a runtime that does not fit
/// where another does is warned of: scripts that need it are refused, and others are not.
pub(super) fn check(
    allowed: &AllowList,
    policy: &Policy,
    bytes_of: impl Fn(&str) -> Option<u64>,
) -> Result<(), BuildError> {
    for (of, ceiling) in policy.memory_ceilings() {
        for (value, images) in allowed.entries() {
            let sizes = images.into_iter().filter_map(|image| Some((bytes_of(image)?, image)));
            let (too_large, fits): (Vec<_>, Vec<_>) = sizes.partition(|(bytes, _)| *bytes > ceiling);
            match too_large.iter().min() {
                Some(&(bytes, image)) if fits.is_empty() => {
                    let (value, image) = (value.to_owned(), image.to_owned());
                    return Err(BuildError::Memory { of, value, image, bytes, ceiling });
                }
                _ => {}
            }
            for (bytes, image) in too_large {
                tracing::warn!(%of, runtime = value, image, bytes, memory = ceiling, "an image does not fit into `memory`");
            }
        }
    }
    Ok(())
}
