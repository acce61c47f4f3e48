//! A measure as a user writes it: expressions separated by commas, each of which may be a sum with
//! the parts `sum(ARRAY)` and `order(PROCESS)`.

/// A part of a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// An expression of the model's language.
    Expression(String),
    /// The sum of a global array, by its name.
    Array(String),
    /// The order of the control flow of a process, by its number or the name of its type.
    Order(String),
}

/// A part, and whether it is subtracted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Whether it is subtracted.
    pub negative: bool,
    /// The part.
    pub term: Term,
}

/// The sums of a measure. A sum without `sum` and `order` is a single expression.
pub fn parse(text: &str) -> Vec<Vec<Signed>> {
    split(text, |c| c == ',').into_iter().map(|(_, part)| sum(part)).collect()
}

fn sum(text: &str) -> Vec<Signed> {
    let parts = split(text, |c| matches!(c, '+' | '-'));
    let terms: Vec<Signed> = parts
        .iter()
        .filter(|(_, part)| !part.trim().is_empty())
        .map(|(sign, part)| Signed {
            negative: *sign == Some('-'),
            term: special(part.trim()).unwrap_or(Term::Expression(part.trim().to_owned())),
        })
        .collect();
    if terms.iter().all(|signed| matches!(signed.term, Term::Expression(_))) {
        return vec![Signed { negative: false, term: Term::Expression(text.trim().to_owned()) }];
    }
    terms
}

fn special(text: &str) -> Option<Term> {
    let inside = |word: &str| text.strip_prefix(word)?.trim_start().strip_prefix('(')?.strip_suffix(')').map(|name| name.trim().to_owned());
    inside("sum").map(Term::Array).or_else(|| inside("order").map(Term::Order))
}

/// Whether an expression contains `sum(…)` or `order(…)`, which are no expressions of a language.
fn has_special(text: &str) -> bool {
    ["sum", "order"].iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let begins = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
            begins && text[at + word.len()..].trim_start().starts_with('(')
        })
    })
}

impl Signed {
    /// Whether the part is an expression with `sum(…)` or `order(…)` inside it. A language may have
    /// a macro with that name; if it has none, the user has written a part that cannot be.
    pub fn has_special_inside(&self) -> bool {
        matches!(&self.term, Term::Expression(text) if has_special(text))
    }
}

/// The parts of a text between signs outside brackets, each with the sign before it.
fn split(text: &str, is_sign: impl Fn(char) -> bool) -> Vec<(Option<char>, &str)> {
    let (mut parts, mut depth, mut start, mut sign) = (Vec::new(), 0_i32, 0, None);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            c if depth == 0 && is_sign(c) => {
                parts.push((sign, &text[start..at]));
                (start, sign) = (at + c.len_utf8(), Some(c));
            }
            _ => {}
        }
    }
    parts.push((sign, &text[start..]));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_lists_are_told_apart() {
        let expression = |text: &str| Signed { negative: false, term: Term::Expression(text.to_owned()) };
        assert_eq!(parse("a + b, len(c)"), [[expression("a + b")], [expression("len(c)")]]);
        let order = Signed { negative: true, term: Term::Order("P".to_owned()) };
        let array = Signed { negative: false, term: Term::Array("x".to_owned()) };
        assert_eq!(parse("a - order( P ) + sum(x)"), [vec![expression("a"), order, array]]);
        assert_eq!(parse("f(a, b) + 1"), [[expression("f(a, b) + 1")]]);
    }

    #[test]
    fn special_forms_inside_expressions_are_noticed() {
        let inside = |text: &str| parse(text).iter().flatten().any(Signed::has_special_inside);
        for text in ["sum(a)*2", "order (S)*2 - order(R)", "2*order(P)", "a + (order(P) + 1)", "a, b / sum(x)"] {
            assert!(inside(text), "{text}");
        }
        for text in ["sum(a) - order(P)", "summary(a) * 2", "reorder(P)*2", "sum * 2", "a, -order(P)"] {
            assert!(!inside(text), "{text}");
        }
    }
}
