//! Dates as people write them, and steps of months and years, for `date -d`.

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime, Utc};

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const UNITS: &str = "(second|sec|minute|min|hour|day|week|month|year)s?";

/// A step behind a date with its sign and its number apart: `2024-01-31 +1 day` and `2024-01-31 1 day ago`.
pub fn apart(text: &str) -> String {
    let Ok(step) = regex::Regex::new(&format!(r"(?i)^(.*[^\s+-])\s+([+-]?)\s*(\d+)\s*{UNITS}(\s+ago)?$")) else {
        return text.to_owned();
    };
    let Some(found) = step.captures(text) else { return text.to_owned() };
    // A number before a unit can be the time's last part, too: `10:00 1 day` has a date before it.
    let back = (&found[2] == "-") != found.get(5).is_some();
    let unit = found[4].to_lowercase();
    let unit = match unit.as_str() {
        "sec" => "second",
        "min" => "minute",
        unit => unit,
    };
    format!("{} {} {} {unit}", &found[1], if back { "-" } else { "+" }, &found[3])
}

/// So many months or years later; what is too late for its month runs into the next. None for other units.
pub fn later(from: DateTime<Utc>, unit: &str, count: i64) -> Option<Option<DateTime<Utc>>> {
    let months = match unit {
        "month" => count,
        "year" => count.saturating_mul(12),
        _ => return None,
    };
    let add = || {
        let all = (i64::from(from.year()) * 12 + i64::from(from.month0())).checked_add(months)?;
        let year = i32::try_from(all.div_euclid(12)).ok()?;
        let first = NaiveDate::from_ymd_opt(year, u32::try_from(all.rem_euclid(12)).ok()? + 1, 1)?;
        let day = first.checked_add_signed(Duration::days(i64::from(from.day0())))?;
        Some(day.and_time(from.time()).and_utc())
    };
    Some(add())
}

/// `1 month ago`, `next year`, `+2 months`, from `now`.
pub fn months_away(text: &str, now: DateTime<Utc>) -> Option<Option<DateTime<Utc>>> {
    let (rest, back) = match text.strip_suffix("ago") {
        Some(rest) => (rest.trim(), true),
        None => (text, false),
    };
    let (count, unit) = match rest.strip_prefix("next ").map(|unit| (1, unit)) {
        Some(found) => found,
        None => match rest.strip_prefix("last ").map(|unit| (-1, unit)) {
            Some(found) => found,
            None => {
                let (number, unit) = rest.split_once(' ')?;
                (number.strip_prefix('+').unwrap_or(number).parse().ok()?, unit)
            }
        },
    };
    later(now, unit.trim().trim_end_matches('s'), if back { -count } else { count })
}

/// `Jan 5 2024`, `5 January 2024 15:00`, `Fri Jan 5 3pm 2024`, `1/5/2024`, `20240105`.
pub fn other(text: &str) -> Option<NaiveDateTime> {
    let (mut year, mut month, mut day, mut time) = (None, None, None, NaiveTime::MIN);
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        let lower = word.to_lowercase();
        if let Some(found) = named(&lower, &MONTHS) {
            month = Some(found as u32 + 1);
        } else if named(&lower, &WEEKDAYS).is_some() {
            continue;
        } else if let Some(found) = time_of(&lower) {
            time = found;
        } else if let [m, d, y] = lower.split('/').collect::<Vec<_>>()[..] {
            (month, day, year) = (Some(m.parse().ok()?), Some(d.parse().ok()?), Some(y.parse().ok()?));
        } else if lower.len() == 8 {
            let number: u32 = lower.parse().ok()?;
            (year, month, day) = (Some((number / 10_000) as i32), Some(number / 100 % 100), Some(number % 100));
        } else if lower.len() == 4 {
            year = Some(lower.parse().ok()?);
        } else if lower.len() <= 2 && day.is_none() {
            day = Some(lower.parse().ok()?);
        } else {
            return None;
        }
    }
    Some(NaiveDate::from_ymd_opt(year?, month?, day?)?.and_time(time))
}

/// Which of the names a word is, or begins: `january`, `sept`.
fn named(word: &str, names: &[&str]) -> Option<usize> {
    let is_word = word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    names.iter().position(|name| is_word && word.starts_with(name))
}

/// `15:00`, `15:00:30`, `3pm`, `3:30am`.
fn time_of(word: &str) -> Option<NaiveTime> {
    let (plain, half) = match word.strip_suffix("am") {
        Some(plain) => (plain, Some(0)),
        None => match word.strip_suffix("pm") {
            Some(plain) => (plain, Some(12)),
            None => (word, None),
        },
    };
    if half.is_none() && !plain.contains(':') {
        return None;
    }
    let parts: Vec<u32> = plain.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let hour = *parts.first()?;
    let hour = half.map_or(hour, |half| hour % 12 + half);
    NaiveTime::from_hms_opt(hour, parts.get(1).copied().unwrap_or(0), parts.get(2).copied().unwrap_or(0))
}
