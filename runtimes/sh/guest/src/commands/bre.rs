//! Basic regular expressions of POSIX, matched from the start of a text.

/// A pattern: the pieces of its ways to match.
pub struct Pattern {
    ways: Vec<Vec<Piece>>,
    groups: usize,
}

/// Something, and how often it may stand there.
struct Piece {
    what: What,
    least: usize,
    most: usize,
}

enum What {
    One(One),
    Group(usize, Vec<Vec<Piece>>),
    Back(usize),
    Start,
    End,
}

/// One character.
enum One {
    Exactly(char),
    Any,
    Set { negated: bool, parts: Vec<Part> },
}

enum Part {
    Range(char, char),
    Class(String),
}

/// Where each group matched.
type Groups = Vec<Option<(usize, usize)>>;

/// What is to match behind a piece.
type Rest<'a> = &'a mut dyn FnMut(usize, &mut Groups) -> bool;

impl Pattern {
    pub fn parse(text: &str) -> Result<Pattern, &'static str> {
        let mut parser = Parser { text: text.chars().collect(), at: 0, groups: 0 };
        let ways = parser.ways(0)?;
        Ok(Pattern { ways, groups: parser.groups })
    }

    pub fn has_groups(&self) -> bool {
        self.groups > 0
    }

    /// How many characters match, and what the first group holds.
    pub fn match_start(&self, text: &[char]) -> Option<(usize, String)> {
        let mut groups: Groups = vec![None; self.groups + 1];
        let mut end = 0;
        let found = self.ways.iter().any(|way| {
            pieces(way, text, 0, &mut groups, &mut |at, _| {
                end = at;
                true
            })
        });
        let first = groups.get(1).copied().flatten().map(|(from, to)| text[from..to].iter().collect());
        found.then(|| (end, first.unwrap_or_default()))
    }
}

fn pieces(all: &[Piece], text: &[char], at: usize, groups: &mut Groups, rest: Rest<'_>) -> bool {
    let Some((piece, others)) = all.split_first() else { return rest(at, groups) };
    match &piece.what {
        What::Start => at == 0 && pieces(others, text, at, groups, rest),
        What::End => at == text.len() && pieces(others, text, at, groups, rest),
        What::One(one) => {
            let fits = text[at..].iter().take(piece.most).take_while(|found| one.fits(**found)).count();
            (piece.least..=fits).rev().any(|count| pieces(others, text, at + count, groups, rest))
        }
        What::Back(number) => {
            let (from, to) = groups.get(*number).copied().flatten().unwrap_or((0, 0));
            let held = &text[from..to];
            let fits = match held.is_empty() {
                true => piece.least,
                false => text[at..].chunks(held.len()).take(piece.most).take_while(|chunk| *chunk == held).count(),
            };
            (piece.least..=fits).rev().any(|count| pieces(others, text, at + count * held.len(), groups, rest))
        }
        What::Group(number, ways) => {
            repeated(Repeat { number: *number, ways, piece, others, text }, 0, at, groups, rest)
        }
    }
}

#[derive(Clone, Copy)]
struct Repeat<'a> {
    number: usize,
    ways: &'a [Vec<Piece>],
    piece: &'a Piece,
    others: &'a [Piece],
    text: &'a [char],
}

/// A group that has matched `done` times, and what follows it.
fn repeated(repeat: Repeat<'_>, done: usize, at: usize, groups: &mut Groups, rest: Rest<'_>) -> bool {
    if done < repeat.piece.most {
        for way in repeat.ways {
            let before = groups.clone();
            let matched = pieces(way, repeat.text, at, groups, &mut |end, groups| {
                if end == at && done >= repeat.piece.least {
                    return false;
                }
                groups[repeat.number] = Some((at, end));
                repeated(repeat, done + 1, end, groups, rest)
            });
            if matched {
                return true;
            }
            *groups = before;
        }
    }
    done >= repeat.piece.least && pieces(repeat.others, repeat.text, at, groups, rest)
}

impl One {
    fn fits(&self, found: char) -> bool {
        match self {
            One::Exactly(wanted) => *wanted == found,
            One::Any => true,
            One::Set { negated, parts } => parts.iter().any(|part| part.fits(found)) != *negated,
        }
    }
}

impl Part {
    fn fits(&self, found: char) -> bool {
        match self {
            Part::Range(first, last) => (*first..=*last).contains(&found),
            Part::Class(name) => match name.as_str() {
                "alpha" => found.is_alphabetic(),
                "digit" => found.is_ascii_digit(),
                "alnum" => found.is_alphanumeric(),
                "upper" => found.is_uppercase(),
                "lower" => found.is_lowercase(),
                "space" => found.is_whitespace(),
                "blank" => matches!(found, ' ' | '\t'),
                "punct" => found.is_ascii_punctuation(),
                "xdigit" => found.is_ascii_hexdigit(),
                "cntrl" => found.is_control(),
                "print" => !found.is_control(),
                "graph" => !found.is_control() && !found.is_whitespace(),
                _ => false,
            },
        }
    }
}

/// Groups nest this deep at most.
const DEPTH_AT_MOST: usize = 100;

struct Parser {
    text: Vec<char>,
    at: usize,
    groups: usize,
}

impl Parser {
    fn looks_at(&self, wanted: &str) -> bool {
        wanted.chars().enumerate().all(|(i, wanted)| self.text.get(self.at + i) == Some(&wanted))
    }

    fn takes(&mut self, wanted: &str) -> bool {
        let found = self.looks_at(wanted);
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    /// Up to the end of the group, or of the text.
    fn ways(&mut self, depth: usize) -> Result<Vec<Vec<Piece>>, &'static str> {
        if depth > DEPTH_AT_MOST {
            return Err("Regular expression too big");
        }
        let mut ways = vec![Vec::new()];
        loop {
            if self.at == self.text.len() {
                return if depth == 0 { Ok(ways) } else { Err("Unmatched ( or \\(") };
            }
            if self.takes("\\)") {
                return if depth > 0 { Ok(ways) } else { Err("Unmatched ) or \\)") };
            }
            if self.takes("\\|") {
                ways.push(Vec::new());
                continue;
            }
            let is_first = ways.last().is_some_and(|way| way.iter().all(|piece| matches!(piece.what, What::Start)));
            let what = self.what(is_first, depth)?;
            let (least, most) = match what {
                What::Start | What::End => (1, 1),
                _ => self.count()?,
            };
            ways.last_mut().expect("there is always one").push(Piece { what, least, most });
        }
    }

    fn what(&mut self, is_first: bool, depth: usize) -> Result<What, &'static str> {
        let letter = self.text[self.at];
        self.at += 1;
        Ok(match letter {
            '^' if is_first => What::Start,
            '$' if self.at == self.text.len() || self.looks_at("\\)") || self.looks_at("\\|") => What::End,
            '.' => What::One(One::Any),
            '[' => What::One(self.set()?),
            '\\' => {
                let escaped = *self.text.get(self.at).ok_or("Trailing backslash")?;
                self.at += 1;
                match escaped {
                    '(' => {
                        self.groups += 1;
                        let number = self.groups;
                        What::Group(number, self.ways(depth + 1)?)
                    }
                    '1'..='9' => match escaped as usize - '0' as usize {
                        number if number <= self.groups => What::Back(number),
                        _ => return Err("Invalid back reference"),
                    },
                    other => What::One(One::Exactly(other)),
                }
            }
            other => What::One(One::Exactly(other)),
        })
    }

    /// How often, behind something.
    fn count(&mut self) -> Result<(usize, usize), &'static str> {
        if self.takes("*") {
            return Ok((0, usize::MAX));
        }
        if self.takes("\\+") {
            return Ok((1, usize::MAX));
        }
        if self.takes("\\?") {
            return Ok((0, 1));
        }
        if !self.takes("\\{") {
            return Ok((1, 1));
        }
        let least = self.number();
        let most = if self.takes(",") { self.number().unwrap_or(usize::MAX) } else { least.unwrap_or(0) };
        let least = least.unwrap_or(0);
        if !self.takes("\\}") || least > most {
            return Err("Invalid content of \\{\\}");
        }
        Ok((least, most))
    }

    fn number(&mut self) -> Option<usize> {
        let digits: String = self.text[self.at..].iter().take(6).take_while(|found| found.is_ascii_digit()).collect();
        self.at += digits.len();
        digits.parse().ok()
    }

    /// What stands in brackets.
    fn set(&mut self) -> Result<One, &'static str> {
        const UNMATCHED: &str = "Unmatched [, [^, [:, [., or [=";
        let negated = self.takes("^");
        let mut parts = Vec::new();
        loop {
            let letter = *self.text.get(self.at).ok_or(UNMATCHED)?;
            if letter == ']' && !parts.is_empty() {
                self.at += 1;
                return Ok(One::Set { negated, parts });
            }
            if self.takes("[:") {
                let name: String = self.text[self.at..].iter().take_while(|found| found.is_alphabetic()).collect();
                self.at += name.len();
                if !self.takes(":]") {
                    return Err(UNMATCHED);
                }
                parts.push(Part::Class(name));
                continue;
            }
            self.at += 1;
            let last = self.text.get(self.at + 1).copied().filter(|last| self.looks_at("-") && *last != ']');
            if last.is_some() {
                self.at += 2;
            }
            parts.push(Part::Range(letter, last.unwrap_or(letter)));
        }
    }
}
