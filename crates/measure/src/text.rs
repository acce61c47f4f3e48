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
    let whole = || vec![Signed { negative: false, term: Term::Expression(text.trim().to_owned()) }];
    let mut terms = Vec::new();
    // A sign after a sign, or at the beginning, belongs to what follows.
    let (mut negative, mut missing) = (false, false);
    for (sign, part) in split(text, |c| matches!(c, '+' | '-')) {
        negative = (sign == Some('-')) != (missing && negative);
        missing = part.trim().is_empty();
        if !missing {
            terms.push(Signed { negative, term: special(part.trim()).unwrap_or(Term::Expression(part.trim().to_owned())) });
        }
    }
    let is_expression = |signed: &Signed| matches!(signed.term, Term::Expression(_));
    // In `a == b + order(P)` the sum is a part of the comparison. So this is no sum, and the
    // language rejects it.
    let is_loose = |signed: &Signed| matches!(&signed.term, Term::Expression(text) if has_loose_operator(text));
    if missing || terms.iter().all(is_expression) || terms.iter().any(is_loose) { whole() } else { terms }
}

/// Whether an expression has an operator outside brackets that binds less than a sum.
fn has_loose_operator(text: &str) -> bool {
    let word = |word: &str| matches!(word.to_ascii_uppercase().as_str(), "AND" | "OR");
    let mut depth = 0;
    let outside: String = text
        .chars()
        .map(|c| {
            depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
            if depth > 0 { '_' } else { c }
        })
        .collect();
    outside.contains(['=', '<', '>', '&', '|', '^', '?', '#']) || outside.split_whitespace().any(word)
}

fn special(text: &str) -> Option<Term> {
    let inside = |word: &str| {
        let name = text.strip_prefix(word)?.trim_start().strip_prefix('(')?.strip_suffix(')')?.trim();
        (!name.contains(['(', ')'])).then(|| name.to_owned())
    };
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
        assert_eq!(parse("P[1]:x + sum(a)").concat().len(), 2);
    }

    #[test]
    fn signs_after_signs_count() {
        for (text, negative) in [
            ("-sum(x)", vec![true]),
            ("+sum(x)", vec![false]),
            ("- -sum(x)", vec![false]),
            ("a - -sum(x)", vec![false, false]),
            ("a + -sum(x)", vec![false, true]),
            ("a - +sum(x) - b", vec![false, true, true]),
            ("a - - -sum(x)", vec![false, true]),
        ] {
            let signs: Vec<bool> = parse(text).concat().iter().map(|signed| signed.negative).collect();
            assert_eq!(signs, negative, "{text}");
        }
    }

    #[test]
    fn a_sum_inside_a_comparison_is_no_sum() {
        for text in [
            "a == b + order(P)",
            "order(P) + 1 < b",
            "a -> b + sum(x) : 0",
            "a & 1 + sum(x)",
            "a AND b + order(P)",
            "sum(x) +",
            "sum(x) -",
            "order(P) == 1",
        ] {
            let whole = Signed { negative: false, term: Term::Expression(text.to_owned()) };
            assert_eq!(parse(text), [[whole]], "{text}");
        }
        for text in
            ["(a == b) + order(P)", "q[a < b] + sum(x)", "P[0]:x - P[1]:y + order(P)", "P:x + order(P)", "!a + order(P)", "a * 2 + sum(x)"]
        {
            assert!(parse(text).concat().len() > 1, "{text}");
        }
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
