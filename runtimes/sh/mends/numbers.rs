//! Integer constants as C writes them, which is what a variable in an arithmetic expansion may hold.

/// The value of a constant with an optional sign: decimal, octal after `0`, hexadecimal after `0x`.
pub(super) fn constant(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    let (base, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        None => (10, digits),
    };
    // A second sign is none.
    if !digits.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from_str_radix(digits, base).ok()?;
    i64::try_from(if negative { -value } else { value }).ok()
}
